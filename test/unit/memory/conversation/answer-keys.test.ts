import { describe, expect, it } from 'vitest';
import { answersIn } from '../../../../src/memory/conversation/answer-keys.ts';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import {
  assistant,
  calls,
  type Message,
  read,
  result,
  system,
  user,
} from '../../../support/conversations/chat.ts';

const keysOf = (...messages: Message[]): (readonly [number, string])[] =>
  answersIn(readHistory(read(messages)), sha256Hex).map(({ message, key }) => [message, key] as const);

const ASKED = user('Go.');
const ON = user('On.');
const keyOf = (answer: Message, asked = [ASKED]): string | undefined => keysOf(...asked, answer, ON)[0]?.[1];

describe('the key of an answer', () => {
  it('is made of its text, whatever else its client writes', () => {
    const key = keyOf(assistant('Done.'));
    expect(keyOf(assistant(' Done.\n'))).toBe(key);
    expect(keyOf(assistant([{ type: 'text', text: 'Done.' }]))).toBe(key);
    expect(keyOf(assistant('Done.', { refusal: null, annotations: [], parsed: null }))).toBe(key);
    expect(keyOf(assistant('Done!'))).not.toBe(key);
  });

  it('is made of the ids of its calls, if it has any', () => {
    const key = keyOf(calls(['c1', 'f', '{}']));
    expect(keyOf({ ...calls(['c1', 'f', '{ }']), content: '' })).toBe(key);
    expect(keyOf(calls(['c2', 'f', '{}']))).not.toBe(key);
    expect(keyOf(calls(['c1', 'f'], ['c2', 'f']))).not.toBe(key);
  });

  it('is another one for other messages before it, but for the preamble', () => {
    const key = keyOf(assistant('Done.'));
    expect(keyOf(assistant('Done.'), [user('Go!')])).not.toBe(key);
    expect(keysOf(system('Monday.'), ASKED, assistant('Done.'), ON)[0]?.[1]).toBe(key);
  });

  it('is there for each request point but the last, and stays while the array grows', () => {
    const messages = [ASKED, calls(['c1', 'f']), result('c1', 'ok'), assistant('Done.'), ON];
    const keys = keysOf(...messages);
    expect(keys.map(([message]) => message)).toEqual([1, 3]);
    expect(keysOf(...messages, assistant('Well.'), ON).slice(0, 2)).toEqual(keys);
    expect(keysOf(ASKED)).toEqual([]);
  });

  it('is one for each request that an answer with a pause has taken', () => {
    const messages = read([ASKED, assistant('Now the web.'), assistant('It is 42.'), ON]);
    const resumed = messages.map((message, at) =>
      at === 2 ? Object.assign(message, { resumes: true }) : message,
    );
    const keys = answersIn(readHistory(resumed), sha256Hex).map(
      ({ message, key }) => [message, key] as const,
    );
    expect(keys.map(([message]) => message)).toEqual([1, 2]);
    expect(keys[0]).toEqual(keysOf(ASKED, assistant('Now the web.'), ON)[0]);
    expect(keysOf(ASKED, assistant('Now the web.'), assistant('It is 42.'), ON).map(([at]) => at)).toEqual([
      1,
    ]);
  });

  it('is missing for an answer that says nothing', () => {
    expect(keysOf(ASKED, assistant(''), ON)).toEqual([]);
  });
});
