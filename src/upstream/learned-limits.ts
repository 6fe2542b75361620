/** Token limits learned from upstreams' refusals (docs/design.md#10-upstream-and-access). */
import type { Beliefs } from '../lib/isolate-memory.ts';
import type { TooLong } from './too-long.ts';

/** In tokens. Views are never cut below this, and no lower limit is believed. */
const LEAST = 1_000;
/**
 * The same for a limit that the upstream did not state, and that only our own count supports. We
 * may have counted a file as a few words. A model with a lower limit refuses each such request
 * once.
 */
const LEAST_UNSTATED = 4_000;
/** Largest share of a refused view that is tried next: with a stated limit, and without one. */
const MOST_LEFT = 0.9;
const LEFT_UNSTATED = 0.75;
/**
 * Share of a stated limit that is used, since the rest of the prompt may have more tokens than
 * Precis counts.
 */
const TAKEN = 0.95;
/**
 * Largest plausible factor between the upstream's count and Precis's. Tokenizers differ less; an
 * image that one side counts as text differs more, and says nothing about the next request.
 */
const MOST_APART = 3;

export interface LearnedLimit {
  /** By Precis's count. */
  readonly tokens: number;
  /** Whether the limit includes the answer. */
  readonly withAnswer: boolean;
}

export interface Refused {
  /** Tokens of its view, by Precis's count. */
  readonly tokens: number;
  /** Tokens sent outside of the view. */
  readonly addedTokens: number;
  /** The caller's limit of the answer in tokens; 0 without one. */
  readonly answerTokens: number;
}

/**
 * The limit for the next, smaller view after a refusal. It always shrinks the view, unless that is
 * tiny already, so it is not remembered for other requests.
 */
export function limitOfRetry(refusal: TooLong, refused: Refused): LearnedLimit {
  const { tokens, answerTokens } = refused;
  const stated = readLimit(refusal, refused);
  if (!stated) return { tokens: atLeast(tokens * LEFT_UNSTATED), withAnswer: false };
  const { room, withAnswer } = stated;
  return {
    tokens: atLeast(Math.min(room, tokens * MOST_LEFT)) + (withAnswer ? answerTokens : 0),
    withAnswer,
  };
}

/**
 * The limit that a refusal states, valid for all requests. Undefined if it states none, or if the
 * upstream's count of the prompt is too far from Precis's to convert it.
 */
export function statedLimit(refusal: TooLong, refused: Refused): LearnedLimit | undefined {
  const stated = readLimit(refusal, refused);
  if (!stated?.comparable || stated.room < LEAST) return undefined;
  const { room, withAnswer } = stated;
  return { tokens: Math.floor(room) + (withAnswer ? refused.answerTokens : 0), withAnswer };
}

/**
 * The window for the next try of a call whose answer may be limited further, too.
 *
 * @returns in tokens, by Precis's count; `stated` if the upstream's number holds for other calls
 */
export function windowOfRetry(refusal: TooLong, refused: Refused): { tokens: number; stated: boolean } {
  const { tokens, answerTokens } = refused;
  const stated = readLimit({ ...refusal, withAnswer: false }, refused);
  if (!stated) return { tokens: Math.floor((tokens + answerTokens) * LEFT_UNSTATED), stated: false };
  const window = Math.floor(stated.room) + (refusal.withAnswer ? 0 : answerTokens);
  return { tokens: window, stated: stated.comparable && window >= LEAST };
}

/**
 * A limit that was never stated, estimated between a refused view and a smaller accepted one.
 * Undefined if it is not plausible. It includes the answer; if that is wrong, the limit is too
 * high, and the next refusal corrects it.
 *
 * @param accepted tokens of the accepted view, by our own count
 */
export function limitBetween(accepted: number, { tokens, answerTokens }: Refused): LearnedLimit | undefined {
  const room = Math.max(accepted, Math.floor(tokens * MOST_LEFT));
  if (room < LEAST_UNSTATED) return undefined;
  return { tokens: room + answerTokens, withAnswer: answerTokens > 0 };
}

interface StatedLimit {
  /** Tokens that a view may have, by Precis's count, in a request like the refused one. */
  readonly room: number;
  readonly withAnswer: boolean;
  /** Whether both counts of the prompt are close enough. */
  readonly comparable: boolean;
}

function readLimit(
  refusal: TooLong,
  { tokens, addedTokens, answerTokens }: Refused,
): StatedLimit | undefined {
  const { limit, prompt, answer = 0 } = refusal;
  if (limit === undefined) return undefined;
  // Servers reserve tokens for an answer that the caller has not limited.
  const aside = refusal.withAnswer ? Math.max(answer, answerTokens) : 0;
  const withAnswer = refusal.withAnswer && aside < limit;
  const found = prompt === undefined ? 1 : (tokens + addedTokens) / prompt;
  const counted = refusal.mayBeCut ? Math.min(1, found) : found;
  const ours = Math.min(Math.max(counted, 1 / MOST_APART), MOST_APART);
  // A caller may allow more than the window. What the answer takes of it is known all the same.
  const taken = withAnswer ? aside : refusal.withAnswer && answer < limit ? answer : 0;
  const room = (limit - taken) * ours * TAKEN - addedTokens;
  return { room, withAnswer, comparable: ours === counted };
}

/**
 * Tokens that a limit leaves for the view. As in the plan, an answer that would leave nothing is
 * ignored.
 */
export function roomIn({ tokens, withAnswer }: LearnedLimit, answerTokens: number): number {
  return withAnswer && answerTokens < tokens ? atLeast(tokens - answerTokens) : tokens;
}

/**
 * Remembers a limit of a tenant's model, unless a lower one is known.
 *
 * @param answerTokens of the refused request
 */
export function noteLimit(
  limits: Beliefs<LearnedLimit>,
  tenant: string,
  model = '',
  limit: LearnedLimit,
  answerTokens: number,
): void {
  const known = limits.get(tenant, model)?.value;
  if (known && roomIn(known, answerTokens) <= roomIn(limit, answerTokens)) return;
  limits.set(tenant, model, limit);
}

function atLeast(tokens: number): number {
  return Math.max(LEAST, Math.floor(tokens));
}
