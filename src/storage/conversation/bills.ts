/**
 * What a conversation has cost, as running sums, so that they outlive the events that they were
 * made of (docs/money.md#sums).
 */
import { dayOf } from '../../lib/utc-time.ts';
import type { Nanodollars } from '../../memory/money/amounts.ts';
import type { BillSums } from '../../memory/money/bill-schema.ts';
import { joinSums, NO_SUMS, summarizerSums } from '../../memory/money/bill-sums.ts';
import { daySumsOfText, joinRemembered, type SumsByDay, withDay } from '../../memory/run/day-sums.ts';
import type { ConversationTables } from './tables.ts';

interface BillLedgerPorts {
  /** See `RunEvents`. */
  readonly requests: { sums(): BillSums; days(): SumsByDay };
  /** Called when a text has cost something. */
  readonly spent: () => void;
}

export class BillLedger {
  private readonly tables: ConversationTables;
  private readonly ports: BillLedgerPorts;

  constructor(tables: ConversationTables, ports: BillLedgerPorts) {
    this.tables = tables;
    this.ports = ports;
  }

  /** Of all requests, and of all the summarizer's work. */
  sums(): BillSums {
    return joinSums(this.ownSums(), this.ports.requests.sums());
  }

  /**
   * Of the newest days, each completely: a request counts when it came, and a text when it was
   * written.
   */
  days(): SumsByDay {
    return joinRemembered(this.ownSums().days, this.ports.requests.days());
  }

  /**
   * Adds what a text of the summarizer has cost. Something must be stored: the cost of a deleted
   * conversation would bring it back.
   *
   * @param cost undefined: nothing was called; null: the price is not known
   */
  spend(cost: Nanodollars | null | undefined): void {
    if (cost === undefined || cost === 0) return;
    const own = this.ownSums();
    const days = withDay(own.days, dayOf(this.tables.now()), daySumsOfText(cost));
    this.tables.set('bill_sums', { ...joinSums(own, summarizerSums(cost)), days });
    this.ports.spent();
  }

  /** Of the summarizer's work. */
  private ownSums(): BillSums & { readonly days: SumsByDay } {
    return { ...NO_SUMS, days: {}, ...this.tables.get('bill_sums') };
  }
}
