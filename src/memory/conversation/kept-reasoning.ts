/**
 * The reasoning of earlier answers that is kept for a caller whose API has no place for it
 * (docs/bridges.md#what-is-kept). A view has it with its answer, although no message of the array
 * does: it counts, and leaves, as if the caller had sent it.
 */

import type { Message } from './message.ts';

export interface KeptReasoning {
  /** Index of the first message of the answer. */
  readonly message: number;
  readonly tokens: number;
  /** Of its JSON. */
  readonly bytes: number;
  /** How many blocks or items it has. 0: the answer has none. */
  readonly blocks: number;
  /** Whether it is kept no more. It counts where it is decided what moves, as it did before. */
  readonly isLost?: true;
}

/** The reasoning of all answers in one array. */
export interface KeptReasonings {
  /** In the array's order. */
  readonly answers: readonly KeptReasoning[];
  /**
   * Where reasoning is bound, the messages before this one are without it: they were answered
   * together with reasoning that is kept no more.
   */
  readonly from: number;
  /** Whether it is not known which there is, so that a view may lack some. */
  readonly isUnknown: boolean;
}

/** By message. */
export function reasoningByMessage(kept: KeptReasonings | undefined): ReadonlyMap<number, KeptReasoning> {
  return new Map(kept?.answers.map((answer) => [answer.message, answer]));
}

/** The blocks of thinking that an answer has. @param kept what is kept of it */
export function blocksOf(message: Pick<Message, 'thinking'>, kept: KeptReasoning | undefined): number {
  return kept && kept.blocks > 0 ? kept.blocks : (message.thinking()?.blocks ?? 0);
}

/** What distinguishes the reasoning of the messages before one: equal texts mean the same sums. */
export function reasoningBefore(kept: KeptReasonings | undefined, messages: number): string {
  const before = kept?.answers.filter(({ message }) => message < messages) ?? [];
  return before.map(({ message, tokens, blocks }) => [message, tokens, blocks].join(' ')).join();
}
