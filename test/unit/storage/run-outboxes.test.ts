/** Events that an isolate sends: in which calls, how often, and what is lost. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunBatch } from '../../../src/storage/conversation/run-batch.ts';
import { RunOutboxes } from '../../../src/storage/conversation/run-outboxes.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';
import { endedRun } from '../../support/conversations/ended-runs.ts';
import { forAllAsync } from '../../support/laws/runs.ts';

const tenant = new Tenants('a-secret-for-tests-only').ofToken('sk-a-caller-whose-events-are-sent');

/** Until a call is under way. An object takes it 5 ms later. */
const SENT_MS = TIME_LIMITS.gatherEventsMs + 1;
const KEPT_MS = SENT_MS + 9;

/** What a call takes at most, with its second try. */
const LONGEST_MS = TIME_LIMITS.gatherEventsMs + 2 * TIME_LIMITS.keepEventMs + TIME_LIMITS.eventPauseMs;

type Fate = 'fails' | 'answer is lost' | 'hangs' | 'comes late';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The isolate's outboxes, before objects that keep a batch once, as the real ones do. */
function isolate() {
  const kept: Record<string, number[]> = {};
  const known = new Set<string>();
  const calls: { name: string; batch: RunBatch }[] = [];
  const logged: { message: string; fields: object | undefined }[] = [];
  /** What the next calls do. */
  const fates: Fate[] = [];
  let lost = 0;
  const store = (name: string, { key, runs }: RunBatch) => {
    if (known.has(key)) return;
    known.add(key);
    kept[name] = [...(kept[name] ?? []), ...runs.map(({ event }) => JSON.parse(event).messages as number)];
  };
  const keep = async (name: string, batch: RunBatch): Promise<void> => {
    calls.push({ name, batch });
    const fate = fates.shift();
    if (fate === 'fails') throw new Error('the object is down');
    if (fate === 'hangs') return new Promise(() => undefined);
    // Later than the second try.
    if (fate === 'comes late') await new Promise((resolve) => setTimeout(resolve, 7_000));
    await new Promise((resolve) => setTimeout(resolve, 5));
    store(name, structuredClone(batch));
    if (fate === 'answer is lost') throw new Error('the connection broke');
  };
  const metrics = new Metrics();
  vi.spyOn(metrics, 'count').mockImplementation((name, _, by = 1) => {
    expect(name).toBe('precis_events_lost_total');
    lost += by;
  });
  const log = (_: string, message: string, fields?: object) => void logged.push({ message, fields });
  const outboxes = new RunOutboxes({ keep, metrics, log });
  const waited: Promise<unknown>[] = [];
  const waitUntil = (work: Promise<unknown>): void => void waited.push(work);
  let n = 0;
  const add = (name = 'c', fields: Parameters<typeof endedRun>[0] = {}) => {
    outboxes.add(tenant, `${tenant.id}::${name}`, endedRun({ messages: ++n, ...fields }), waitUntil);
    return n;
  };
  const sizes = (name = 'c') =>
    calls.filter((call) => call.name.endsWith(`::${name}`)).map(({ batch }) => batch.runs.length);
  return {
    outboxes,
    add,
    kept: (name = 'c') => kept[`${tenant.id}::${name}`] ?? [],
    calls,
    sizes,
    lost: () => lost,
    logged,
    fates,
    waited,
  };
}

describe('the events of a conversation', () => {
  it('go after their answer, each in a call of its own where none waits', async () => {
    const { add, kept, sizes, calls } = isolate();
    add();
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    add();
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect([kept(), sizes()]).toEqual([
      [1, 2],
      [1, 1],
    ]);
    expect(new Set(calls.map(({ batch }) => batch.key)).size).toBe(2);
  });

  it('gather while a call is under way, and then go together, sent by the first request', async () => {
    const { add, kept, sizes, waited } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(SENT_MS);
    for (let n = 0; n < 9; n++) add();
    expect(waited).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect([kept(), sizes()]).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      [1, 9],
    ]);
    await Promise.all(waited);
  });

  it('keep the isolate until they are kept', async () => {
    const { add, fates, waited } = isolate();
    fates.push('hangs');
    add();
    const ended = vi.fn();
    void waited[0]?.then(ended);
    await vi.advanceTimersByTimeAsync(LONGEST_MS - TIME_LIMITS.keepEventMs);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect(ended).toHaveBeenCalledOnce();
  });

  it('go at once for a reader, and are kept when it has waited for them', async () => {
    const { add, kept, outboxes } = isolate();
    for (const name of ['c', 'c', 'd']) add(name);
    await vi.advanceTimersByTimeAsync(SENT_MS);
    add('c');
    add('d');
    const settled = outboxes.settled(`${tenant.id}::c`).then(() => kept('c'));
    await vi.advanceTimersByTimeAsync(10);
    expect(await settled).toEqual([1, 2, 4]);
    add('c');
    add('d');
    const all = outboxes.settled(tenant.id).then(() => [kept('c'), kept('d')]);
    await vi.advanceTimersByTimeAsync(10);
    expect(await all).toEqual([
      [1, 2, 4, 6],
      [3, 5, 7],
    ]);
  });

  it('keep a reader waiting for a second at most', async () => {
    const { add, fates, outboxes } = isolate();
    fates.push('hangs');
    add();
    const settled = outboxes.settled(tenant.id);
    await vi.advanceTimersByTimeAsync(TIME_LIMITS.keptEventsMs);
    await settled;
  });

  it('have their lists in parts', async () => {
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
    const edits = Array.from({ length: 300 }, (_, message) => ({ message, ...edit }));
    add('c', { edits });
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    const [run] = calls[0]?.batch.runs ?? [];
    expect(run?.edits).toHaveLength(2);
    expect(run?.edits.flatMap((part) => JSON.parse(part))).toEqual(edits);
    expect(JSON.parse(run?.event ?? '')).not.toHaveProperty('edits');
  });

  it.each<[string, Parameters<typeof endedRun>[0]]>([
    ['in bytes', { warnings: ['w'.repeat(9_000)] }],
    ['in bytes of UTF-8', { warnings: ['の'.repeat(3_000)] }],
  ])('go in two calls, one after the other, where one is full %s', async (_, fields) => {
    const { add, kept, sizes, lost } = isolate();
    add();
    await vi.advanceTimersByTimeAsync(SENT_MS);
    for (let n = 0; n < 110; n++) add('c', fields);
    // The full one waits for no others, but for the one under way.
    await vi.advanceTimersByTimeAsync(10);
    expect(sizes()[1]).toBeGreaterThan(90);
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect(kept()).toEqual(Array.from({ length: 111 }, (_, at) => at + 1));
    expect(sizes()).toHaveLength(3);
    expect(lost()).toBe(0);
  });
});

describe('a deletion', () => {
  it('drops the events of its conversation, or of its tenant, and no others', async () => {
    const { add, kept, outboxes, lost } = isolate();
    for (const name of ['c', 'd']) add(name);
    const one = outboxes.drop(`${tenant.id}::c`, Date.now());
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect([await one, kept('c'), kept('d')]).toEqual([true, [], [2]]);
    add('c', { created_at: Date.now() });
    const all = outboxes.drop(tenant.id, Date.now());
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect([await all, kept('c')]).toEqual([true, []]);
    expect(await outboxes.drop(tenant.id, Date.now())).toBe(false);
    expect(lost()).toBe(0);
  });

  it('leaves the events of requests that came after it began', async () => {
    const { add, outboxes, kept, lost } = isolate();
    const began = Date.now();
    add('c', { created_at: began });
    add('c', { created_at: began + 1 });
    const dropped = outboxes.drop(`${tenant.id}::c`, began);
    add('c', { created_at: began + 2 });
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    await dropped;
    expect([kept(), lost()]).toEqual([[2, 3], 0]);
  });

  it('waits for the call under way, whose second try sends nothing of before', async () => {
    const { add, outboxes, sizes, fates, lost } = isolate();
    fates.push('fails');
    add();
    await vi.advanceTimersByTimeAsync(SENT_MS);
    const dropped = outboxes.drop(tenant.id, Date.now());
    const ended = vi.fn();
    void dropped.then(ended);
    await vi.advanceTimersByTimeAsync(TIME_LIMITS.keptEventsMs - 10);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(LONGEST_MS);
    expect([await dropped, sizes(), lost()]).toEqual([true, [1], 0]);
  });
});

describe('where the object does not answer', () => {
  it.each(['fails', 'answer is lost', 'hangs', 'comes late'] as const)(
    '(%s) a call is made once more, and its events are kept once',
    async (fate) => {
      const { add, kept, fates, lost, calls } = isolate();
      fates.push(fate);
      add();
      await vi.advanceTimersByTimeAsync(500);
      add();
      await vi.advanceTimersByTimeAsync(2 * LONGEST_MS);
      expect([kept(), lost()]).toEqual([[1, 2], 0]);
      expect(calls[1]?.batch).toEqual(calls[0]?.batch);
    },
  );

  it.each(['fails', 'hangs'] as const)(
    '(%s) the events of a call that fails twice are lost, counted, and logged with the cause',
    async (fate) => {
      const { add, kept, fates, lost, logged, sizes } = isolate();
      add();
      await vi.advanceTimersByTimeAsync(SENT_MS);
      add();
      add();
      fates.push(fate, fate);
      await vi.advanceTimersByTimeAsync(LONGEST_MS + 10);
      expect([kept(), lost(), sizes()]).toEqual([[1], 2, [1, 2, 2]]);
      expect(logged.map(({ message }) => message)).toEqual([
        'events of requests could not be kept, and are sent again',
        'events of requests could not be kept, and are lost',
      ]);
      expect(logged[1]?.fields).toMatchObject({ code: expect.any(String), error: 'Error' });

      add();
      await vi.advanceTimersByTimeAsync(KEPT_MS);
      expect([kept(), lost()]).toEqual([[1, 4], 2]);
    },
  );

  it('what an isolate holds is bounded, and the rest is lost', async () => {
    const { add, fates, lost, kept, logged } = isolate();
    const large = { warnings: ['w'.repeat(1_000_000)] };
    fates.push('hangs');
    for (let n = 0; n < 12; n++) add('c', large);
    add('d');
    expect(lost()).toBe(4);
    expect(logged[0]?.message).toBe('an event of a request is lost, since storage does not answer');
    await vi.advanceTimersByTimeAsync(3 * LONGEST_MS);
    expect(kept()).toHaveLength(9);
    for (let n = 0; n < 5; n++) add('d', large);
    await vi.advanceTimersByTimeAsync(KEPT_MS);
    expect([kept('d').length, lost()]).toEqual([5, 4]);
  });

  it.each(['waits', 'is under way'])(
    'a call that %s when its request is cut off is lost: no reader waits for it, and the next event counts it',
    async (state) => {
      const { add, outboxes, kept, calls, fates, lost, logged } = isolate();
      if (state === 'is under way') fates.push('hangs');
      add();
      if (state === 'is under way') await vi.advanceTimersByTimeAsync(SENT_MS);
      add();
      // Its timers never fire.
      vi.clearAllTimers();
      const before = calls.length;
      await vi.advanceTimersByTimeAsync(3_600_000);
      await outboxes.settled(tenant.id);
      add('another conversation');
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(lost()).toBe(2);
      expect(logged.every(({ message }) => message.endsWith('since their request was cut off'))).toBe(true);
      // Nothing that is old is ever sent: a deletion may have come.
      expect(calls.slice(before).map(({ name }) => name)).toEqual([`${tenant.id}::another conversation`]);
      add();
      await vi.advanceTimersByTimeAsync(KEPT_MS);
      expect([kept(), lost()]).toEqual([[4], 2]);
    },
  );
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
        fate: fc.constantFrom<Fate>('fails', 'answer is lost', 'hangs', 'comes late'),
      }),
    },
  );
  await forAllAsync(100, fc.array(step, { maxLength: 60 }), async (steps) => {
    const { add, outboxes, kept, fates, lost } = isolate();
    const added: Record<string, number[]> = { c: [], d: [] };
    for (const one of steps) {
      if (one.do === 'add') added[one.to]?.push(add(one.to));
      else if (one.do === 'wait') await vi.advanceTimersByTimeAsync(one.ms);
      else if (one.do === 'break') fates.push(one.fate);
      else void outboxes.settled(tenant.id);
    }
    await vi.advanceTimersByTimeAsync(120_000);
    for (const name of ['c', 'd']) expect(new Set(kept(name)).size).toBe(kept(name).length);
    const missing = Object.values(added).flat().length - kept('c').length - kept('d').length;
    // What was kept, and whose answers were lost, is counted as lost too.
    expect(lost()).toBeGreaterThanOrEqual(missing);
    const isLate = steps.some((one) => one.do === 'break' && one.fate === 'comes late');
    for (const name of ['c', 'd']) {
      const all = (added[name] ?? []).filter((n) => kept(name).includes(n));
      expect(isLate ? kept(name).toSorted((a, b) => a - b) : kept(name)).toEqual(all);
    }
    if (!steps.some((one) => one.do === 'break')) expect([missing, lost()]).toEqual([0, 0]);
  });
});
