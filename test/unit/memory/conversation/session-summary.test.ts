import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import {
  CONTINUE_LINE,
  findEcho,
  SHADOW_LINE,
  writeBlock,
} from '../../../../src/memory/conversation/session-summary.ts';
import { writeTrimLine } from '../../../../src/memory/edits/placeholder.ts';
import { neutralize } from '../../../../src/summary/text/headings.ts';
import { conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, calls, read, result, step, system, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { stranger, tenant } from '../../../support/laws/view-of.ts';

const REF = tenant.refs.name('a transcript', () => 'a transcript');
const BLOCK = writeBlock('What was.', REF, [0, 41]);
const NOBODYS = `ref_${'a'.repeat(26)}`;
const pair = [user(SHADOW_LINE), assistant(BLOCK)];

const echoOf = (...messages: Record<string, unknown>[]) => findEcho(read(messages), tenant.refs);

describe('a summary that comes back', () => {
  it('is found as a pair, directly after the preamble', () => {
    const echo = { first: 0, last: 1, message: 1, text: 'What was.', ref: REF, length: BLOCK.length };
    expect(echoOf(...pair, user('go on'))).toEqual(echo);
    expect(echoOf(system('s'), ...pair)).toEqual({ ...echo, first: 1, last: 2, message: 2 });
    expect(echoOf(system('s'), { role: 'developer', content: 'd' }, ...pair)).toMatchObject({ first: 2 });
  });

  it('is found as the opening of a user message, which continues after it', () => {
    const opening = `${BLOCK}\n\n`;
    expect(echoOf(user(`${opening}Mend it.`))).toMatchObject({ first: 0, last: 0, length: opening.length });
    expect(echoOf(user(BLOCK))).toMatchObject({ text: 'What was.', length: BLOCK.length });
    const parts = [
      { type: 'text', text: BLOCK },
      { type: 'text', text: 'Mend it.' },
    ];
    expect(echoOf(system('s'), user(parts))).toMatchObject({ first: 1, last: 1, length: BLOCK.length });
  });

  it('is found as the answer to the first request, which counts to it', () => {
    const echo = { message: 1, request: 0, text: 'What was.', ref: REF, length: BLOCK.length };
    const recap = [user('Mend it.'), assistant(BLOCK)];
    expect(echoOf(...recap, user('go on'))).toEqual({ ...echo, first: 0, last: 1 });
    expect(echoOf(system('s'), ...recap)).toMatchObject({ first: 1, last: 2, message: 2, request: 1 });
    const line = writeTrimLine([3, 4], { ref: REF, tokens: 9 });
    const withLine = [user('Mend it.'), assistant(`${BLOCK}\n\n${line}`)];
    expect(echoOf(...withLine)).toMatchObject({ first: 0, last: 1, request: 0, text: 'What was.' });
  });

  it('has none in a recap without a user message before it', () => {
    expect(echoOf(assistant(BLOCK), system('s'))).toBeUndefined();
    expect(echoOf(assistant(BLOCK), user('go on'))).toBeUndefined();
  });

  it('leaves the first request its turn where a line by Precis says that it goes on', () => {
    const recap = [user('Mend it.'), assistant(BLOCK), user(CONTINUE_LINE), ...step('1', 'f', 'x')];
    expect(echoOf(...recap)).toEqual({
      first: 1,
      last: 2,
      message: 1,
      text: 'What was.',
      ref: REF,
      length: BLOCK.length,
    });
    const list = read(recap);
    const { units, turns } = readHistory(list, [], findEcho(list, tenant.refs));
    expect(units.map(({ kind, first, last }) => [kind, first, last])).toEqual([
      ['user', 0, 0],
      ['summary', 1, 2],
      ['assistant', 3, 4],
    ]);
    expect(turns).toEqual([0]);
  });

  it('is the text that was written, whatever that holds', () => {
    forAll(
      { endOnFailure: true },
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      (text, request) => {
        const harmless = neutralize(text);
        const block = writeBlock(harmless, REF, [0, 7]);
        expect(echoOf(user(SHADOW_LINE), assistant(block))?.text).toBe(harmless);
        const opened = echoOf(user(`${block}\n\n${request}`));
        expect(opened?.text).toBe(harmless);
        expect(`${block}\n\n${request}`.slice(opened?.length)).toBe(request);
      },
    );
  });

  it.each<[string, Record<string, unknown>[]]>([
    ['stands later', [user('a'), assistant('b'), ...pair]],
    ['opens a later message', [user('a'), assistant('b'), user(BLOCK)]],
    ['stands behind an assistant message', [assistant('Hello!'), ...pair]],
    ['is in a system message', [system(BLOCK), user('a')]],
    ['is not the first text of its message', [user(`Look: ${BLOCK}`)]],
    [
      'stands in the second part',
      [
        user([
          { type: 'text', text: 'a' },
          { type: 'text', text: BLOCK },
        ]),
      ],
    ],
    ['is an answer to a second request', [user('What was?'), user('And what is?'), assistant(BLOCK)]],
    ['is an answer to the first request that goes on', [user('Mend it.'), assistant(`${BLOCK}\n\nMore.`)]],
    [
      'is an answer to the first request with a line that nobody made',
      [user('Mend it.'), assistant(`${BLOCK}\n\n${writeTrimLine([3, 4], { ref: NOBODYS, tokens: 9 })}`)],
    ],
    ['is an answer that goes on', [user(SHADOW_LINE), assistant(`${BLOCK}\n\nAnd more.`)]],
    [
      'is an answer that calls tools',
      [user(SHADOW_LINE), { ...calls(['1', 'f']), content: BLOCK }, result('1', 'x')],
    ],
    ['is asked for, and not there', [user(SHADOW_LINE)]],
    ['is asked for, and not given', [user(SHADOW_LINE), assistant('I don’t know.')]],
    ['names no ref', [user(SHADOW_LINE), assistant(writeBlock('What was.', undefined, [0, 41]))]],
    [
      'names a ref that nobody made',
      [user(SHADOW_LINE), assistant(writeBlock('What was.', NOBODYS, [0, 41]))],
    ],
    ['is not closed', [user(BLOCK.replace('</session_summary>', ''))]],
    ['goes on in the line of its end', [user(`${BLOCK} and more`)]],
    ['has its end in the line of its text', [user(BLOCK.replace('\n</', '</'))]],
    ['covers nothing that can be said', [user(BLOCK.replace('0-41', 'all'))]],
  ])('is none when it %s', (_, messages) => {
    expect(echoOf(...messages)).toBeUndefined();
  });

  it('is none for another tenant, and for a caller who is none', () => {
    expect(findEcho(read(pair), stranger.refs)).toBeUndefined();
    expect(findEcho(read(pair), undefined)).toBeUndefined();
    expect(findEcho([], tenant.refs)).toBeUndefined();
  });
});

describe('a conversation after a summary that came back', () => {
  const rest = [user('a'), ...step('1', 'f', 'x'), assistant('b'), user('c')];
  const history = (messages: Record<string, unknown>[]) => {
    const list = read(messages);
    return readHistory(list, [], findEcho(list, tenant.refs));
  };

  it('has a unit of its own for the pair, and no turn', () => {
    const { units, turns } = history([system('s'), ...pair, ...rest]);
    expect(units.map(({ kind, first, last }) => [kind, first, last])).toEqual([
      ['summary', 1, 2],
      ['user', 3, 3],
      ['assistant', 4, 5],
      ['assistant', 6, 6],
      ['user', 7, 7],
    ]);
    expect(turns).toEqual([1, 4]);
  });

  it('begins a turn with the request that the summary opens', () => {
    const { units, turns } = history([user(`${BLOCK}\n\nMend it.`), ...step('1', 'f', 'x')]);
    expect(units.map(({ kind }) => kind)).toEqual(['user', 'assistant']);
    expect(turns).toEqual([0]);
  });

  it('has turns, units and request points where it has them without the pair', () => {
    forAll({ endOnFailure: true }, conversation, ({ messages }) => {
      const at = messages.findIndex(({ role }) => role === 'user');
      const list = read([...messages.slice(0, at), ...pair, ...messages.slice(at)]);
      const prefixes = ['Observation:'];
      const echoed = readHistory(list, prefixes, findEcho(list, tenant.refs));
      const plain = readHistory(read(messages), prefixes);
      const shift = (index: number): number => (index < at ? index : index + 2);
      expect(echoed.units.slice(1).map(({ kind, first, last, step }) => [kind, first, last, step])).toEqual(
        plain.units.map(({ kind, first, last, step }) => [kind, shift(first), shift(last), step]),
      );
      expect(echoed.turns).toEqual(plain.turns.map((unit) => unit + 1));
      expect(echoed.requestPoints).toEqual(
        plain.requestPoints.map(({ messages, units, turns }) => ({
          messages: messages + 2,
          units: units + 1,
          turns,
        })),
      );
    });
  });
});
