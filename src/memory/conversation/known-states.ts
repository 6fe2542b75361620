/**
 * States of walks over an array, from which walks over longer arrays continue. A state belongs to
 * the facts about the last message that was walked, so it holds in every array that begins with the
 * same messages. A state may be changed by the walk that goes on from it, so it is taken away.
 */
import type { Message, MessageFacts } from './message.ts';

export class KnownStates<State> {
  private readonly known = new WeakMap<MessageFacts, State>();

  /**
   * Takes the newest state of an array, so that it keeps one at most. Undefined unless an answer
   * follows the messages of the state: only then their units stay as they are.
   */
  take(messages: readonly Message[], fits: (state: State) => boolean): State | undefined {
    const end = messages.findLastIndex(({ facts }) => this.known.has(facts)) + 1;
    const facts = messages[end - 1]?.facts;
    const state = facts && this.known.get(facts);
    if (!state) return undefined;
    this.known.delete(facts);
    return messages[end]?.role === 'assistant' && fits(state) ? state : undefined;
  }

  /** Keeps the state after the last message, if that is one that a model answers. */
  keep(messages: readonly Message[], state: State): void {
    const last = messages.at(-1);
    if (last?.role === 'user' || last?.role === 'tool') this.known.set(last.facts, state);
  }
}
