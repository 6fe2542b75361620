/**
 * Where `auto` begins without a budget, in a window of a million tokens whose price has no step
 * (docs/benchmark.md#windows-without-a-price-step): the goal that follows from the prices, half and
 * twice of it, and the end of the window.
 */
import { priceGoal, type RelativePrices } from '../../src/memory/models/schedules.ts';
import type { TokenCounter } from '../../src/memory/tokens/tokens.ts';
import { percent, printTable } from '../figures.ts';
import type { ReuseTrace } from '../reuse.ts';
import { compare } from './compare.ts';
import type { Policies } from './policies.ts';
import { figuresOf, type PolicyFigures, together } from './results.ts';

const WINDOW = 1_000_000;
/** In tokens: where `auto` would begin without a goal. */
export const WINDOW_END = 0.8 * WINDOW;

/** Prices of a read and of a write, relative to fresh input. */
const PRICES: readonly (readonly [cached: number, written: number])[] = [
  [0.25, 1],
  [0.1, 1],
  [0.1, 1.25],
  [0.05, 1],
  [0.025, 1],
];

/** A soft budget under one pair of prices, over all conversations. */
export interface WindowFigures
  extends Pick<PolicyFigures, 'paidToNone' | 'dearer' | 'worst' | 'near' | 'visible'> {
  readonly set: 'all';
  readonly cached: number;
  readonly written: number;
  /** The soft budget that follows from the prices, in tokens. */
  readonly goal: number;
  /** The one of this row. */
  readonly budget: number;
  readonly conversations: number;
  readonly values: number;
  readonly nearValues: number;
}

/**
 * @param base prices, whose reads and writes are replaced
 * @param policiesFor those that plan for these prices, in the order of the strategies
 */
export async function windowFigures(
  traces: ReadonlyMap<string, readonly ReuseTrace[]>,
  base: RelativePrices,
  policiesFor: (prices: RelativePrices, strategies: readonly string[]) => Pick<Policies, 'none' | 'others'>,
  counter: TokenCounter,
): Promise<WindowFigures[]> {
  const rows: WindowFigures[] = [];
  for (const [cached, written] of PRICES) {
    const prices = { ...base, cached, written };
    const goal = priceGoal(prices) ?? WINDOW_END;
    const budgets = [...new Set([goal / 2, goal, 2 * goal, WINDOW_END])];
    const policies = policiesFor(prices, budgets.map(strategyOf));
    const sets = [];
    for (const [name, those] of traces) sets.push(await compare(name, those, policies, prices, counter));
    const { conversations, values, nearValues, policies: found } = figuresOf(together(sets));
    rows.push(
      ...found.slice(1).map(({ paidToNone, dearer, worst, near, visible }, index) => ({
        ...{ set: 'all' as const, cached, written, goal, budget: budgets[index] ?? Number.NaN },
        ...{ paidToNone, dearer, worst, near, visible, conversations, values, nearValues },
      })),
    );
  }
  return rows;
}

function strategyOf(budget: number): string {
  const strategy = { mode: 'auto', token_soft_budget: budget, context_window_tokens: WINDOW };
  return JSON.stringify({ ...strategy, compact_retrieval: 'tool' });
}

export function printWindows(rows: readonly WindowFigures[]): void {
  console.log('bill relative to none, dearer conversations, near use and older values, by soft budget\n');
  printTable(
    ['read / write', 'goal', 'budget', 'bill', 'dearer', 'worst', 'near', 'older'],
    rows.map((row) => [
      `${row.cached} / ${row.written}`,
      ...[row.goal, row.budget].map((tokens) => `${tokens / 1_000}k`),
      ...[row.paidToNone.toFixed(3), `${row.dearer}`, row.worst.toFixed(2)],
      ...[percent(row.near, row.nearValues), percent(row.visible, row.values)],
    ]),
  );
}
