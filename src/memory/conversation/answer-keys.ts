/**
 * Keys of the answers in an array: a hash of all messages that were asked, and of the answer
 * itself. What belongs to one answer is found by it, and by no array that was edited before the
 * answer, or that has another one. What is bound to nothing is found by less (`saidHashes`).
 */
import { elementAt } from '../../lib/elements.ts';
import { sortedJson } from '../../lib/json.ts';
import { Latest } from '../../lib/latest.ts';
import type { History } from './history.ts';
import type { Message, ToolCall } from './message.ts';
import { chained, prefixHashes } from './prefix-hash.ts';
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
 *
 * @param hashesOf of the messages that were asked: `prefixHashes`, `saidHashes` or `boundHashes`
 */
export function answersIn(
  { messages, requestPoints }: History,
  digest: Digest,
  hashesOf: typeof saidHashes = prefixHashes,
): KeyedAnswer[] {
  const hashes = hashesOf(messages, digest);
  const keyOf = hashesOf === prefixHashes ? answerKey : saidKey;
  const answers: KeyedAnswer[] = [];
  for (const { messages: first } of requestPoints.slice(0, -1))
    for (let message = first; messages[message]?.role === 'assistant'; message++) {
      if (message > first && !messages[message]?.resumes) continue;
      const asked = elementAt(hashes, message);
      const end = endOf(messages, message);
      const fact = FACTS.get(hashesOf) ?? 'answerKey';
      const key = keyAt(messages, message, end, fact, () =>
        keyOf(asked, messages.slice(message, end), digest),
      );
      if (key !== undefined) answers.push({ message, end, key, asked });
    }
  return answers;
}

/** The index after the last message of an answer. */
export function endOf(messages: readonly Message[], first: number): number {
  let end = first + 1;
  while (messages[end]?.role === 'assistant' && !messages[end]?.resumes) end++;
  return end;
}

function keyAt(
  messages: readonly Message[],
  first: number,
  end: number,
  fact: 'answerKey' | 'saidKey' | 'boundKey',
  make: () => string | undefined,
): string | undefined {
  const { facts } = elementAt(messages, first);
  // The messages before it and the message itself are what its facts may depend on.
  if (end > first + 1) return make();
  if (facts[fact] === undefined) facts[fact] = make() ?? null;
  return facts[fact] ?? undefined;
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
  const text = textOf(answer);
  return text === '' ? undefined : `text ${text}`;
}

function textOf(answer: readonly Message[]): string {
  const texts = answer.flatMap((message) => message.names?.() ?? message.content().weight.texts);
  return texts.join('').trim();
}

/** What an answer says: hashes of its calls and of its words; empty if it has none. */
export interface Said {
  readonly calls: string;
  readonly text: string;
}

const latest = new Latest<readonly Message[], readonly string[]>();

/**
 * `prefixHashes` for what is sent instead of answers: each counts by its words and its calls alone.
 * Clients write arguments anew once they have stored them, leave reasoning out after its turn, have
 * members that say nothing at one time and not at another, and divide an answer.
 *
 * Nothing here is bound to what precedes it, so the preamble does not count, nor a user message
 * after results or after another one: agents end each request with another reminder.
 */
export function saidHashes(messages: readonly Message[], digest: Digest): readonly string[] {
  return hashesBy('saidHash', messages, digest);
}

/**
 * `saidHashes` where reasoning is bound to what precedes it: there each message counts, also of the
 * preamble.
 */
export function boundHashes(messages: readonly Message[], digest: Digest): readonly string[] {
  return hashesBy('boundHash', messages, digest);
}

/** By its hashes, where the key of an answer is noted. */
const FACTS: ReadonlyMap<typeof saidHashes, 'saidKey' | 'boundKey'> = new Map([
  [saidHashes, 'saidKey'],
  [boundHashes, 'boundKey'],
]);

function hashesBy(
  fact: 'saidHash' | 'boundHash',
  messages: readonly Message[],
  digest: Digest,
): readonly string[] {
  return latest.of(messages, [fact, digest], () => {
    const hashes = [''];
    let first = 0;
    let isAsked = false;
    for (const [index, { role, identity, facts }] of messages.entries()) {
      const isAnswer = role === 'assistant';
      if (!isAnswer) first = index + 1;
      const before = elementAt(hashes, isAnswer ? first : index);
      const name = () => (isAnswer ? nameOfSaid(messages.slice(first, index + 1), digest) : identity);
      const isSkipped = role === 'preamble' || (role === 'user' && isAsked);
      isAsked = role !== 'preamble' ? !isAnswer : isAsked;
      if (fact === 'boundHash' || !isSkipped) facts[fact] ??= chained(before, name(), digest);
      hashes.push(facts[fact] ?? before);
    }
    return hashes;
  });
}

/** `answerKey` of what is sent instead of an answer: not if the caller has edited its arguments. */
export function saidKey(asked: string, answer: readonly Message[], digest: Digest): string | undefined {
  const { calls, text } = saidIn(answer, digest);
  if (calls === '' && text === '') return undefined;
  return digest(calls === '' ? `${asked} text ${text}` : `${asked} calls ${calls}`);
}

/** An answer by what it says. */
export function nameOfSaid(answer: readonly Message[], digest: Digest): string {
  const { calls, text } = saidIn(answer, digest);
  return `${calls} ${text}`;
}

function saidIn(answer: readonly Message[], digest: Digest): Said {
  const [first, ...others] = answer;
  if (first?.facts.spoken && others.length === 0) return first.facts.spoken;
  const calls = answer.flatMap((message) => message.calls);
  const said = saidOf(calls, textOf(answer), digest);
  if (first && others.length === 0) first.facts.spoken = said;
  return said;
}

/** @param calls whose arguments may be written in any way */
export function saidOf(
  calls: readonly Pick<ToolCall, 'id' | 'name' | 'input'>[],
  text: string,
  digest: Digest,
): Said {
  const said = calls.map(({ id, name, input }) => [id, name, sortedJson(input) ?? input]);
  const hash = (words: string): string => (words === '' ? '' : digest(words));
  return { calls: hash(said.length > 0 ? JSON.stringify(said) : ''), text: hash(text.trim()) };
}
