/**
 * Which rolling memory (docs/design.md#8-summaries) a conversation needs: the one that its request
 * looks for, and the one that is to be made after the answer.
 */
import type { Boundaries } from '../conversation/boundaries.ts';
import type { History } from '../conversation/history.ts';
import type { Boundary } from '../conversation/passage.ts';
import { chained } from '../conversation/prefix-hash.ts';
import { windowStart } from '../conversation/sequence.ts';
import type { Digest } from '../edits/placeholder.ts';
import type { RollingStrategy } from '../modes/rolling-summary.ts';

/** A memory that is due: over which sequence numbers, and up to which message. */
export interface DueMemory {
  readonly start: number;
  readonly boundary: Boundary;
}

/** An answer that the caller has been given, and is about to append. */
export interface Answer {
  readonly text: string;
  /** See `Message.identity`. */
  readonly identity: string;
}

/**
 * The memory to be made after an answered round. `full_zone_turns: 0`: 5 → (0,5), 13 → (0,13), 15 →
 * (2,15), 19 → (6,19).
 *
 * @param over boundaries behind the rounds that are over, ascending; the last one has just been
 *   answered
 */
export function dueMemory(strategy: RollingStrategy, over: readonly Boundary[]): DueMemory | undefined {
  const last = over.at(-1);
  const boundary = over.at(-1 - strategy.full_zone_turns);
  if (!last || !boundary || last.sequence < strategy.summarize_after_seq) return undefined;
  return { start: windowStart(boundary.sequence, strategy.rolling_window_size), boundary };
}

/**
 * The round of a request, named by the array up to its question, and the round before. All requests
 * of a round see the same memory. Undefined before the first question.
 */
export function roundOf(
  { turns, units }: History,
  boundaries: Boundaries,
): { readonly hash: string; readonly previous: string | null } | undefined {
  const [hash, previous = null] = turns
    .slice(-2)
    .map((unit) => boundaries.at((units[unit]?.first ?? 0) + 1).prefixHash)
    .toReversed();
  return hash === undefined ? undefined : { hash, previous };
}

/** Whether a request begins its round: nothing but preamble stands behind the last question. */
export function beginsRound({ messages, turns, units }: History): boolean {
  const question = units[turns.at(-1) ?? -1]?.first ?? -1;
  return messages.slice(question + 1).every(({ role }) => role === 'preamble');
}

/**
 * The boundaries behind the rounds that are over, the last one included when its answer is known.
 *
 * @param answer the one that closes the last round; absent when the round goes on
 */
export function roundsOver(
  { messages }: History,
  boundaries: Boundaries,
  answer: Answer | undefined,
  digest: Digest,
): readonly Boundary[] {
  const over = boundaries.betweenRounds();
  const { length } = boundaries.rounds;
  const last = messages.findLast(({ role }) => role !== 'preamble');
  if (!answer || length === 0 || last?.role === 'assistant') return over;
  const { prefixHash } = boundaries.at(messages.length);
  const hash = chained(prefixHash, answer.identity, digest);
  return [...over, { prefixHash: hash, end: messages.length + 1, sequence: 2 * length - 1 }];
}

/**
 * Where a digest ends that stands in for memory while the summarizer is down: the newest rounds
 * stay verbatim, older ones are in the digest. It reaches further by half of the limit at once, not
 * with each round, so that it does not change each time.
 *
 * @param over boundaries behind the rounds that no memory covers
 */
export function digestBoundary(
  { recovery_backlog_limit: limit, full_zone_turns }: RollingStrategy,
  over: readonly Boundary[],
): Boundary | undefined {
  const waiting = over.slice(0, Math.max(0, over.length - full_zone_turns));
  if (waiting.length <= limit) return undefined;
  const stride = Math.max(1, Math.floor(limit / 2));
  const reach = Math.ceil((waiting.length - limit) / stride) * stride;
  return waiting[Math.min(reach, waiting.length) - 1];
}
