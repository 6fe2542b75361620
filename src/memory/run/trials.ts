/**
 * A strategy on trial (docs/answers-and-errors.md#on-trial): a share of the conversations is only
 * observed, and all others are sent by the strategy. Sums of both sides, by conversation and
 * together. Pure.
 */
import { plus } from '../../lib/sums.ts';
import type { Bill, PotentialBill } from '../money/bill-schema.ts';
import type { ListedRun } from './event.ts';
import type { MissedWords } from './missed-words.ts';
import { type Moments, NO_MOMENTS, withUnit } from './ratio.ts';

/** What a side has of a conversation and a day. Amounts are nanodollars, all others are counts. */
const NO_TRIAL_SUM = {
  /** Requests that the model has answered. */
  requests: 0,
  /** Tokens of their arrays, and of the views that were sent or would have been. */
  before: 0,
  after: 0,
  /** Requests with a bill, and what they have really cost. */
  billed: 0,
  paid: 0,
  /** Requests whose array and view have a price; what arrays cost, and what views cost less. */
  compared: 0,
  whole: 0,
  saved: 0,
  /** Answers whose near use was looked at, and its words (see `MissedWords`). */
  answers: 0,
  words: 0,
  missed: 0,
};
export type TrialSum = Readonly<typeof NO_TRIAL_SUM>;
export const TRIAL_NAMES = Object.keys(NO_TRIAL_SUM) as readonly (keyof TrialSum)[];

export type TrialSide = 'observed' | 'sent';

/** By side and mode: `observed auto`. */
export type TrialSums = Readonly<Record<string, TrialSum>>;

/** What a request adds to its day (see `DaySums`). */
interface CountedTokens {
  readonly tokens_before: number;
  readonly tokens_sent: number;
  readonly observed_would_be: number;
}

/**
 * What one request adds to its trial; nothing if the model has not answered it. What summaries cost
 * is a sum of the conversation's.
 */
export function trialSumsOf(
  tokens: CountedTokens,
  { mode, kind, status, observed }: Pick<ListedRun, 'mode' | 'kind' | 'status' | 'observed'>,
  bill: Bill | null,
  potential: PotentialBill | null,
  { words, missed }: Partial<MissedWords> = {},
): TrialSums | undefined {
  if (kind !== 'answer' || status >= 400) return undefined;
  const sent = bill?.sent?.amount;
  const whole = observed ? potential?.sent?.amount : bill?.would_be?.amount;
  const view = observed ? potential?.would_be?.amount : sent;
  const isCompared = whole !== undefined && view !== undefined && !(observed && potential?.net === null);
  const sum = {
    ...NO_TRIAL_SUM,
    requests: 1,
    before: tokens.tokens_before,
    after: observed ? tokens.observed_would_be : tokens.tokens_sent,
    ...(sent === undefined ? {} : { billed: 1, paid: sent }),
    ...(isCompared ? { compared: 1, whole, saved: whole - view } : {}),
    ...(words === undefined || missed === undefined ? {} : { answers: 1, words, missed }),
  };
  return { [`${observed ? 'observed' : 'sent'} ${mode}`]: sum };
}

/** What a conversation has of a trial. */
export interface TriedConversation {
  readonly sums: TrialSums;
  /** All of its requests, also on no trial. */
  readonly requests: number;
  /** What its summaries have cost, in nanodollars, and how many have no known price. */
  readonly summarizer: number;
  readonly unpriced: number;
}

/** A side of a trial, over all of its conversations. */
export interface TrialTotal extends TrialSum {
  readonly conversations: number;
  /** What summaries have cost: part of `paid`, and no longer of `saved`. Null: not known. */
  readonly summarizer: number | null;
  /** Of `saved` to `whole`. */
  readonly saving: Moments;
  /** Of conversations that are on this side alone: of `paid` to `billed`, and of requests to 1. */
  readonly cost: Moments;
  readonly length: Moments;
}

export type TrialTotals = Readonly<Record<string, TrialTotal>>;

const NO_TOTAL: TrialTotal = {
  ...NO_TRIAL_SUM,
  conversations: 0,
  summarizer: 0,
  saving: NO_MOMENTS,
  cost: NO_MOMENTS,
  length: NO_MOMENTS,
};

/** Adds up conversations, reading each once. */
export function trialTotals(conversations: Iterable<TriedConversation>): TrialTotals {
  const totals: Record<string, TrialTotal> = {};
  for (const conversation of conversations) {
    const sides = Object.keys(conversation.sums);
    const isMixed = new Set(sides.map(sideOf)).size > 1;
    for (const side of sides)
      totals[side] = withConversation(totals[side] ?? NO_TOTAL, conversation, side, isMixed);
  }
  return totals;
}

export function sideOf(key: string): TrialSide {
  return key.startsWith('observed ') ? 'observed' : 'sent';
}

export function modeOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}

function withConversation(
  total: TrialTotal,
  { sums, requests, summarizer, unpriced }: TriedConversation,
  side: string,
  isMixed: boolean,
): TrialTotal {
  const sum = sums[side];
  if (!sum) return total;
  // Observed requests have no summaries made. Others share what they cost by their number.
  const isSent = sideOf(side) === 'sent';
  const spent = isSent && requests > 0 ? Math.round((summarizer * sum.requests) / requests) : 0;
  const added = { ...sum, paid: sum.paid + spent, saved: sum.saved - spent };
  return {
    ...plus<TrialSum>(total, added),
    conversations: total.conversations + 1,
    summarizer: total.summarizer === null || (isSent && unpriced > 0) ? null : total.summarizer + spent,
    saving: sum.compared > 0 ? withUnit(total.saving, added.saved, added.whole) : total.saving,
    cost: !isMixed && sum.billed > 0 ? withUnit(total.cost, added.paid, added.billed) : total.cost,
    length: isMixed ? total.length : withUnit(total.length, sum.requests, 1),
  };
}
