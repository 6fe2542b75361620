import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chained, prefixHashes } from '../../../../src/memory/conversation/prefix-hash.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { bareJson } from '../../../../src/protocol/json/bare.ts';
import { answerIdentity } from '../../../../src/protocol/message-names.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, calls, read, result, system, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';

type Message = Record<string, unknown>;

/** The name of all messages of a body. */
function hashOfText(text: string): string {
  const request = readChatRequest(new TextEncoder().encode(text));
  if (!request.ok) throw new Error(request.reason.message);
  return prefixHashes(request.value.messages, sha256Hex).at(-1) ?? '';
}
const hashOf = (...messages: Message[]): string => hashOfText(JSON.stringify(body(messages)));

describe('a prefix hash', () => {
  it('is empty as long as there is nothing but preamble', () => {
    expect(prefixHashes(read([system('s'), user('a')]), sha256Hex)).toEqual(['', '', hashOf(user('a'))]);
  });

  it('does not change with white space between the tokens of the JSON', () => {
    forAll(
      { endOnFailure: true },
      conversation,
      fc.constantFrom(' ', '\t', 4, '\n\t '),
      (conversation, indent) => {
        expect(hashOfText(JSON.stringify(conversation, null, indent))).toBe(
          hashOfText(JSON.stringify(conversation)),
        );
      },
    );
  });

  it('does not change with white space in the parts of an answer', () => {
    const parts = assistant([
      { type: 'text', text: 'a  b' },
      { type: 'text', text: 'c' },
    ]);
    const conversation = body([user('a'), parts]);
    expect(hashOfText(JSON.stringify(conversation, null, 2))).toBe(hashOfText(JSON.stringify(conversation)));
  });

  it('does not change with the preamble, wherever that is and whatever it says', () => {
    const plain = hashOf(user('a'), assistant('b'), user('c'));
    expect(hashOf(system('It is Monday.'), user('a'), assistant('b'), user('c'))).toBe(plain);
    expect(hashOf(system('It is Tuesday.'), user('a'), assistant('b'), system('Be brief.'), user('c'))).toBe(
      plain,
    );
  });

  it('does not change with what is beside the text of an assistant message that calls nothing', () => {
    const plain = hashOf(user('a'), assistant('b'));
    for (const more of [
      { refusal: null },
      { reasoning_content: 'hm' },
      { tool_calls: [] },
      { tool_calls: null },
      { annotations: [], audio: null, function_call: null },
      { content: [{ type: 'text', text: 'b' }] },
    ])
      expect(hashOf(user('a'), assistant('b', more))).toBe(plain);
    expect(hashOf(user('a'), { content: 'b', role: 'assistant' })).toBe(plain);
  });

  it('changes with everything else', () => {
    const step = [calls(['1', 'f', '{"a":1}']), result('1', 'x')];
    const variants = [
      [user('a'), assistant('b')],
      [user('a'), assistant('B')],
      [user('a '), assistant('b')],
      [{ ...user('a'), name: 'n' }, assistant('b')],
      [user([{ type: 'text', text: 'a', citations: true }]), assistant('b')],
      [user('a'), user('b')],
      [user('a')],
      [user('a'), ...step],
      [user('a'), calls(['1', 'f', '{"a": 1}']), result('1', 'x')],
      [user('a'), calls(['2', 'f', '{"a":1}']), result('2', 'x')],
      [user('a'), calls(['1', 'g', '{"a":1}']), result('1', 'x')],
      [user('a'), { ...calls(['1', 'f', '{"a":1}']), content: 'b' }, result('1', 'x')],
      [user('a'), { ...calls(['1', 'f', '{"a":2}']), content: 'b' }, result('1', 'x')],
      [user('a'), { ...calls(['1', 'f', '{"a":1}']), reasoning_content: 'b' }, result('1', 'x')],
      [user('a'), step[0] ?? {}, result('1', 'y')],
      [user('a'), step[0] ?? {}, { ...result('1', 'x'), name: 'f' }],
      [user('a'), ...step.toReversed()],
      [user('a'), assistant(''), assistant('b')],
      [user('a'), assistant('', { refusal: 'b' })],
      [
        user('a'),
        assistant([
          { type: 'text', text: 'b' },
          { type: 'text', text: '' },
        ]),
      ],
    ];
    const hashes = variants.map((messages) => hashOf(...messages));
    expect(new Set(hashes).size).toBe(variants.length);
  });

  it('names each prefix by all that precedes it: a change changes every hash after it, and none before', () => {
    forAll({ endOnFailure: true }, conversation, fc.nat(), ({ messages }, place) => {
      const spoken = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
      const at = spoken[place % spoken.length] ?? 0;
      const edited = messages.with(at, user('something else, that no generated message says'));
      const before = prefixHashes(read(messages), sha256Hex);
      const after = prefixHashes(read(edited), sha256Hex);
      expect(after.map((hash, index) => hash === before[index])).toEqual(
        before.map((_, index) => index <= at),
      );
    });
  });

  it('is known of an answer before its caller sends it back', () => {
    forAll(
      { endOnFailure: true },
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.boolean(),
      (text, parts) => {
        const sent = assistant(parts ? [{ type: 'text', text }] : text, { refusal: null });
        const hashes = prefixHashes(read([user('a'), sent]), sha256Hex);
        expect(hashes[2]).toBe(chained(hashes[1] ?? '', answerIdentity(text), sha256Hex));
        expect(read([sent])[0]?.identity).toBe(answerIdentity(text));
      },
    );
  });
});

describe('JSON without white space', () => {
  const stripped = (json: string): string =>
    new TextDecoder().decode(bareJson(new TextEncoder().encode(json)));
  /** Numbers whose digits survive a parse. Other numbers are the caller's responsibility. */
  const value = fc.json().map((json): unknown => JSON.parse(json));

  it('is what JSON.stringify writes, however it was indented', () => {
    forAll({ endOnFailure: true }, value, fc.constantFrom('', ' ', '\t', '\n  ', '\r\n'), (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      expect(stripped(json)).toBe(JSON.stringify(JSON.parse(json)));
    });
  });

  it('keeps strings as they are, whatever quotes, backslashes and white space they hold', () => {
    const text = fc
      .array(fc.constantFrom('"', '\\', '\\\\', ' ', '\n', '\t', 'a', '{', '}', ',', ':', 'é', '😀'))
      .map((parts) => parts.join(''));
    forAll({ endOnFailure: true }, fc.array(fc.tuple(text, text)), (pairs) => {
      const value = pairs.map(([key, item]) => ({ [key]: item, [`${key} `]: [item, key] }));
      expect(stripped(` ${JSON.stringify(value, null, 3)}\n`)).toBe(JSON.stringify(value));
    });
  });

  it('keeps digits and escapes as they were written', () => {
    expect(stripped('{ "a" : 1.0 , "b":[ 1e2,\r\n12345678901234567890 ] , "c":"\\u0041 \\/" }')).toBe(
      '{"a":1.0,"b":[1e2,12345678901234567890],"c":"\\u0041 \\/"}',
    );
  });

  it('is the same when done again', () => {
    forAll({ endOnFailure: true }, value, (value) => {
      const once = stripped(JSON.stringify(value, null, 2));
      expect(stripped(once)).toBe(once);
    });
  });
});
