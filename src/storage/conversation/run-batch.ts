/**
 * Events of requests on their way from an isolate (`run-outboxes.ts`) to the object of their
 * conversation (`run-events.ts`). See docs/design.md#run-events.
 */

import type { BillOrder } from '../../memory/money/bill.ts';
import type { PotentialBill } from '../../memory/money/bill-schema.ts';
import type { UnbilledRun } from '../../memory/run/build-event.ts';
import type { ComparedRequest } from '../../memory/run/followed.ts';
import type { MissedWords } from '../../memory/run/missed-words.ts';

/** A request that has ended. */
export interface EndedRun {
  readonly event: UnbilledRun;
  /** Names the caller's array (see `arrayName`). Absent where no mode edits it. */
  readonly array?: string;
  /** Absent if the request is not billed. */
  readonly billing?: BillOrder;
  /** What shows why its answer read less from the cache. Absent where no mode edits it. */
  readonly compared?: ComparedRequest;
  /** Absent if the request was not observed. */
  readonly potential_bill?: PotentialBill | null;
  /** Present if its conversation is on a side of a trial: what its view would have lacked. */
  readonly trial?: Partial<MissedWords>;
}

/** An event before its conversation has counted and billed it. */
export interface NewRun extends Omit<EndedRun, 'event'> {
  /** `created_at` of the event. */
  readonly at: number;
  /** JSON of the event without its lists. It is stored as it is. */
  readonly event: string;
  /** Each list in parts, each part as JSON. */
  readonly edits: readonly string[];
  readonly left_out: readonly string[];
}

/** Events of one conversation that are kept together, or not at all. */
export interface RunBatch {
  /** Random. The conversation keeps the batch once, however often it comes. */
  readonly key: string;
  readonly runs: readonly NewRun[];
}

/**
 * Entries of a part. SQLite limits a text to 2 MB, and a part of entries whose tools have the
 * longest names takes 300 kB.
 */
const PART_ENTRIES = 256;

/** What a row has of an event beside its text: two bills at most, and the names of members. */
const BESIDE_TEXT_BYTES = 1_536;

/** A part of a list is named by its hash, in JSON. */
const NAME_BYTES = 67;

const utf8 = new TextEncoder();

/** An event as it is sent. */
export function newRun({ event, ...rest }: EndedRun): NewRun {
  const { edits, left_out, ...facts } = event;
  const text = JSON.stringify(facts);
  return { ...rest, at: event.created_at, event: text, edits: partsOf(edits), left_out: partsOf(left_out) };
}

/** About what an event takes in its row, and its lists beside it. */
export function bytesOf({ event, edits, left_out, compared }: NewRun): number {
  const parts = [...edits, ...left_out].reduce((sum, part) => sum + NAME_BYTES + part.length, 0);
  return BESIDE_TEXT_BYTES + utf8.encode(event).length + (compared?.prefix.messages.length ?? 0) + parts;
}

function partsOf(list: readonly object[]): string[] {
  const parts: string[] = [];
  for (let from = 0; from < list.length; from += PART_ENTRIES)
    parts.push(JSON.stringify(list.slice(from, from + PART_ENTRIES)));
  return parts;
}
