/** Events that an isolate gathers: when they are sent, how often, and what is lost. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunBatch } from '../../../src/storage/conversation/run-batch.ts';
import { RunOutboxes } from '../../../src/storage/conversation/run-outboxes.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';
import { endedRun } from '../../support/conversations/ended-runs.ts';

const tenant = new Tenants('a-secret-for-tests-only').ofToken('sk-a-caller-whose-events-are-gathered');
const BATCH_MS = TIME_LIMITS.eventBatchMs;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The isolate's outboxes, before objects that keep events as the real ones do. */
function isolate() {
  const kept: Record<string, number[]> = {};
  const places: Record<string, number> = {};
  const calls: { name: string; at: number; batches: readonly RunBatch[] }[] = [];
  const lost: number[] = [];
  /** What the next calls do: the answer of a call may be lost after its work. */
  const fates: ('fails' | 'answer is lost' | 'hangs')[] = [];
  let untold = 0;
  const keep = async (name: string, batches: readonly RunBatch[]): Promise<void> => {
    calls.push({ name, at: Date.now(), batches });
    const fate = fates.shift();
    if (fate === 'fails') throw new Error('the object is down');
    if (fate === 'hangs') return new Promise(() => undefined);
    for (const { sender, from, kept: known, runs } of batches) {
      const place = places[sender] ?? known;
      if (from < place) continue;
      untold += from - place;
      places[sender] = from + runs.length;
      kept[name] = [...(kept[name] ?? []), ...runs.map(({ event }) => JSON.parse(event).messages as number)];
    }
    if (fate === 'answer is lost') throw new Error('the connection broke');
  };
  const metrics = new Metrics();
  vi.spyOn(metrics, 'count').mockImplementation((_, __, by = 1) => void lost.push(by));
  const outboxes = new RunOutboxes({ keep, metrics, log: () => undefined });
  const waited: Promise<unknown>[] = [];
  const waitUntil = (work: Promise<unknown>): void => void waited.push(work);
  let n = 0;
  const add = (name = 'c', fields: Parameters<typeof endedRun>[0] = {}) => {
    outboxes.add(tenant, `${tenant.id}::${name}`, endedRun({ messages: ++n, ...fields }), waitUntil);
    return n;
  };
  const ofConversation = (name = 'c') => kept[`${tenant.id}::${name}`] ?? [];
  return {
    outboxes,
    add,
    kept: ofConversation,
    calls,
    lost: () => lost.reduce((sum, by) => sum + by, 0),
    told: () => untold,
    fates,
    waited,
  };
}

describe('the events of a conversation', () => {
  it('go at once where none went within the last two seconds', async () => {
    const { add, kept, calls } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(0);
    expect(kept()).toEqual([1]);
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    add();
    await vi.advanceTimersByTimeAsync(0);
    expect(kept()).toEqual([1, 2]);
    expect(calls).toHaveLength(2);
  });

  it('go together two seconds after the last call, and only their first request waits', async () => {
    const { add, kept, calls, waited } = isolate();
    for (let n = 0; n < 10; n++) {
      add();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(kept()).toEqual([1]);
    expect(waited).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(BATCH_MS - 1_000);

    expect(kept()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(calls.map(({ batches }) => batches.map(({ runs }) => runs.length))).toEqual([[1], [9]]);
    await Promise.all(waited);
  });

  it('go at once where they are read', async () => {
    const { add, kept, outboxes, calls } = isolate();
    for (const name of ['c', 'c', 'd', 'd']) add(name);
    await vi.advanceTimersByTimeAsync(10);
    add('c');
    await outboxes.settled(`${tenant.id}::c`);
    expect([kept('c'), kept('d')]).toEqual([
      [1, 2, 5],
      [3, 4],
    ]);
    add('c');
    add('d');
    await outboxes.settled(tenant.id);
    expect([kept('c'), kept('d')]).toEqual([
      [1, 2, 5, 6],
      [3, 4, 7],
    ]);

    const before = calls.length;
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect(calls).toHaveLength(before);
  });

  it('name each list once, however many of them have it', async () => {
    const { add, calls } = isolate();
    const edit = {
      kind: 'output' as const,
      call: -1,
      reason: 'r',
      tool: 't',
      ref: null,
      tokens: 9,
      freed: 8,
    };
    const edits = () => Array.from({ length: 300 }, (_, message) => ({ message, ...edit }));
    add();
    await vi.advanceTimersByTimeAsync(0);
    for (let n = 0; n < 5; n++) add('c', { edits: edits() });
    add('c', { edits: [...edits(), { message: 300, ...edit }] });
    await vi.advanceTimersByTimeAsync(BATCH_MS);

    const [batch] = calls[1]?.batches ?? [];
    expect(batch?.parts).toHaveLength(3);
    expect(batch?.runs.map((run) => run.edits.length)).toEqual([2, 2, 2, 2, 2, 2]);
    expect(new Set(batch?.runs.map((run) => run.edits[0])).size).toBe(1);
  });

  it('of a deletion are dropped', async () => {
    const { add, kept, outboxes, lost } = isolate();
    for (const name of ['c', 'd']) add(name);
    await vi.advanceTimersByTimeAsync(0);
    for (const name of ['c', 'd']) add(name);
    expect(await outboxes.drop(`${tenant.id}::c`, Date.now())).toBe(true);
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect([kept('c'), kept('d')]).toEqual([[1], [2, 4]]);
    add('c');
    expect(await outboxes.drop(tenant.id, Date.now())).toBe(true);
    expect(await outboxes.drop(tenant.id, Date.now())).toBe(false);
    add('c');
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect(kept('c')).toEqual([1, 6]);
    expect(lost()).toBe(0);
  });

  it('stay where their request came after the deletion began', async () => {
    const { add, outboxes, kept, told, lost } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(0);
    const began = Date.now();
    add('c', { created_at: began });
    add('c', { created_at: began + 1 });
    await outboxes.drop(`${tenant.id}::c`, began);
    add('c', { created_at: began + 2 });
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect(kept()).toEqual([1, 3, 4]);
    expect([told(), lost()]).toEqual([0, 0]);
  });

  it('are those that a reader of it asks for, and no others', async () => {
    const { add, outboxes, calls } = isolate();
    const names = [...Array.from({ length: 20 }, (_, n) => `${n}`), 'c', 'c:d'];
    for (const name of names) add(name);
    await vi.advanceTimersByTimeAsync(0);
    for (const name of names) add(name);
    const before = calls.length;
    await outboxes.settled(`${tenant.id}::c`);
    expect(calls.slice(before).map(({ name }) => name)).toEqual([`${tenant.id}::c`]);
  });

  it('of all conversations of a tenant are sent a few at a time, for a second', async () => {
    const { add, outboxes, calls, fates } = isolate();
    for (let n = 0; n < 20; n++) add(`${n}`);
    await vi.advanceTimersByTimeAsync(0);
    for (let n = 0; n < 20; n++) add(`${n}`);
    const before = calls.length;
    fates.push(...Array(20).fill('hangs' as const));
    const settled = outboxes.settled(tenant.id);
    await vi.advanceTimersByTimeAsync(TIME_LIMITS.keptEventsMs);
    await settled;
    expect(calls.length - before).toBe(6);
  });
});

describe('where the object does not answer', () => {
  it.each(['fails', 'answer is lost', 'hangs'] as const)(
    '(%s) a batch is sent again, and kept once',
    async (fate) => {
      const { add, kept, fates, lost } = isolate();
      fates.push(fate);
      add();
      await vi.advanceTimersByTimeAsync(500);
      add();
      await vi.advanceTimersByTimeAsync(TIME_LIMITS.keepEventMs + 2 * BATCH_MS);

      expect(kept()).toEqual([1, 2]);
      expect(lost()).toBe(0);
    },
  );

  it('events are lost after ten seconds, are counted, and their conversation is told', async () => {
    const { add, kept, fates, lost, told } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    fates.push(...Array(20).fill('fails' as const));
    add();
    await vi.advanceTimersByTimeAsync(TIME_LIMITS.eventGiveUpMs - BATCH_MS - 1);
    expect(lost()).toBe(0);
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect([kept(), lost()]).toEqual([[1], 1]);
    fates.splice(0);

    add();
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect([kept(), lost(), told()]).toEqual([[1, 3], 1, 1]);
  });

  it('what waits is bounded, and the rest is lost', async () => {
    const { add, fates, lost, calls, kept, told } = isolate();
    fates.push('hangs');
    add();
    await vi.advanceTimersByTimeAsync(0);
    for (let n = 0; n < 1_000; n++) add();
    expect(calls).toHaveLength(1);
    expect(lost()).toBe(600);

    await vi.advanceTimersByTimeAsync(TIME_LIMITS.keepEventMs + 10 * BATCH_MS);
    add();
    await vi.advanceTimersByTimeAsync(10 * BATCH_MS);
    expect(kept()).toHaveLength(402);
    expect(told()).toBe(600);
  });

  it('a request that was cut off leaves its events to a later one', async () => {
    const { add, kept } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(0);
    add();
    // Its timer never fires.
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(BATCH_MS + TIME_LIMITS.keepEventMs + TIME_LIMITS.cutOffMs + 1);
    expect(kept()).toEqual([1]);
    add('another conversation');
    await vi.advanceTimersByTimeAsync(0);
    expect(kept()).toEqual([1, 2]);
  });

  it.each(['hangs', 'fails'] as const)('(%s) nothing that is old is ever sent', async (fate) => {
    const { add, fates, calls, lost } = isolate();
    fates.push(fate);
    add();
    await vi.advanceTimersByTimeAsync(0);
    add();
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(3_600_000);
    add('another conversation');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls.filter(({ name }) => name.endsWith('::c'))).toHaveLength(1);
    expect(lost()).toBe(2);
  });

  it('a call of a request that was cut off keeps no reader waiting', async () => {
    const { add, fates, kept, lost, outboxes } = isolate();
    fates.push('hangs');
    add();
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    const sentAt = Date.now();
    const early = outboxes.settled(`${tenant.id}::c`);
    await vi.advanceTimersByTimeAsync(TIME_LIMITS.keptEventsMs);
    await early;
    expect(kept()).toEqual([]);
    await vi.advanceTimersByTimeAsync(sentAt + TIME_LIMITS.keepEventMs - Date.now());
    await outboxes.settled(`${tenant.id}::c`);
    expect([kept(), lost()]).toEqual([[1], 0]);
  });

  it('readers hurry no call after a failure', async () => {
    const { add, fates, lost, kept, calls, outboxes } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(0);
    fates.push('fails', 'fails');
    add();
    const before = calls.length;
    for (let reads = 0; reads < 20; reads++) {
      await outboxes.settled(tenant.id);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(calls.length - before).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect([lost(), kept()]).toEqual([0, [1, 2]]);
  });

  it('no number of bytes hurries a call after a failure', async () => {
    const { add, fates, calls } = isolate();
    const large = { warnings: ['w'.repeat(100_000)] };
    fates.push(...Array(100_000).fill('fails' as const));
    for (let n = 0; n < 60; n++) add(`${n}`, large);
    for (let n = 0; n < 400; n++) {
      await vi.advanceTimersByTimeAsync(20);
      add(`${n % 60}`, large);
    }
    for (let n = 0; n < 60; n++) {
      const times = calls.filter(({ name }) => name.endsWith(`::${n}`)).map(({ at }) => at);
      expect(times.length).toBeGreaterThan(1);
      for (const [at, time] of times.entries())
        if (at > 0) expect(time - (times[at - 1] ?? 0)).toBeGreaterThanOrEqual(BATCH_MS);
    }
  });
});

describe('a batch that is full', () => {
  it.each<[string, number, Parameters<typeof endedRun>[0]]>([
    ['in number', 400, {}],
    ['in bytes', 105, { warnings: ['w'.repeat(9_000)] }],
    ['in bytes of UTF-8', 105, { warnings: ['の'.repeat(3_000)] }],
  ])('%s goes before two seconds are over', async (_, count, fields) => {
    const { add, kept, lost } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(0);
    for (let n = 0; n < count; n++) add('c', fields);
    add();
    await vi.advanceTimersByTimeAsync(10);
    expect(kept().length).toBeGreaterThan(count);
    expect(lost()).toBe(0);
  });

  it('of all conversations together goes before two seconds are over', async () => {
    const { add, calls, kept } = isolate();
    const large = { warnings: ['w'.repeat(100_000)] };
    for (let n = 0; n < 60; n++) add(`${n}`);
    await vi.advanceTimersByTimeAsync(0);
    for (let n = 0; n < 60; n++) add(`${n}`, large);
    await vi.advanceTimersByTimeAsync(10);

    const early = calls.length - 60;
    expect(early).toBeGreaterThan(10);
    expect(early).toBeLessThan(30);
    await vi.advanceTimersByTimeAsync(BATCH_MS);
    for (let n = 0; n < 60; n++) expect(kept(`${n}`)).toHaveLength(2);
  });
});

it('whatever fails, each event is kept once and in order, or counted as lost', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), to: fc.constantFrom('c', 'd') }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(3_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('break' as const),
        fate: fc.constantFrom('fails' as const, 'answer is lost' as const, 'hangs' as const),
      }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { add, outboxes, kept, fates, lost, told, calls } = isolate();
      const added: Record<string, number[]> = { c: [], d: [] };
      const reads: Promise<void>[] = [];
      for (const one of steps) {
        if (one.do === 'add') added[one.to]?.push(add(one.to));
        else if (one.do === 'wait') await vi.advanceTimersByTimeAsync(one.ms);
        else if (one.do === 'break') fates.push(one.fate);
        else reads.push(outboxes.settled(tenant.id));
      }
      await vi.advanceTimersByTimeAsync(120_000);
      for (const name of ['c', 'd']) {
        const all = added[name] ?? [];
        const own = kept(name);
        expect(new Set(own).size).toBe(own.length);
        expect(own).toEqual(all.filter((n) => own.includes(n)));
      }
      const missing = Object.values(added).flat().length - kept('c').length - kept('d').length;
      // What was kept, and whose answers were lost, is counted as lost too.
      expect(lost()).toBeGreaterThanOrEqual(missing);
      if (!steps.some((one) => one.do === 'break')) expect([missing, lost()]).toEqual([0, 0]);
      // The next batch tells each conversation what it lacks, to the event.
      fates.splice(0);
      for (const name of ['c', 'd']) add(name);
      await vi.advanceTimersByTimeAsync(BATCH_MS);
      expect(told()).toBe(missing);
      if (steps.some((one) => one.do === 'read' || one.do === 'break')) return;
      for (const name of ['c', 'd']) {
        const times = calls.filter((call) => call.name.endsWith(name)).map(({ at }) => at);
        for (const [at, time] of times.entries())
          if (at > 0) expect(time - (times[at - 1] ?? 0)).toBeGreaterThanOrEqual(BATCH_MS);
      }
    }),
    { numRuns: 100 },
  );
});
