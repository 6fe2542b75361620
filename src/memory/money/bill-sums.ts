/** Sums of bills, of a conversation or of a caller (docs/money.md#sums). */
import { plus } from '../../lib/sums.ts';
import type { Nanodollars } from './amounts.ts';
import type { Bill, BillSums, ShownSums } from './bill-schema.ts';

const NONE = { fresh: 0, cached: 0, written: 0, output: 0, amount: 0 };
const NO_SAVING = { tokens: 0, amount: 0 };

export const NO_SUMS: BillSums = {
  requests: 0,
  billed: 0,
  sent: NONE,
  would_be: NONE,
  fetch_rounds: 0,
  broken_cache: 0,
  gross: NO_SAVING,
  unique: NO_SAVING,
  summarizer: 0,
  unpriced: 0,
};

const NAMES = Object.keys(NO_SUMS) as (keyof typeof NO_SUMS)[];

/** What is added up of a bill that is known completely; undefined of any other. */
export function knownAmounts(bill: Bill | null) {
  if (!bill?.sent || !bill.would_be || !bill.gross || !bill.unique) return undefined;
  const { sent, would_be, gross, unique } = bill;
  const { fetch_rounds, broken_cache } = bill.debits;
  if (fetch_rounds === null || broken_cache === null) return undefined;
  return { billed: 1, sent, would_be, fetch_rounds, broken_cache, gross, unique };
}

/** The sums of one request. A bill that is not known completely counts as a request alone. */
export function sumsOf(bill: Bill | null): BillSums {
  const known = knownAmounts(bill);
  return { ...NO_SUMS, requests: 1, ...(known && bill?.about ? { about: 1 } : {}), ...known };
}

/** The sums of one text of the summarizer. @param amount null if its price is not known */
export function summarizerSums(amount: Nanodollars | null): BillSums {
  return amount === null ? { ...NO_SUMS, unpriced: 1 } : { ...NO_SUMS, summarizer: amount };
}

/** Adds up all numbers. */
export function joinSums(one: BillSums, other: BillSums): BillSums {
  const named = (sums: BillSums) => Object.fromEntries(NAMES.map((name) => [name, sums[name]]));
  return {
    ...(plus(named(one), named(other)) as BillSums),
    ...aboutOf((one.about ?? 0) + (other.about ?? 0)),
  };
}

function aboutOf(about: number): Pick<BillSums, 'about'> {
  return about > 0 ? { about } : {};
}

/** The sums as callers read them. Amounts are null where nothing is known of them. */
export function billSumsJson(sums: BillSums): ShownSums {
  const { requests, billed, sent, would_be, gross, unique, fetch_rounds, broken_cache } = sums;
  const summarizer = sums.unpriced > 0 ? null : sums.summarizer;
  const isKnown = billed > 0;
  const actual = isKnown && summarizer !== null ? sent.amount + summarizer : null;
  return {
    unit: 'nanodollars',
    requests,
    billed,
    ...aboutOf(sums.about ?? 0),
    sent: isKnown ? sent : null,
    would_be: isKnown ? would_be : null,
    actual,
    net: actual === null ? null : would_be.amount - actual,
    debits: {
      summarizer: isKnown || sums.summarizer > 0 ? summarizer : null,
      fetch_rounds: isKnown ? fetch_rounds : null,
      broken_cache: isKnown ? broken_cache : null,
    },
    gross: isKnown ? gross : null,
    unique: isKnown ? unique : null,
  };
}
