/** Where the first requests of a conversation ended, by its array. Pure. */
import type { Message } from './message.ts';

type Spoken = Pick<Message, 'role'>;

/**
 * The index of the first answer; -1 before there is one. Answers before the first user message
 * don't count: many conversations open with one greeting.
 */
export function firstAnswer(messages: readonly Spoken[]): number {
  const asked = messages.findIndex(({ role }) => role === 'user');
  return messages.findIndex(({ role }, index) => role === 'assistant' && index > asked);
}

/**
 * The number of messages in the first or the second request of a conversation: up to the answer
 * that followed, or all of them. Every longer array has the same numbers.
 */
export function requestLength(messages: readonly Spoken[], which: 'first' | 'second'): number {
  const answer = firstAnswer(messages);
  if (answer < 0) return messages.length;
  if (which === 'first') return answer;
  const isSaid = (index: number): boolean => ['user', 'tool'].includes(messages[index]?.role ?? '');
  const asked = messages.findIndex((_, index) => index > answer && isSaid(index));
  const next = messages.findIndex(({ role }, index) => role === 'assistant' && index > asked);
  return asked < 0 || next < 0 ? messages.length : next;
}
