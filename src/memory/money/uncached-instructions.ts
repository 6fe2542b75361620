/**
 * Whether a prompt cache leaves instructions out. GPT-6.2 does not cache the field `instructions`
 * of the Responses API, nor anything after it, but it caches a leading developer message (second
 * hand: opencode v2.3.2, #64542 and #64544, 2026-11). Usages show it: the cached tokens end before
 * the preamble does.
 */
import { hitsOf } from '../models/schedule.ts';

/** What a conversation's answers have shown. */
export interface PlacedInstructions {
  /** Where they were in its newest request. */
  readonly place: 'field' | 'message';
  /** Identifies them and the tools. */
  readonly preamble: string;
  /** When the newest answer ended, in milliseconds since 1970. */
  readonly at: number;
  /** How many requests in a row have read less of the cache than the preamble. */
  readonly misses: number;
}

export interface PlacedAnswer extends Omit<PlacedInstructions, 'misses'> {
  /** Tokens of the instructions and the tools. */
  readonly tokens: number;
  /** The tokens that the upstream has read from its cache; null if it does not say. */
  readonly cached: number | null;
}

/** This many misses are no accident. */
const ENOUGH = 3;

/** In milliseconds. Caches hold for five minutes at least. */
const LIFETIME_MS = 5 * 60_000;

/** Of the tokens that are counted here, a vendor may count some less. */
const CERTAIN = 0.9;

/** Whether the cache leaves them out where they are. */
export function areUncached({ place, misses }: PlacedInstructions): boolean {
  return place === 'field' && misses >= ENOUGH;
}

/**
 * What is known after one more answer. The first one with this preamble shows nothing, nor does one
 * after the cache may have expired.
 */
export function afterAnswer(
  before: PlacedInstructions | undefined,
  { tokens, cached, ...answer }: PlacedAnswer,
): PlacedInstructions {
  const isSame = before?.preamble === answer.preamble && before.place === answer.place;
  if (!before || !isSame) return { ...answer, misses: 0 };
  const least = hitsOf('prefix-128', Math.floor(CERTAIN * tokens));
  if (cached === null || answer.at - before.at >= LIFETIME_MS) return { ...answer, misses: before.misses };
  return { ...answer, misses: cached < least ? before.misses + 1 : 0 };
}
