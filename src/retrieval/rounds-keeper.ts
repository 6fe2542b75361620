/** Where the rounds of one answer are kept. */
import type { SaidAnswer } from '../protocol/answers/answer-format.ts';

/** The end of a caller's answer. */
export interface EndedAnswer {
  /** Undefined if it is not complete, or says nothing that a client sends back. */
  readonly said: SaidAnswer | undefined;
  /** Whether each call of Precis's tools has got content, or a definite word that there is none. */
  readonly isSettled: boolean;
}

export interface RoundsKeeper {
  /**
   * Takes the messages that a further request has more than the one before: JSON, separated by
   * commas. Begins to write them, and never throws.
   */
  add(messages: string): void;
  /**
   * Keeps the rounds of the caller's answer, which waits for it before its last event; undefined if
   * there is nothing to wait for. Never rejects.
   *
   * @param answer how it has ended
   */
  keep(answer: EndedAnswer): Promise<void> | undefined;
}
