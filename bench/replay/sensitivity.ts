/**
 * How far the bills depend on the prices of the cache. A policy that counts on them plans anew for
 * each pair of prices. The views of all others stay the same, since they don't know any.
 */

import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import type { TokenCounter } from '../../src/memory/tokens/tokens.ts';
import { printTable } from '../figures.ts';
import type { ReuseTrace } from '../reuse.ts';
import { Conversation } from './conversation.ts';
import { outcomeOf, type Replayed, replay } from './measure.ts';
import type { Policies } from './policies.ts';
import { DEARER } from './results.ts';

export const READS = [0.05, 0.1, 0.25, 0.5];
export const WRITES = [1, 1.25, 2];

/** A policy's bills under one pair of prices. */
export interface PricedBill {
  readonly read: number;
  readonly write: number;
  /** Relative to none under the same prices. */
  readonly paidToNone: number;
  /** Conversations that cost more than `DEARER` times as much. */
  readonly dearer: number;
}

export interface Sensitivity {
  readonly name: string;
  readonly bills: readonly PricedBill[];
}

/** A policy's costs of all conversations, by the index of the prices. */
interface Costs {
  readonly name: string;
  readonly byPrices: readonly number[][];
}

/**
 * @param base prices of which reads and writes are replaced
 * @param policiesFor the policies that plan for these prices, in the same order for all
 */
export async function sensitivityOf(
  traces: readonly ReuseTrace[],
  base: RelativePrices,
  policiesFor: (prices: RelativePrices) => Pick<Policies, 'none' | 'others'>,
  counter: TokenCounter,
): Promise<Sensitivity[]> {
  const grid = READS.flatMap((cached) => WRITES.map((written) => ({ ...base, cached, written })));
  const planned = grid.map((prices) => {
    const { none, others } = policiesFor(prices);
    return [none, ...others];
  });
  const costs = (planned[0] ?? []).map(({ name }): Costs => ({ name, byPrices: grid.map(() => []) }));
  for (const trace of traces) {
    const conversation = new Conversation(trace, counter);
    for (const [row, { byPrices }] of costs.entries()) {
      let unpriced: Replayed | undefined;
      for (const [column, prices] of grid.entries()) {
        const policy = planned[column]?.[row];
        if (!policy) throw new Error('the policies differ from prices to prices');
        const replayed = unpriced ?? (await replay(policy, conversation));
        if (policy.maker !== 'precis') unpriced = replayed;
        byPrices[column]?.push(outcomeOf(replayed, prices).bill.paid);
      }
    }
  }
  return costs.map(({ name, byPrices }) => ({
    name,
    bills: grid.map(({ cached, written }, column) => ({
      read: cached,
      write: written,
      ...compared(byPrices[column] ?? [], costs[0]?.byPrices[column] ?? []),
    })),
  }));
}

function compared(
  costs: readonly number[],
  none: readonly number[],
): Pick<PricedBill, 'paidToNone' | 'dearer'> {
  const sum = (of: readonly number[]): number => of.reduce((total, one) => total + one, 0);
  const isDearer = (cost: number, index: number): boolean => cost > DEARER * (none[index] ?? Number.NaN);
  return { paidToNone: sum(costs) / sum(none), dearer: costs.filter(isDearer).length };
}

/** A column per pair of prices: the bill, and the conversations that are dearer. */
export function printSensitivity(rows: readonly Sensitivity[]): void {
  const heads = rows[0]?.bills.map(({ read, write }) => `${read} / ${write}`) ?? [];
  console.log('bill relative to none, and dearer conversations, by the prices of a read / a write\n');
  printTable(
    ['', ...heads],
    rows.map(({ name, bills }) => [
      name,
      ...bills.map(({ paidToNone, dearer }) => `${paidToNone.toFixed(3)} ${`${dearer}`.padStart(3)}`),
    ]),
  );
}
