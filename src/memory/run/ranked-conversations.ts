/** Which conversations have cost most in some days, and which more than without Precis. */
import { plus } from '../../lib/sums.ts';
import type { Nanodollars } from '../money/amounts.ts';
import { type NO_DAY_SUMS, paidOf } from './day-sums.ts';

/** Something that has sums of some days. */
interface Summed {
  readonly sums: Readonly<typeof NO_DAY_SUMS>;
}

/**
 * What most of a loss was paid for: summaries, contents that the model fetched, a cache that a move
 * has broken, or what Precis has added to requests (tools, messages) beyond what it removed. A
 * cache that the vendor has not read looks like the last: the bill without Precis reads it.
 */
const LOSS_CAUSES = ['summarizer', 'fetch_rounds', 'broken_cache', 'added'] as const;
export type LossCause = (typeof LOSS_CAUSES)[number];

/** Each as the end of a sentence that begins "because". */
const LOSS_WORDS: Readonly<Record<LossCause, string>> = {
  summarizer: 'summaries cost more than they have saved so far',
  fetch_rounds: 'the model fetched much of what was removed',
  broken_cache: 'an edit broke the provider’s cache and has not paid back yet',
  added:
    'the tools that Precis adds, or a cache that the provider did not read, cost more than its edits have saved',
};

/** Conversations that have cost more. */
export interface Losses {
  readonly conversations: number;
  /** What they have cost more together. */
  readonly amount: Nanodollars;
  /** How many by cause. */
  readonly causes: Readonly<Partial<Record<LossCause, number>>>;
}

export interface LosingConversation<Conversation> {
  readonly conversation: Conversation;
  readonly amount: Nanodollars;
  readonly cause: LossCause;
}

export interface RankedConversations<Conversation> {
  /** Those that have cost most, the dearest first; those without a price by their requests. */
  readonly dearest: readonly Conversation[];
  /** Those that have lost most, the largest loss first. */
  readonly losing: readonly LosingConversation<Conversation>[];
  readonly losses: Losses;
}

export const NO_LOSSES: Losses = { conversations: 0, amount: 0, causes: {} };

/** The causes of losses, with what they mean. */
export function lossReasons({ causes }: Losses) {
  return LOSS_CAUSES.flatMap((cause) => {
    const conversations = causes[cause] ?? 0;
    return conversations > 0 ? [{ cause, conversations, because: LOSS_WORDS[cause] }] : [];
  });
}

/** The order of those that have lost most. */
export function byLoss(one: { readonly amount: number }, other: { readonly amount: number }): number {
  return other.amount - one.amount;
}

/** Reads each conversation once, and keeps few. @param most how many each list has */
export function rankConversations<Conversation extends Summed>(
  all: Iterable<Conversation>,
  most: number,
): RankedConversations<Conversation> {
  const dearest = new Top<Conversation>(most, byCost);
  const losing = new Top<LosingConversation<Conversation>>(most, byLoss);
  let losses = NO_LOSSES;
  for (const conversation of all) {
    dearest.add(conversation);
    const lost = lossOf(conversation.sums);
    if (!lost) continue;
    losing.add({ conversation, ...lost });
    losses = plus<Losses>(losses, { conversations: 1, amount: lost.amount, causes: { [lost.cause]: 1 } });
  }
  return { dearest: dearest.all(), losing: losing.all(), losses };
}

/** What a conversation has cost more than without Precis; undefined if nothing, or not known. */
function lossOf(
  sums: Summed['sums'],
): { readonly amount: Nanodollars; readonly cause: LossCause } | undefined {
  const { would_be, summarizer, fetch_rounds, broken_cache } = sums;
  const amount = (paidOf(sums) ?? 0) - would_be;
  if (amount <= 0) return undefined;
  // What is left of the loss without its other parts; negative where edits have saved something.
  const added = amount - summarizer - fetch_rounds - broken_cache;
  const parts: Readonly<Record<LossCause, number>> = { summarizer, fetch_rounds, broken_cache, added };
  const cause = LOSS_CAUSES.reduce((most, one) => (parts[one] > parts[most] ? one : most));
  return { amount, cause };
}

/** The order of those that have cost most. */
export function byCost({ sums: one }: Summed, { sums: other }: Summed): number {
  return other.sent + other.summarizer - one.sent - one.summarizer || other.requests - one.requests;
}

/** The first of an order. */
class Top<Item> {
  private items: Item[] = [];
  private readonly most: number;
  private readonly order: (one: Item, other: Item) => number;

  constructor(most: number, order: (one: Item, other: Item) => number) {
    this.most = most;
    this.order = order;
  }

  add(item: Item): void {
    this.items.push(item);
    // Sorted now and then, so that a long list costs little.
    if (this.items.length > 8 * this.most) this.items = this.all();
  }

  all(): Item[] {
    return this.items.toSorted(this.order).slice(0, this.most);
  }
}
