/**
 * How many tokens upstreams take, learned from their refusals
 * (docs/design.md#10-upstream-and-access). Each is remembered for an hour, per tenant and model:
 * the upstream behind a name may be another one tomorrow, and another one for another account.
 */
import { Lru } from '../lib/lru.ts';
import type { TooLong } from './too-long.ts';

/** How long a limit is believed, in milliseconds (docs/design.md#10-upstream-and-access). */
const HOLDS_MS = 60 * 60_000;

/** About 3 000. */
const REMEMBERED = { bytes: 1024 * 1024, sizeOf: () => 96 };
/** A longer name of a model is not remembered, in characters. */
const LONGEST_MODEL = 256;

/** No view is cut to less than this, in tokens, and no limit is believed that leaves less. */
const LEAST = 1_000;
/**
 * The same for a limit that nobody has told, and that our own count alone vouches for: a file that
 * we count as a few words may have been what was too long. A model that takes less refuses each
 * such request once.
 */
const LEAST_UNTOLD = 4_000;
/**
 * What is left of a refused view at the most, as a share; and when the upstream does not say how
 * much it takes.
 */
const MOST_LEFT = 0.9;
const LEFT_UNTOLD = 0.75;
/** What is taken of a limit that is told: what stays of a prompt may be denser than what goes. */
const TAKEN = 0.95;
/**
 * How many times as many tokens one of two counts may have. Tokenizers are not further apart; an
 * image that one of them counts as text is, and says nothing of the next conversation.
 */
const MOST_APART = 3;

export interface LearnedLimit {
  /** By our count. */
  readonly tokens: number;
  /** Whether the answer counts towards them. */
  readonly withAnswer: boolean;
}

/** A request that was refused. */
export interface Refused {
  /** Tokens of its view, by our count. */
  readonly tokens: number;
  /** Tokens that went up beside the view. */
  readonly beside: number;
  /** Tokens that the answer may take, as the caller limits them; 0 when it doesn't. */
  readonly answerTokens: number;
}

/**
 * The limit of the view that is tried next, after a refusal. What it leaves is less than what was
 * refused, unless that was next to nothing; so it says nothing of other requests.
 */
export function limitOfRetry(refusal: TooLong, refused: Refused): LearnedLimit {
  const { tokens, answerTokens } = refused;
  const told = readLimit(refusal, refused);
  if (!told) return { tokens: atLeast(tokens * LEFT_UNTOLD), withAnswer: false };
  const { room, withAnswer } = told;
  return {
    tokens: atLeast(Math.min(room, tokens * MOST_LEFT)) + (withAnswer ? answerTokens : 0),
    withAnswer,
  };
}

/**
 * The limit that a refusal tells of, for all requests; undefined when it tells of none, or none
 * that can be believed: two counts that have nothing in common don't say what it is by ours.
 */
export function limitTold(refusal: TooLong, refused: Refused): LearnedLimit | undefined {
  const told = readLimit(refusal, refused);
  if (!told?.comparable || told.room < LEAST) return undefined;
  const { room, withAnswer } = told;
  return { tokens: Math.floor(room) + (withAnswer ? refused.answerTokens : 0), withAnswer };
}

/**
 * The limit that nobody has told, between a view that was refused and a smaller one that was then
 * accepted; undefined when it can't be believed. It counts the answer in: where that is wrong the
 * limit is too wide, which the next refusal mends.
 *
 * @param accepted tokens of the view that was accepted, by our count
 */
export function limitBetween(accepted: number, { tokens, answerTokens }: Refused): LearnedLimit | undefined {
  const room = Math.max(accepted, Math.floor(tokens * MOST_LEFT));
  if (room < LEAST_UNTOLD) return undefined;
  return { tokens: room + answerTokens, withAnswer: answerTokens > 0 };
}

interface Told {
  /** Tokens that a view may have, by our count, in a request like the one that was refused. */
  readonly room: number;
  readonly withAnswer: boolean;
  /** Whether the two counts of the prompt are near enough to each other. */
  readonly comparable: boolean;
}

function readLimit(refusal: TooLong, { tokens, beside, answerTokens }: Refused): Told | undefined {
  const { limit, prompt, answer = 0 } = refusal;
  if (limit === undefined) return undefined;
  // Servers set tokens aside for an answer that the caller has not limited.
  const aside = refusal.withAnswer ? Math.max(answer, answerTokens) : 0;
  const withAnswer = refusal.withAnswer && aside < limit;
  const counted = prompt === undefined ? 1 : (tokens + beside) / prompt;
  const ours = within(1 / MOST_APART, counted, MOST_APART);
  const room = (limit - (withAnswer ? aside : 0)) * ours * TAKEN - beside;
  return { room, withAnswer, comparable: ours === counted };
}

/**
 * What a limit leaves to the view. An answer that would leave nothing is left out of account, as in
 * the plan.
 */
export function roomIn({ tokens, withAnswer }: LearnedLimit, answerTokens: number): number {
  return withAnswer && answerTokens < tokens ? atLeast(tokens - answerTokens) : tokens;
}

export class LearnedLimits {
  private readonly limits = new Lru<{ readonly limit: LearnedLimit; readonly at: number }>(REMEMBERED);
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /**
   * What a tenant's upstream is believed to take for a model; undefined when it has not refused
   * anything lately.
   */
  of(tenant: string, model: string | undefined): LearnedLimit | undefined {
    const known = this.limits.get(keyOf(tenant, model));
    return known && this.now() - known.at < HOLDS_MS ? known.limit : undefined;
  }

  /**
   * Remembers a limit; of two the narrower one holds.
   *
   * @param answerTokens of the request that was refused
   */
  learn(tenant: string, model: string | undefined, limit: LearnedLimit, answerTokens: number): void {
    const known = this.of(tenant, model);
    if (known && roomIn(known, answerTokens) <= roomIn(limit, answerTokens)) return;
    if (model === undefined || model.length <= LONGEST_MODEL)
      this.limits.set(keyOf(tenant, model), { limit, at: this.now() });
  }
}

function keyOf(tenant: string, model = ''): string {
  return `${tenant}:${model}`;
}

function within(least: number, value: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

function atLeast(tokens: number): number {
  return Math.max(LEAST, Math.floor(tokens));
}
