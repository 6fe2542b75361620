/**
 * What requests saved, net, where the deployment says so. Amounts come in nanodollars and leave in
 * dollars; what is not known stays so, and is never 0.
 */

export const NANODOLLARS = 1_000_000_000;

/** The bill of a request, or the sums of a conversation's bills, in dollars. */
interface Bill extends Omit<Amounts, 'sent'> {
  /** Whether cache writes are estimated. */
  readonly isAbout: boolean;
}

/** Something that may have a bill: an event, or a conversation in the list. */
export type Billed = object & { readonly bill?: unknown };

/** The bill; undefined if there is none, or none in a unit that is known here. */
export function billOf(billed: Billed): Bill | undefined {
  const amounts = amountsOf(billed);
  if (!amounts) return undefined;
  const { actual, wouldBe, net, summarizer, fetchRounds, brokenCache, gross, unique } = amounts;
  return {
    actual: amount(actual),
    wouldBe: amount(wouldBe),
    net: amount(net),
    summarizer: amount(summarizer),
    fetchRounds: amount(fetchRounds),
    brokenCache: amount(brokenCache),
    gross,
    unique,
    isAbout: membersOf(billed.bill).about !== undefined,
  };
}

/** A bill in nanodollars; undefined where it is not known. */
export interface Amounts {
  /** What was paid, and what the caller's whole array would have cost. */
  readonly actual: number | undefined;
  readonly wouldBe: number | undefined;
  /** The difference: negative for a loss. */
  readonly net: number | undefined;
  /** What was paid without the summarizer. */
  readonly sent: number | undefined;
  /** What is on the debit side; a part of what was paid. */
  readonly summarizer: number | undefined;
  readonly fetchRounds: number | undefined;
  readonly brokenCache: number | undefined;
  /** In tokens: removed in each request, and removed for the first time. */
  readonly gross: number | undefined;
  readonly unique: number | undefined;
}

/** Undefined if there is no bill, or none in a unit that is known here. */
export function amountsOf({ bill }: Billed): Amounts | undefined {
  const { unit, actual, net, sent, would_be: wouldBe, debits, gross, unique } = membersOf(bill);
  if (unit !== 'nanodollars') return undefined;
  const { summarizer, fetch_rounds: rounds, broken_cache: broken } = membersOf(debits);
  return {
    wouldBe: number(membersOf(wouldBe).amount),
    net: number(net),
    sent: number(membersOf(sent).amount),
    actual: number(actual),
    summarizer: number(summarizer),
    fetchRounds: number(rounds),
    brokenCache: number(broken),
    gross: number(membersOf(gross).tokens),
    unique: number(membersOf(unique).tokens),
  };
}

export function inDollars(nanodollars: number): number {
  return nanodollars / NANODOLLARS;
}

/**
 * What an observed request would have saved, with both sides of it, in dollars. Undefined if it was
 * not observed, or has no price.
 */
export function potentialBillOf({
  potential_bill: bill,
}: {
  readonly potential_bill?: unknown;
}): (Pick<Bill, 'wouldBe' | 'net'> & Pick<Amounts, 'sent'>) | undefined {
  const { unit, sent, would_be: wouldBe, net } = membersOf(bill);
  if (unit !== 'nanodollars') return undefined;
  return {
    sent: amount(membersOf(sent).amount),
    wouldBe: amount(membersOf(wouldBe).amount),
    net: amount(net),
  };
}

/** What observed requests have cost and would have cost, where both are known. */
export function potentialSums(
  events: readonly { readonly potential_bill?: unknown }[],
): { readonly sent: number; readonly wouldBe: number; readonly known: number } | undefined {
  const known = events.flatMap((event) => {
    const { sent, wouldBe } = potentialBillOf(event) ?? {};
    return sent === undefined || wouldBe === undefined ? [] : [{ sent, wouldBe }];
  });
  if (known.length === 0) return undefined;
  const sum = (of: 'sent' | 'wouldBe'): number => known.reduce((total, one) => total + one[of], 0);
  return { sent: sum('sent'), wouldBe: sum('wouldBe'), known: known.length };
}

/** Net savings in dollars; undefined if they are not known. */
export function netOf(billed: Billed): number | undefined {
  return billOf(billed)?.net;
}

/**
 * Net savings of a conversation by its sums, which have what no single request paid for, and of how
 * many requests they are known.
 */
export function netOfSums(sums: Billed): { readonly net: number | undefined; readonly known: number } {
  return { net: netOf(sums), known: number(membersOf(sums.bill).billed) ?? 0 };
}

/** A request, as far as it says why it has no price. */
interface Answered extends Billed {
  readonly status: number;
  readonly usage: { readonly input: number | null; readonly cached: number | null } | null;
}

/** Why the cost of a conversation is not known, at the end of a sentence. */
export function whyUnknown(events: readonly Answered[], sums: Amounts | undefined): string {
  if (sums?.sent !== undefined) return 'a summary has no known cost.';
  const answered = events.filter(({ status }) => status < 400);
  if (answered.length === 0) return 'no request has an answer from the model.';
  if (answered.every(({ bill }) => bill == null)) return 'the model, its tier or its cache has no price.';
  const counted = answered.flatMap(({ usage }) => (usage?.input == null ? [] : [usage]));
  if (counted.length === 0)
    return 'the upstream reported no usage. A chat stream has one with "stream_options": {"include_usage": true}.';
  const did = counted.some(({ cached }) => cached === null) ? 'read from' : 'wrote to';
  return `the upstream does not report what it ${did} its cache.`;
}

function amount(value: unknown): number | undefined {
  const nanodollars = number(value);
  return nanodollars === undefined ? undefined : inDollars(nanodollars);
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Readonly<Record<string, unknown>>;
}
