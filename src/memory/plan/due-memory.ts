/**
 * Which rolling memory (docs/modes.md#rolling_summary) a conversation needs: the round whose memory
 * a request uses, and the memory to be made after the answer.
 */
import type { Boundaries } from '../conversation/boundaries.ts';
import type { History } from '../conversation/history.ts';
import type { Boundary } from '../conversation/passage.ts';
import { chained } from '../conversation/prefix-hash.ts';
import type { Digest } from '../conversation/refs.ts';
import { windowStart } from '../conversation/sequence.ts';
import type { RollingStrategy } from '../modes/rolling-summary.ts';

/** A memory that is due: its first sequence number, and the boundary where it ends. */
export interface DueMemory {
  readonly start: number;
  readonly boundary: Boundary;
}

/** An answer that the caller has received and is about to append. */
export interface Answer {
  readonly text: string;
  /** See `Message.identity`. */
  readonly identity: string;
}

/**
 * The memory to be made after an answered round. With `full_zone_turns: 0`: 5 → (0,5), 13 → (0,13),
 * 15 → (2,15), 19 → (6,19).
 *
 * @param over the boundaries after completed rounds, ascending; the last round has just been
 *   answered
 */
export function dueMemory(strategy: RollingStrategy, over: readonly Boundary[]): DueMemory | undefined {
  const last = over.at(-1);
  const boundary = over.at(-1 - strategy.full_zone_turns);
  if (!last || !boundary || last.sequence < strategy.summarize_after_seq) return undefined;
  return { start: windowStart(boundary.sequence, strategy.rolling_window_size), boundary };
}

/**
 * The current round and the previous one, each named by the hash of the array up to its question.
 * All requests of a round use the same memory. Undefined before the first question.
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

/** Whether the last round is answered, and none is in progress. */
export function isBetweenRounds({ rounds }: Boundaries): boolean {
  return rounds.at(-1)?.answer !== undefined;
}

/** Whether a request is the first of its round: only preamble follows the last question. */
export function beginsRound({ messages, turns, units }: History): boolean {
  const question = units[turns.at(-1) ?? -1]?.first ?? -1;
  return messages.slice(question + 1).every(({ role }) => role === 'preamble');
}

/**
 * The boundaries after completed rounds, including the last round if its answer is known.
 *
 * @param answer closes the last round; absent if the round goes on
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
 * Where a digest ends that replaces memory while the summarizer is down. The newest rounds stay
 * verbatim, and older ones go into the digest. It grows by half of the limit at a time, so that it
 * does not change with every round.
 *
 * @param over the boundaries after the rounds that no memory covers
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
