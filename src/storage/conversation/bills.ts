/**
 * What a conversation has cost, as running sums, so that they outlive the events that they were
 * made of (docs/money.md#sums).
 */
import { Lru } from '../../lib/lru.ts';
import type { Nanodollars } from '../../memory/money/amounts.ts';
import type { BillSums } from '../../memory/money/bill-schema.ts';
import { joinSums, NO_SUMS, summarizerSums } from '../../memory/money/bill-sums.ts';
import type { ConversationTables } from './tables.ts';

/** Texts whose cost is remembered as counted, since a call may be repeated. */
const REMEMBERED_TEXTS = { bytes: 32 * 1024, sizeOf: () => 64 };

export class BillLedger {
  private readonly tables: ConversationTables;
  private readonly ofRequests: () => BillSums;
  private readonly counted = new Lru<true>(REMEMBERED_TEXTS);

  /** @param ofRequests see `RunEvents.sums` */
  constructor(tables: ConversationTables, ofRequests: () => BillSums) {
    this.tables = tables;
    this.ofRequests = ofRequests;
  }

  /** Of all requests, and of all the summarizer's work. */
  sums(): BillSums {
    return joinSums(this.ownSums(), this.ofRequests());
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
    this.tables.set('bill_sums', JSON.stringify(joinSums(this.ownSums(), summarizerSums(cost))));
  }

  /** Of the summarizer's work, and of requests of earlier versions. */
  private ownSums(): BillSums {
    const stored = this.tables.get('bill_sums');
    return stored === null ? NO_SUMS : { ...NO_SUMS, ...(JSON.parse(stored) as Partial<BillSums>) };
  }
}
