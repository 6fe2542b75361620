import { describe, expect, it } from 'vitest';
import { answersIn, boundHashes, saidHashes } from '../../../../src/memory/conversation/answer-keys.ts';
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

  it('is made of no thinking among the parts of its content', () => {
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
    expect(keyOf(assistant([thought, { type: 'text', text: 'Done.' }]))).toBe(keyOf(assistant('Done.')));
  });

  it('is missing for an answer that says nothing', () => {
    expect(keysOf(ASKED, assistant(''), ON)).toEqual([]);
  });
});

describe('the hash of an array by what its answers say', () => {
  const hashOf = (...messages: Message[]): string | undefined => saidHashes(read(messages), sha256Hex).at(-1);
  const call = (args: unknown, more: object = {}): Message => {
    const called = { id: 'c1', type: 'function', function: { name: 'f', arguments: args } };
    return { role: 'assistant', content: 'I look.', tool_calls: [called], ...more };
  };
  const written = '{"b":{"y":1,"x":"\u00e9"},"a":[2,1]}';

  it.each<[string, ...Message[]]>([
    ['white space and escapes in the arguments', call('{ "b": {"y": 1, "x": "\\u00e9"}, "a": [2, 1] }')],
    ['another order of their members', call('{"a":[2,1],"b":{"x":"\u00e9","y":1}}')],
    ['arguments as an object', call(JSON.parse(written))],
    ['members that say nothing', call(written, { refusal: null, annotations: [], audio: null })],
    ['reasoning', call(written, { reasoning_content: 'Hm.', reasoning_details: [{ text: 'Hm.' }] })],
    [
      'thinking among the parts',
      call(written, {
        content: [
          { type: 'thinking', thinking: 'Hm.' },
          { type: 'text', text: 'I look.' },
        ],
      }),
    ],
    ['white space at the end of the words', call(written, { content: 'I look.\n' })],
    ['two messages', assistant('I look.'), call(written, { content: null })],
  ])('is the same with %s', (_, ...answer) => {
    const said = hashOf(ASKED, call(written), result('c1', 'ok'), ON);
    expect(hashOf(ASKED, ...answer, result('c1', 'ok'), ON)).toBe(said);
  });

  it.each<[string, Message[]]>([
    ['other arguments', [ASKED, call('{"b":{"y":1,"x":"e"},"a":[2,1]}'), result('c1', 'ok'), ON]],
    [
      'another order in a list',
      [ASKED, call('{"b":{"y":1,"x":"\u00e9"},"a":[1,2]}'), result('c1', 'ok'), ON],
    ],
    ['other words', [ASKED, call(written, { content: 'I wait.' }), result('c1', 'ok'), ON]],
    ['a refusal', [ASKED, call(written, { refusal: 'No.' }), result('c1', 'ok'), ON]],
    ['another result', [ASKED, call(written), result('c1', 'no'), ON]],
    ['another question', [user('Go!'), call(written), result('c1', 'ok'), ON]],
  ])('is another one with %s', (_, messages) => {
    expect(hashOf(...messages)).not.toBe(hashOf(ASKED, call(written), result('c1', 'ok'), ON));
  });

  const head: Message = { role: 'system', content: 'Be brief.' };
  const late: Message = { role: 'system', content: 'Be kind.' };
  const said = [ASKED, call(written), result('c1', 'ok')];
  const done = [assistant('Done.'), ON];

  it.each<[string, Message[], boolean]>([
    ['another head', [head, ...said, ...done], true],
    ['a message of the system between', [ASKED, late, ...said.slice(1), ...done], true],
    ['a message of the system after results', [...said, late, ...done], true],
    ['a user message after results', [...said, user('It is late.'), ...done], true],
    ['a user message after the question', [ASKED, user('It is late.'), ...said.slice(1), ...done], true],
    ['another question', [user('Go!'), ...said.slice(1), ...done], false],
    ['words before its calls', [ASKED, ...done, call(written), result('c1', 'ok'), ...done], false],
    ['another result', [ASKED, call(written), result('c1', 'no'), ...done], false],
    ['other calls before', [...said, call('{}'), result('c1', 'ok'), ...done], false],
    ['a question before words', [...said, assistant('Yes?'), user('Go!'), ...done], false],
  ])(
    'finds an answer that nothing binds without the preamble and what may be a reminder: %s',
    (_, other, isSame) => {
      const last = (of: typeof saidHashes, messages: Message[]): string | undefined =>
        answersIn(readHistory(read(messages)), sha256Hex, of).at(-1)?.key;
      expect(last(saidHashes, other) === last(saidHashes, [...said, ...done])).toBe(isSame);
      expect(last(boundHashes, other)).not.toBe(last(boundHashes, [...said, ...done]));
    },
  );

  it('bears arguments that are no JSON, or nested more deeply than can be written', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const args of ['{"a":', deep, `${deep} `])
      expect(hashOf(ASKED, call(args), ON)).not.toBe(hashOf(ASKED, call('{}'), ON));
  });
});
