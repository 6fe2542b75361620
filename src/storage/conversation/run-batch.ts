/**
 * Events of requests on their way from an isolate to the object of their conversation
 * (docs/design.md#run-events). An isolate gathers them (`run-outboxes.ts`), the object keeps them
 * (`run-events.ts`).
 */
import type { PotentialBill } from '../../memory/money/bill-schema.ts';
import type { BillOrder } from '../../memory/money/running-bill.ts';
import type { UnbilledRun } from '../../memory/run/build-event.ts';
import type { ListedRun, RunEvent } from '../../memory/run/event.ts';

/** A request that has ended. */
export interface EndedRun {
  readonly event: UnbilledRun;
  /** Names the caller's array (see `arrayName`). Absent where no mode edits it. */
  readonly array?: string;
  /** Absent if the request is not billed. */
  readonly billing?: BillOrder;
  /** Absent if the request was not observed. */
  readonly potential_bill?: PotentialBill | null;
}

/** An event before its conversation has counted and billed it. */
export interface NewRun extends Omit<EndedRun, 'event'> {
  /** `created_at` of the event. */
  readonly at: number;
  /** JSON of the event without its lists. It is stored as it is. */
  readonly event: string;
  /** Each list in parts: their indices in the batch's `parts`. */
  readonly edits: readonly number[];
  readonly left_out: readonly number[];
}

/** Events of one conversation, in the order in which their answers have ended. */
export interface RunBatch {
  /** Names an isolate, since it began to gather events of this conversation. */
  readonly sender: string;
  /** How many events the sender had gathered before these. */
  readonly from: number;
  /**
   * The place after the last event that it knows to be kept. Those from there to `from` are in
   * batches of their own, or are lost.
   */
  readonly kept: number;
  /** When it was made, in milliseconds since 1970. An old one is not kept. */
  readonly takenAt: number;
  readonly runs: readonly NewRun[];
  /** The entries of each part of a list as JSON, each once. */
  readonly parts: readonly string[];
}

/** One event of a conversation; null if it is not kept. */
export interface FoundRun {
  readonly run: RunEvent | null;
}

/** Events of a conversation, newest first. */
export interface RunPage {
  readonly runs: readonly ListedRun[];
  /** How many were gathered and could not be kept, as far as is known. */
  readonly lost: number;
}

/**
 * Entries of a part. SQLite limits a text to 2 MB, and a part of entries whose tools have the
 * longest names takes 300 kB.
 */
const PART_ENTRIES = 256;

/** An entry of a list: an edit, or a range of messages. */
type Entry = Readonly<Record<string, string | number | null>>;

/**
 * Cuts the lists of one event after the other into parts. An array grows from request to request,
 * and what was edited stays the same, so most parts are those of the event before.
 */
export class ListCutter {
  private list: readonly Entry[] = [];
  private parts: readonly string[] = [];

  /** @returns the entries of each part as JSON */
  cut(list: readonly Entry[]): readonly string[] {
    const before = this.list;
    const parts: string[] = [];
    for (let from = 0; from < list.length; from += PART_ENTRIES) {
      const known = this.parts[parts.length];
      const isKnown = known !== undefined && isSamePart(list, before, from);
      parts.push(isKnown ? known : JSON.stringify(list.slice(from, from + PART_ENTRIES)));
    }
    this.list = list;
    this.parts = parts;
    return parts;
  }
}

function isSamePart(one: readonly Entry[], other: readonly Entry[], from: number): boolean {
  const end = Math.min(from + PART_ENTRIES, one.length);
  if (end !== Math.min(from + PART_ENTRIES, other.length)) return false;
  for (let at = from; at < end; at++) if (!isSameEntry(one[at], other[at])) return false;
  return true;
}

function isSameEntry(one: Entry = {}, other: Entry = {}): boolean {
  for (const name in one) if (one[name] !== other[name]) return false;
  return true;
}
