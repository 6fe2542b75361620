/** Where the rounds of one answer are kept. */
import type { SaidAnswer } from '../protocol/answers/answer-format.ts';

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
   * @param said the answer; undefined if it is not complete
   * @param isSettled whether each call has got content, or a definite word that there is none
   */
  keep(said: SaidAnswer | undefined, isSettled: boolean): Promise<void> | undefined;
}
