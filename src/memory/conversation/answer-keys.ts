/**
 * Keys of the answers in an array: a hash of all messages that were asked, and of the answer
 * itself. What belongs to one answer is found by it, and by no array that was edited before the
 * answer, or that has another one.
 */
import { elementAt } from '../../lib/elements.ts';
import type { History } from './history.ts';
import type { Message } from './message.ts';
import { prefixHashes } from './prefix-hash.ts';
import type { Digest } from './refs.ts';

export interface KeyedAnswer {
  /** Index of its first message. */
  readonly message: number;
  /** Index of the message after its last one. */
  readonly end: number;
  readonly key: string;
  /** The hash of the messages that were asked. */
  readonly asked: string;
}

/**
 * The answers to the requests that were made with the beginnings of an array, in its order. All
 * messages of the model up to the next one of somebody else are one answer, but for those that go
 * on after a pause.
 */
export function answersIn({ messages, requestPoints }: History, digest: Digest): KeyedAnswer[] {
  const hashes = prefixHashes(messages, digest);
  const answers: KeyedAnswer[] = [];
  for (const { messages: first } of requestPoints.slice(0, -1))
    for (let message = first; messages[message]?.role === 'assistant'; message++) {
      if (message > first && !messages[message]?.resumes) continue;
      const asked = elementAt(hashes, message);
      const end = endOf(messages, message);
      const key = keyAt(messages, message, end, asked, digest);
      if (key !== undefined) answers.push({ message, end, key, asked });
    }
  return answers;
}

/** The index after the last message of an answer. */
function endOf(messages: readonly Message[], first: number): number {
  let end = first + 1;
  while (messages[end]?.role === 'assistant' && !messages[end]?.resumes) end++;
  return end;
}

function keyAt(
  messages: readonly Message[],
  first: number,
  end: number,
  asked: string,
  digest: Digest,
): string | undefined {
  const { facts } = elementAt(messages, first);
  const make = () => answerKey(asked, messages.slice(first, end), digest);
  // The messages before it and the message itself are what its facts may depend on.
  if (end > first + 1) return make();
  if (facts.answerKey === undefined) facts.answerKey = make() ?? null;
  return facts.answerKey ?? undefined;
}

/**
 * The key of an answer; undefined for one that says nothing.
 *
 * @param asked the hash of the messages that were asked (see `prefixHashes`)
 * @param answer its messages
 */
export function answerKey(asked: string, answer: readonly Message[], digest: Digest): string | undefined {
  const name = nameOf(answer);
  return name === undefined ? undefined : digest(`${asked} ${name}`);
}

/**
 * What distinguishes an answer: the ids of its calls, or else its text. Clients write all other
 * members as they like, and some cut white space at the ends of a text.
 */
function nameOf(answer: readonly Message[]): string | undefined {
  const ids = answer.flatMap(({ calls }) => calls.map(({ id }) => id));
  if (ids.length > 0) return `calls ${JSON.stringify(ids)}`;
  const text = answer.flatMap((message) => message.names?.() ?? message.content().weight.texts).join('');
  return text.trim() === '' ? undefined : `text ${text.trim()}`;
}
