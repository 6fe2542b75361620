/**
 * What a conversation has cost, as running sums, so that they outlive the events that they were
 * made of (docs/money.md#sums).
 */
import { Lru } from '../../lib/lru.ts';
import type { Nanodollars } from '../../memory/money/amounts.ts';
import type { Bill, BillSums } from '../../memory/money/bill-schema.ts';
import { joinSums, NO_SUMS, summarizerSums, sumsOf } from '../../memory/money/bill-sums.ts';
import { type BillOrder, type BillStanding, nextBill } from '../../memory/money/running-bill.ts';
import type { ConversationTables } from './tables.ts';

/** Texts whose cost is remembered as counted, since a call may be repeated. */
const REMEMBERED_TEXTS = { bytes: 32 * 1024, sizeOf: () => 64 };

export class BillLedger {
  private readonly tables: ConversationTables;
  private readonly counted = new Lru<true>(REMEMBERED_TEXTS);

  constructor(tables: ConversationTables) {
    this.tables = tables;
  }

  sums(): BillSums {
    const stored = this.tables.get('bill_sums');
    return stored === null ? NO_SUMS : { ...NO_SUMS, ...(JSON.parse(stored) as Partial<BillSums>) };
  }

  /**
   * The bill of a request, which is added to the sums.
   *
   * @param at when it came, in milliseconds since 1970
   */
  add(order: BillOrder, at: number): Bill | null {
    const { bill, standing } = nextBill(this.standing(), order, at);
    this.save(sumsOf(bill));
    if (standing) this.tables.set('bill_standing', JSON.stringify(standing));
    return bill;
  }

  /**
   * Adds what a text of the summarizer has cost, once. Something must be stored: the cost of a
   * deleted conversation would bring it back.
   *
   * @param text names it
   * @param cost see `Written`
   */
  spend(text: string, cost: Nanodollars | null | undefined): void {
    if (cost === undefined || cost === 0 || this.counted.get(text)) return;
    this.counted.set(text, true);
    this.save(summarizerSums(cost));
  }

  private save(more: BillSums): void {
    this.tables.set('bill_sums', JSON.stringify(joinSums(this.sums(), more)));
  }

  private standing(): BillStanding | null {
    return JSON.parse(this.tables.get('bill_standing') ?? 'null');
  }
}
