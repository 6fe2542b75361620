import { describe, expect, it } from 'vitest';
import { type ChatJson, Conversation } from '../../../bench/replay/conversation.ts';
import { outcomeOf, replay } from '../../../bench/replay/measure.ts';
import { LARGE_OUTPUT } from '../../../bench/replay/near-use.ts';
import { rewriting } from '../../../bench/replay/policy.ts';
import { figuresOf } from '../../../bench/replay/results.ts';
import { MOST_WORDS, NEAREST_MESSAGES } from '../../../src/memory/run/near-use.ts';
import { calls, result } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const user = (content: string): ChatJson => ({ role: 'user', content });
const assistant = (content: string): ChatJson => ({ role: 'assistant', content });
const output = (id: string, content: string): ChatJson => result(id, content);
const call = (id: string, input: unknown = {}): ChatJson => calls([id, 'run', JSON.stringify(input)]);

const conversationOf = (messages: readonly ChatJson[]): Conversation =>
  new Conversation({ file: 'test', messages, reuse: [] }, counter);

/** The words that the messages after an output take from it. */
function takenFrom(text: string, ...after: readonly ChatJson[]): string[] {
  const { nearUse } = conversationOf([user('Look.'), call('a'), output('a', text), ...after]);
  expect(nearUse.every(({ origin }) => origin === 2)).toBe(true);
  return nearUse.map(({ value }) => value);
}

describe('near use', () => {
  it('is a word of an output in the answer, or in the arguments of a call', () => {
    expect(takenFrom('id ord-471147, owner a@example.com', assistant('It is ord-471147.'))).toEqual([
      'ord-471147',
    ]);
    expect(takenFrom('in src/pay/charge.ts', call('b', { paths: ['src/pay/charge.ts'] }))).toEqual([
      'src/pay/charge.ts',
    ]);
    expect(takenFrom('line\n  chargeCard();', call('b', { old: 'line\n  chargeCard();' }))).toEqual([
      'chargeCard',
    ]);
  });

  it('has eight characters, and a digit, a mark or a change of case', () => {
    const text = 'abc-123 abcd1234 abcd_efg Settings settings userName usersName';
    expect(takenFrom(text, assistant(text))).toEqual(['abcd1234', 'abcd_efg', 'userName', 'usersName']);
  });

  it('is no word that the user, another output or an earlier answer has, nor half of one', () => {
    const messages = [
      user('What of ord-471147?'),
      call('a'),
      output('a', 'ord-471147 ord-471148 ord-471149 ord-471150'),
      call('b', { id: 'ord-471148' }),
      output('b', 'ord-471149'),
      assistant('ord-471147, ord-471148, ord-471149, ord-47115'),
    ];
    expect(conversationOf(messages).nearUse.map(({ value, used }) => [value, used])).toEqual([
      ['ord-471148', 3],
    ]);
  });

  it('reaches back eleven messages', () => {
    const between = (count: number): ChatJson[] =>
      Array.from({ length: count }, (_, index) => (index % 2 ? user('And?') : assistant('Well.')));
    const answer = assistant('ord-471147');
    expect(takenFrom('ord-471147', ...between(NEAREST_MESSAGES - 1), answer)).toEqual(['ord-471147']);
    expect(takenFrom('ord-471147', ...between(NEAREST_MESSAGES), answer)).toEqual([]);
  });

  it('counts the first five words of an answer from each output', () => {
    const words = (from: number): string =>
      Array.from({ length: 7 }, (_, index) => `ord-47114${from + index}`).join(' ');
    const messages = [
      call('a'),
      output('a', words(0)),
      call('b'),
      output('b', words(10)),
      assistant(`${words(0)} ${words(10)}`),
    ];
    const { nearUse } = conversationOf(messages);
    expect(nearUse.map(({ origin }) => origin)).toEqual(
      [1, 3].flatMap((origin) => Array.from({ length: MOST_WORDS }, () => origin)),
    );
    expect(nearUse[0]?.value).toBe('ord-471140');
  });

  it('is seen in views: present, fetched by ref and billed, or lost', async () => {
    const ref = `ref_${'a'.repeat(26)}`;
    const messages = [
      user('Look.'),
      call('a'),
      output('a', `ord-471147 ${'.'.repeat(LARGE_OUTPUT)}`),
      call('b'),
      output('b', 'sku-471147'),
      assistant('ord-471147 sku-471147'),
    ];
    const conversation = conversationOf(messages);
    const prices = { cached: 0.1, written: 1, output: 4 };
    const cleared = (name: string, content: string) =>
      rewriting(name, 'peer', (all) => all.map((one, at) => (at === 2 ? { ...one, content } : one)));
    const none = rewriting('none', 'none', (all) => all);
    const kept = cleared('kept', ref);
    const fetching = {
      ...kept,
      start: (of: Conversation) => ({ ...kept.start(of), fetch: () => ['ord-471147'] }),
    };
    const outcomes = [];
    for (const policy of [none, fetching, cleared('lost', '')])
      outcomes.push(outcomeOf(await replay(policy, conversation), prices));
    const [whole, fetched, lost] = outcomes.map((outcome) => ({
      name: 'policy',
      maker: 'peer' as const,
      outcomes: [outcome],
    }));
    if (!whole || !fetched || !lost) throw new Error('three policies have outcomes');
    const figures = figuresOf({ name: 'set', none: whole, others: [fetched, lost] });

    expect(figures).toMatchObject({ nearValues: 2, nearLargeValues: 1, values: 0 });
    expect(figures.policies).toMatchObject([
      { near: 2, nearLarge: 1, nearReachable: 2, fetchRounds: 0 },
      { near: 1, nearLarge: 0, nearReachable: 2, fetchRounds: 1 },
      { near: 1, nearLarge: 0, nearReachable: 1, fetchRounds: 0 },
    ]);
    expect(outcomes[1]?.bill.fetches).toBeGreaterThan(0);
  });
});
