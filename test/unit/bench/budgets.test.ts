import { describe, expect, it } from 'vitest';
import { BUDGETS, budgetFigures, CACHED_PRICES } from '../../../bench/replay/budgets.ts';
import { rewriting } from '../../../bench/replay/policy.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const trace = (words: number) => ({
  file: 'set',
  messages: [user('word '.repeat(words)), assistant('Yes.'), user('And?')],
  reuse: [],
});

const none = rewriting('none', 'none', (all) => all);
/** Sends the last message alone where the array has more tokens than its budget. */
const within = (budget: number) =>
  rewriting(`${budget}`, 'precis', (all, { tokens }) => (tokens > budget ? all.slice(-1) : all));

describe('the figures of budgets', () => {
  const traces = new Map([
    ['short', [trace(20_000)]],
    ['long', Array.from({ length: 8 }, (_, index) => trace(index === 3 ? 120_000 : 10))],
  ]);

  it('have a row for each set, price and budget, and all sets together', async () => {
    const priced: number[] = [];
    const { budgets, spreads } = await budgetFigures(
      traces,
      { cached: 0.5, written: 1, output: 4 },
      ({ cached }) => {
        priced.push(cached);
        return { none, others: BUDGETS.map(within) };
      },
      counter,
    );

    expect(priced).toEqual(CACHED_PRICES);
    expect(budgets).toHaveLength(3 * CACHED_PRICES.length * BUDGETS.length);
    const at = (set: string, budget: number) =>
      budgets.find((row) => row.set === set && row.budget === budget && row.cached === 0.1);
    expect(at('short', 16_000)?.changed).toBe(1);
    expect(at('short', 32_000)).toMatchObject({ changed: 0, paidToNone: 1 });
    expect(at('long', 100_000)).toMatchObject({ conversations: 8, changed: 1 });
    expect(at('all', 16_000)).toMatchObject({ conversations: 9, changed: 2 });
    expect(spreads.map(({ budget }) => budget)).toEqual(BUDGETS);
    expect(spreads[1]).toEqual({ budget: 32_000, conversations: 9, changed: 1, longest: 1, ofLongest: 1 });
    expect(spreads[0]?.ofLongest).toBeGreaterThan(0.8);
    expect(spreads[0]?.ofLongest).toBeLessThan(1);
  });
});
