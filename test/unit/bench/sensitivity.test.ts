import { describe, expect, it } from 'vitest';
import { type Policy, rewriting } from '../../../bench/replay/policy.ts';
import { READS, sensitivityOf, WRITES } from '../../../bench/replay/sensitivity.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const long = 'a b c d e f g h '.repeat(300);
const messages = [user(long), assistant('Yes.'), user('And?')];
const base = { cached: 0.1, written: 1, output: 4 };
const none = rewriting('none', 'none', (all) => all);

/** Sends the last message alone, in each request that it is asked for; counts the replays. */
function last(maker: Policy['maker'], replays: string[]): Policy {
  const policy = rewriting('last', maker, (all) => all.slice(-1));
  return {
    ...policy,
    start(conversation) {
      replays.push(maker);
      return policy.start(conversation);
    },
  };
}

describe('the sensitivity to prices', () => {
  it('plans anew for each pair where the policy counts on prices, and else replays once', async () => {
    const replays: string[] = [];
    const asked: string[] = [];
    const rows = await sensitivityOf(
      [{ file: 'test', messages, reuse: [] }],
      base,
      ({ cached, written }) => {
        asked.push(`${cached} ${written}`);
        return { none, others: [last('precis', replays), last('peer', replays)] };
      },
      counter,
    );
    const pairs = READS.length * WRITES.length;

    expect(new Set(asked).size).toBe(pairs);
    expect(replays.filter((maker) => maker === 'precis')).toHaveLength(pairs);
    expect(replays.filter((maker) => maker === 'peer')).toHaveLength(1);
    expect(rows.map(({ name }) => name)).toEqual(['none', 'last', 'last']);
    // The same views have the same bills, however they were made.
    expect(rows[1]?.bills).toEqual(rows[2]?.bills);
  });

  it('is relative to none under the same prices', async () => {
    const others = [last('peer', [])];
    const rows = await sensitivityOf(
      [{ file: 'test', messages, reuse: [] }],
      base,
      () => ({ none, others }),
      counter,
    );

    expect(rows[0]?.bills.every(({ paidToNone, dearer }) => paidToNone === 1 && dearer === 0)).toBe(true);
    const atHalf =
      rows[1]?.bills.filter(({ write }) => write === 1).map(({ paidToNone }) => paidToNone) ?? [];
    // Where reads cost more, leaving out what would be read saves more.
    expect(atHalf).toEqual(atHalf.toSorted((a, b) => b - a));
    expect(new Set(atHalf).size).toBe(READS.length);
  });
});
