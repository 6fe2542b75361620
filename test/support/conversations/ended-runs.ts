/** Events as an isolate hands them over to their conversation. */
import { utcTimeOf } from '../../../src/lib/utc-time.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import type { BillOrder } from '../../../src/memory/money/bill.ts';
import type { UnbilledRun } from '../../../src/memory/run/build-event.ts';
import { type EndedRun, newRun, type RunBatch } from '../../../src/storage/conversation/run-batch.ts';

/** What is reported of a request beside its event. */
type Rest = Partial<Omit<EndedRun, 'event'>>;

/** A request with some fields of its event. */
export function endedRun(fields: Partial<UnbilledRun> = {}, rest: Rest = {}): EndedRun {
  const event: UnbilledRun = {
    object: 'memory.request',
    request_id: null,
    created_at: 1_700_000_000_000,
    protocol: 'chat',
    kind: 'answer',
    model: 'gpt-4.1',
    stream: false,
    mode: 'compact',
    source: 'request',
    observed: false,
    messages: 10,
    tokens: null,
    trigger: 'none',
    frontier: { unit: 0, moved: false },
    refused: [],
    edits: [],
    left_out: [],
    summary: null,
    injection_tokens: null,
    dropped_thinking_blocks: 0,
    kept_rounds: [],
    retrieval_rounds: 0,
    warnings: [],
    ms: { plan: 1, store: null, summary: null, upstream: 2, first_byte: 3, total: 4 },
    usage: null,
    view_cached: null,
    placeholders: null,
    status: 200,
    ended: 'complete',
    error: null,
    ...fields,
  };
  return { event, ...rest };
}

/** What a conversation adds to an event that has no bill, and follows from no other. */
export const NOTHING_FOUND = {
  bill: null,
  potential_bill: null,
  cache_miss: null,
  reasoning_dropped: null,
};

/** A batch of its own. */
export function batchOf(...runs: EndedRun[]): RunBatch {
  return { key: crypto.randomUUID(), runs: runs.map(newRun) };
}

/** What the bill of a request needs whose view is half of its array. */
export const BILL_ORDER: BillOrder = {
  schedule: scheduleOf('gpt-4.1', utcTimeOf(new Date('2026-10-10'))) ?? null,
  calls: [{ input: 20_000, cached: 17_920, cache_writes: null, output: 500 }],
  isEdited: true,
  added: 0,
  tools: 0,
  view: { before: 40_000, after: 20_000, repeated: 38_000 },
  moved: false,
  summarizer: 0,
};
