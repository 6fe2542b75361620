/**
 * What requests cost that come after a pause, when the cache of the upstream has expired, with and
 * without moves at cold returns (docs/design.md#cold-returns).
 */
import type { ModelTerms } from '../../src/memory/models/terms.ts';
import { edits, parseStrategy } from '../../src/memory/modes/strategy.ts';
import { printTable } from '../figures.ts';
import type { Isolate } from '../pipeline.ts';
import type { ReuseTrace } from '../reuse.ts';
import { type Bill, billOf, type PricedRequest, sumOfBills } from './bill.ts';
import { Conversation } from './conversation.ts';
import { replay } from './measure.ts';
import { pausesOf } from './pauses.ts';
import type { Policies } from './policies.ts';
import { precis } from './precis.ts';

/** How long a cache keeps a prefix, in minutes. */
export const LIFETIMES = [5, 30, 60];

/** How often the pauses of each conversation are drawn. */
export const DRAWS = 3;

export interface ReturnFigures {
  readonly set: string;
  readonly conversations: number;
  readonly lifetime: number;
  /** Of all draws. */
  readonly requests: number;
  readonly returns: number;
  /** Returns at which a waiting move was made. */
  readonly made: number;
  /** The bill of the returns and of all requests relative to none, without and with such moves. */
  readonly returnsWithout: number;
  readonly returnsWith: number;
  readonly allWithout: number;
  readonly allWith: number;
}

/** The bills of one lifetime: without a strategy, and without and with cold moves. */
interface Bills {
  readonly none: Bill[];
  readonly without: Bill[];
  readonly with: Bill[];
  made: number;
  returns: number;
}

/** @param traces by the name of their set */
export async function returnFigures(
  traces: ReadonlyMap<string, readonly ReuseTrace[]>,
  strategy: object,
  { none }: Pick<Policies, 'none'>,
  terms: ModelTerms,
  isolate: Isolate,
): Promise<ReturnFigures[]> {
  const figures: ReturnFigures[] = [];
  for (const [set, those] of traces) {
    const bills = LIFETIMES.map((): Bills => ({ none: [], without: [], with: [], made: 0, returns: 0 }));
    for (const [at, trace] of those.entries())
      await bill(new Conversation(trace, isolate.counter), at, bills, strategy, none, terms, isolate);
    figures.push(...bills.map((of, at) => figuresOf(set, those.length, LIFETIMES[at] ?? 0, of)));
  }
  return figures;
}

async function bill(
  conversation: Conversation,
  at: number,
  bills: readonly Bills[],
  strategy: object,
  none: Policies['none'],
  terms: ModelTerms,
  isolate: Isolate,
): Promise<void> {
  const { points } = conversation;
  const auto = (returns?: ReadonlySet<number>) => {
    const parsed = parseStrategy({ ...strategy, cold_moves: returns !== undefined });
    if (!parsed.ok || !edits(parsed.value)) throw new Error('a strategy that edits is needed');
    return precis('auto', parsed.value, true, isolate, terms, returns);
  };
  const unedited = (await replay(none, conversation)).requests;
  const without = (await replay(auto(), conversation)).requests;
  for (let draw = 0; draw < DRAWS; draw++) {
    const pauses = pausesOf(points.length, DRAWS * at + draw);
    for (const [index, of] of bills.entries()) {
      const isReturn = (point: number): boolean =>
        point > 0 && (pauses[point] ?? 0) > 60 * (LIFETIMES[index] ?? 0);
      const returns = new Set(points.filter((_, point) => isReturn(point)));
      const { requests } = await replay(auto(returns), conversation);
      const billed = (some: readonly PricedRequest[]): Bill =>
        billOf(
          some.map((request, point) => ({ ...request, isCold: isReturn(point) })),
          terms.prices,
        );
      of.none.push(billed(unedited));
      of.without.push(billed(without));
      of.with.push(billed(requests));
      of.returns += returns.size;
      of.made += requests.filter(({ isColdMove }) => isColdMove).length;
    }
  }
}

function figuresOf(set: string, conversations: number, lifetime: number, bills: Bills): ReturnFigures {
  const { made, returns } = bills;
  const [none, without, withMoves] = [bills.none, bills.without, bills.with].map(sumOfBills);
  if (!none || !without || !withMoves) throw new Error('there are no bills');
  return {
    ...{ set, conversations, lifetime, requests: none.requests, returns, made },
    returnsWithout: without.returns / none.returns,
    returnsWith: withMoves.returns / none.returns,
    allWithout: without.paid / none.paid,
    allWith: withMoves.paid / none.paid,
  };
}

export function printReturns(figures: readonly ReturnFigures[]): void {
  console.log('bills relative to none, without → with moves at cold returns\n');
  printTable(
    ['set', 'lifetime', 'requests', 'returns', 'moves', 'their bill', 'all requests'],
    figures.map((row) => [
      row.set,
      `${row.lifetime} min`,
      `${row.requests}`,
      `${row.returns}`,
      `${row.made}`,
      `${row.returnsWithout.toFixed(3)} → ${row.returnsWith.toFixed(3)}`,
      `${row.allWithout.toFixed(3)} → ${row.allWith.toFixed(3)}`,
    ]),
  );
}
