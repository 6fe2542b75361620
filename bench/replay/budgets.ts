/**
 * Which budget pays, by kind of work and price of cached input (docs/modes.md#which-budget): `auto`
 * with several budgets, planned and billed anew for each price.
 */

import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import type { TokenCounter } from '../../src/memory/tokens/tokens.ts';
import { percent, printTable } from '../figures.ts';
import type { ReuseTrace } from '../reuse.ts';
import { compare } from './compare.ts';
import type { Policies } from './policies.ts';
import { type DataSet, DEARER, figuresOf, type PolicyFigures, together } from './results.ts';

/** In tokens. */
export const BUDGETS = [16_000, 32_000, 48_000, 64_000, 100_000, 200_000];
/** Prices of cached input, relative to fresh input. */
export const CACHED_PRICES = [0.1, 0.05, 0.025];

/** What a budget does to the conversations of a set. */
export interface BudgetFigures
  extends Pick<PolicyFigures, 'paidToNone' | 'dearer' | 'visible' | 'near' | 'changed'> {
  readonly set: string;
  readonly conversations: number;
  readonly values: number;
  readonly nearValues: number;
  readonly cached: number;
  readonly budget: number;
}

/** How the removed tokens of a budget are spread, under the first of the prices. */
export interface Spread {
  readonly budget: number;
  readonly conversations: number;
  /** Conversations of which something is removed. */
  readonly changed: number;
  /** The number of the longest ones. */
  readonly longest: number;
  /** Their share of all removed tokens, each counted in each request that lacks it. */
  readonly ofLongest: number;
}

/** The policies of a run: none, and one for each budget. */
type ForBudgets = Pick<Policies, 'none' | 'others'>;

/**
 * @param traces by the name of their set
 * @param base prices, whose price of cached input is replaced
 * @param policiesFor those that plan for these prices, in the order of the budgets
 */
export async function budgetFigures(
  traces: ReadonlyMap<string, readonly ReuseTrace[]>,
  base: RelativePrices,
  policiesFor: (prices: RelativePrices) => ForBudgets,
  counter: TokenCounter,
): Promise<{ budgets: BudgetFigures[]; spreads: Spread[] }> {
  const budgets: BudgetFigures[] = [];
  let spreads: Spread[] = [];
  for (const cached of CACHED_PRICES) {
    const prices = { ...base, cached };
    const policies = policiesFor(prices);
    const sets: DataSet[] = [];
    for (const [name, those] of traces) sets.push(await compare(name, those, policies, prices, counter));
    const all = together(sets);
    for (const set of [...sets, all]) budgets.push(...rowsOf(set, cached));
    if (spreads.length === 0) spreads = spreadsOf(all);
  }
  return { budgets, spreads };
}

function rowsOf(set: DataSet, cached: number): BudgetFigures[] {
  const { name, conversations, values, nearValues, policies } = figuresOf(set);
  return policies.slice(1).map(({ paidToNone, dearer, visible, near, changed }, index) => ({
    ...{ set: name, conversations, values, nearValues, cached, budget: BUDGETS[index] ?? Number.NaN },
    ...{ paidToNone, dearer, visible, near, changed },
  }));
}

/** Share of the conversations that count as the longest. */
const LONGEST_SHARE = 0.12;

function spreadsOf({ none, others }: DataSet): Spread[] {
  const order = none.outcomes
    .map(({ bill }, index) => ({ index, peak: bill.peak }))
    .toSorted((a, b) => b.peak - a.peak)
    .map(({ index }) => index);
  const longest = Math.max(1, Math.round(LONGEST_SHARE * order.length));
  return others.map(({ outcomes }, row) => {
    const removed = (indices: readonly number[]): number =>
      indices.reduce((sum, index) => sum + (outcomes[index]?.savings.gross ?? 0), 0);
    return {
      budget: BUDGETS[row] ?? Number.NaN,
      conversations: order.length,
      changed: outcomes.filter(({ savings }) => savings.unique > 0).length,
      longest,
      ofLongest: removed(order.slice(0, longest)) / Math.max(1, removed(order)),
    };
  });
}

/** A row per set and price, a column per budget; then how the removed tokens are spread. */
export function printBudgets({
  budgets,
  spreads,
}: {
  budgets: readonly BudgetFigures[];
  spreads: readonly Spread[];
}): void {
  const heads = BUDGETS.map((budget) => `${budget / 1_000}k`);
  const rows = Map.groupBy(budgets, ({ set, cached }) => `${set}, ${cached}`);
  console.log(
    `bill relative to none, near use and older values in view, by budget; * where a conversation is dearer by more than ${DEARER} times\n`,
  );
  printTable(
    ['set, price of cached input', ...heads],
    [...rows].map(([name, columns]) => [
      name,
      ...columns.map(
        ({ paidToNone, dearer, near, nearValues, visible, values }) =>
          `${paidToNone.toFixed(3)}${dearer > 0 ? '*' : ' '} ${percent(near, nearValues)} ${percent(visible, values)}`,
      ),
    ]),
  );
  console.log('\nconversations of which something is removed, and the share of the longest\n');
  printTable(
    ['budget', 'changed', 'of', 'longest', 'their share of what is removed'],
    spreads.map(({ budget, changed, conversations, longest, ofLongest }) => [
      `${budget / 1_000}k`,
      `${changed}`,
      `${conversations}`,
      `${longest}`,
      percent(ofLongest, 1),
    ]),
  );
}
