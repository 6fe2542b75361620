/**
 * How the bill of a conversation comes about, and when a move has paid back (docs/inspector.md).
 * All amounts are nanodollars, which are integers, so that the steps add up exactly.
 */
import type { ListedRun } from '../api/answers.ts';
import { type Amounts, amountsOf } from './money.ts';
import type { TermName } from './words.ts';

/** A step from what the whole array would have cost to what was paid. */
export interface WaterfallStep {
  readonly term: TermName;
  /** What it adds; negative for what it takes away. Of the first and the last one, the sum. */
  readonly amount: number;
  /** Where its bar begins and ends: the bar of a change ends where the next one begins. */
  readonly from: number;
  readonly to: number;
  readonly isSum: boolean;
}

/** Undefined if a part of the bill is not known. */
export function waterfallOf(amounts: Amounts | undefined): readonly WaterfallStep[] | undefined {
  const { wouldBe, actual, summarizer, fetchRounds, brokenCache } = amounts ?? {};
  if (
    wouldBe === undefined ||
    actual === undefined ||
    summarizer === undefined ||
    fetchRounds === undefined ||
    brokenCache === undefined
  )
    return undefined;
  const changes: [TermName, number][] = [
    ['removed', actual - summarizer - fetchRounds - brokenCache - wouldBe],
    ['summarizer', summarizer],
    ['fetches', fetchRounds],
    ['broken_cache', brokenCache],
  ];
  const steps: WaterfallStep[] = [
    { term: 'would_have_been', amount: wouldBe, from: 0, to: wouldBe, isSum: true },
  ];
  for (const [term, amount] of changes) {
    const from = steps.at(-1)?.to ?? 0;
    steps.push({ term, amount, from, to: from + amount, isSum: false });
  }
  return [...steps, { term: 'paid', amount: actual, from: 0, to: actual, isSum: true }];
}

/** What a move has cost, and since when it has saved more than that. */
export interface Payback {
  /** For the cache that it has broken, and for the summary that its request waited for. */
  readonly cache: number;
  readonly summary: number;
  /** Whether it brought a summary that no request waited for, whose price is in neither. */
  readonly isSummaryApart: boolean;
  /** Whether it removed something for the first time: the same array again does not. */
  readonly removesMore: boolean;
  /** The number of the request; null if it has not paid back yet. */
  readonly at: number | null;
}

/**
 * By the number of the move's request. Of what removal has saved in a request, a move has the share
 * of the tokens that it was the first to remove, of all that were removed until then.
 *
 * @param events ascending
 */
export function paybacksOf(events: readonly ListedRun[]): ReadonlyMap<number, Payback> {
  const paybacks = new Map<number, Payback>();
  /** Moves that have not paid back: what is left of their cost. */
  const open: { readonly n: number; readonly tokens: number; left: number }[] = [];
  let removed = 0;
  let earlier: ListedRun | undefined;
  for (const event of events) {
    const { n, observed, frontier } = event;
    const isNew = hasNewSummary(event, earlier);
    earlier = event;
    const amounts = amountsOf(event);
    const { wouldBe, sent, fetchRounds, brokenCache, gross, unique = 0 } = amounts ?? {};
    if (wouldBe === undefined || sent === undefined || fetchRounds === undefined || brokenCache === undefined)
      continue;
    removed = Math.max(removed, gross ?? 0);
    const cost = { cache: brokenCache, summary: amounts?.summarizer ?? 0 };
    if (frontier.moved && !observed && cost.cache + cost.summary > 0) {
      const removesMore = unique > 0;
      paybacks.set(n, { ...cost, isSummaryApart: isNew && cost.summary === 0, removesMore, at: null });
      open.push({ n, tokens: unique, left: cost.cache + cost.summary });
    }
    const saved = wouldBe - (sent - fetchRounds - brokenCache);
    for (const move of open) {
      if (move.left <= 0 || removed === 0) continue;
      move.left -= (saved * move.tokens) / removed;
      const payback = paybacks.get(move.n);
      if (move.left <= 0 && payback) paybacks.set(move.n, { ...payback, at: n });
    }
  }
  return paybacks;
}

/** Whether a request has another summary than the one before it. An observed one has none. */
export function hasNewSummary(event: ListedRun, earlier: ListedRun | undefined): boolean {
  const { observed, summary } = event;
  return !observed && summary !== null && summary.covers[1] !== earlier?.summary?.covers[1];
}

/**
 * What the sum of the requests' savings leaves out: the summaries that no request waited for. The
 * conversation's sums have them.
 *
 * @returns the price of these summaries and the savings less it, in nanodollars; undefined if there
 *   are none, or if the sums are of other requests
 */
export function summariesApart(
  sums: Amounts | undefined,
  events: readonly ListedRun[],
): { readonly price: number; readonly net: number } | undefined {
  if (sums?.net === undefined || events.some(({ observed }) => observed)) return undefined;
  const net = events.reduce((sum, event) => sum + (amountsOf(event)?.net ?? 0), 0);
  const summarizer = events.reduce((sum, event) => sum + (amountsOf(event)?.summarizer ?? 0), 0);
  const price = (sums.summarizer ?? 0) - summarizer;
  return price > 0 && net - price === sums.net ? { price, net: sums.net } : undefined;
}

/** `27 % less`, in the words of somebody who compares two prices. */
export function comparedWith(paid: number, without: number): string {
  if (paid === without || without === 0) return 'the same';
  const share = Math.abs(100 * (1 - paid / without));
  const words = share < 1 ? 'under 1 %' : `${Math.round(share)} %`;
  return `${words} ${paid < without ? 'less' : 'more'}`;
}
