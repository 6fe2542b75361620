/** Limits in a tenant's object: what is reserved, what was spent, and what its end was lost of. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import { dayOf } from '../../../src/lib/utc-time.ts';
import type { CallerLimits } from '../../../src/memory/money/caller-limits.ts';
import { MINUTE_MS } from '../../../src/memory/money/spending.ts';
import { NO_DAY_SUMS } from '../../../src/memory/run/day-sums.ts';
import { RESERVED_MS, type Reservation } from '../../../src/storage/tenant/spending.ts';
import { forAllAsync, runs } from '../../support/laws/runs.ts';

// To come: an alarm of the past would ring again at once, as long as the object's clock stops.
const NOON = Date.UTC(2126, 10, 26, 12);
const TODAY = dayOf(NOON);
const DAY_MS = 24 * 60 * MINUTE_MS;

let made = 0;

/** A tenant of its own, at a time that can be moved. */
function tenant() {
  const stub = env.TENANT_MEMORY.getByName(`spending ${made++}`) as DurableObjectStub<TenantMemory>;
  const clock = { now: NOON };
  const call = <Result>(use: (memory: TenantMemory) => Result | Promise<Result>): Promise<Result> =>
    runInDurableObject(stub, (memory) => {
      Object.assign(memory, { now: () => clock.now });
      return use(memory);
    });
  let calls = 0;
  const reserve = (limits: CallerLimits, more: Partial<Reservation> = {}) => {
    const id = more.id ?? `call ${calls++}`;
    const order = { id, limits, isFurther: false, tokens: 100, amount: 1_000, ...more };
    return call((memory) => memory.reserve(order)).then((reserved) => ({ id, ...reserved }));
  };
  const settle = (id: string, tokens: number, amount: number, isFurther = false) =>
    call((memory) => memory.settle({ id, at: clock.now, isFurther, tokens, amount }));
  const days = async () => (await call((memory) => memory.usage(TODAY - 100, TODAY + 100))).spent;
  return { call, clock, reserve, settle, days, evict: () => evictDurableObject(stub) };
}

const dollars = (nanodollars: number): number => nanodollars / 1e9;

describe('a budget', () => {
  it('is never exceeded by more than one call’s estimate, with 50 calls at the same time', async () => {
    const calls = fc.array(
      fc.record({
        amount: fc.integer({ min: 1, max: 1_000 }),
        // Of the estimate.
        share: fc.integer({ min: 0, max: 100 }),
        isLost: fc.boolean(),
      }),
      { minLength: 50, maxLength: 50 },
    );
    await forAllAsync(runs(3, 15), calls, fc.integer({ min: 1, max: 30_000 }), async (all, most) => {
      const { reserve, settle, days, clock } = tenant();
      const limits = { usd_per_day: dollars(most) };
      let counted = 0;
      await Promise.all(
        all.map(async ({ amount, share, isLost }) => {
          const { id, state } = await reserve(limits, { amount });
          if (state !== 'reserved') return;
          const spent = Math.floor((amount * share) / 100);
          counted += isLost ? amount : spent;
          if (!isLost) await settle(id, 1, spent);
        }),
      );
      // What was lost counts as spent.
      clock.now += RESERVED_MS;
      await reserve({ usd_per_day: 0 });
      await reserve({ requests_per_minute: 1 }, { amount: 0 });
      const [day] = await days();
      expect(day?.amount ?? 0).toBe(counted);
      expect(counted).toBeLessThan(most + Math.max(...all.map(({ amount }) => amount)));
    });
  });

  it('is used up by calls at the same time, and there again the next day', async () => {
    const { reserve, clock } = tenant();
    const limits = { usd_per_day: dollars(10_000) };
    const all = await Promise.all(Array.from({ length: 50 }, () => reserve(limits)));
    expect(all.filter(({ state }) => state === 'reserved')).toHaveLength(10);
    expect(all.at(-1)).toMatchObject({ state: 'reached', limit: 'usd_per_day', retryMs: DAY_MS / 2 });
    clock.now = (TODAY + 1) * DAY_MS;
    expect(await reserve(limits)).toMatchObject({ state: 'reserved', spent: { day: 1_000, month: 11_000 } });
    clock.now = Date.UTC(2126, 11, 1);
    expect(await reserve(limits)).toMatchObject({ state: 'reserved', spent: { month: 1_000 } });
  });

  it('outlives the object', async () => {
    const { reserve, settle, evict, days } = tenant();
    const limits = { usd_per_day: dollars(1_500) };
    const { id } = await reserve(limits);
    await evict();
    expect(await reserve(limits)).toMatchObject({ state: 'reserved' });
    expect(await reserve(limits)).toMatchObject({ state: 'reached' });
    await settle(id, 80, 700);
    await evict();
    expect(await days()).toMatchObject([{ day: TODAY, requests: 1, tokens: 80, amount: 700 }]);
  });

  it('counts what is reported twice once, also when it was not reserved', async () => {
    const { reserve, settle, days, clock } = tenant();
    const { id } = await reserve({ usd_per_day: 1 });
    expect(await reserve({ usd_per_day: 1 }, { id })).toMatchObject({ spent: { day: 1_000, requests: 1 } });
    clock.now += 10 * MINUTE_MS;
    await settle(id, 80, 700);
    await reserve({ usd_per_day: 1 }, { amount: 0, tokens: 0 });
    await settle(id, 80, 700);
    await settle('unknown', 10, 50);
    await settle('unknown', 10, 50);
    expect(await days()).toMatchObject([{ requests: 2, tokens: 90, amount: 750 }]);
  });

  it('counts a call whose end is overdue as estimated, until its end comes', async () => {
    const { reserve, settle, days, clock } = tenant();
    const { id } = await reserve({ usd_per_day: 1 });
    clock.now += RESERVED_MS;
    await reserve({ usd_per_day: 1 }, { tokens: 0, amount: 0 });
    expect(await days()).toMatchObject([{ requests: 1, tokens: 100, amount: 1_000 }]);
    await settle(id, 3_000, 40_000);
    expect(await days()).toMatchObject([{ requests: 1, tokens: 3_000, amount: 40_000 }]);
  });

  it('counts what the summarizer has cost once, as it is settled, and keeps it when its conversation goes', async () => {
    const { reserve, call, days, clock } = tenant();
    const { id } = await reserve({ usd_per_day: 1 });
    const end = { id, at: clock.now, isFurther: true, isSummary: true, tokens: 80, amount: 50 };
    const byDay = { [TODAY]: { ...NO_DAY_SUMS, summarizer: 50 } };
    const sums = {
      requests: 1,
      net: null,
      paid: null,
      lastRequest: null,
      lastStatus: null,
      agent: null,
      model: null,
      days: byDay,
    };
    await call((memory) => memory.note('a:user:chat', []));
    await call((memory) => memory.settle(end));
    await call((memory) => memory.noteSums('a:user:chat', sums));
    await call((memory) => memory.conversations.release({ name: 'a:user:chat', notes: 0 }));
    expect(await days()).toMatchObject([{ amount: 50, summaries: 50 }]);
    expect(await reserve({ usd_per_day: dollars(50) }, { id: 'new' })).toMatchObject({ state: 'reached' });
  });

  it('counts an end that comes without a reservation once, also when it is reported again hours later', async () => {
    const { settle, reserve, days, clock } = tenant();
    await settle('never reserved', 10, 50);
    clock.now += 5 * 60 * MINUTE_MS;
    await reserve({ usd_per_day: 1 }, { amount: 0, tokens: 0 });
    await settle('never reserved', 10, 50);
    expect(await days()).toMatchObject([{ tokens: 10, amount: 50 }]);
  });
});

describe('limits per minute', () => {
  it('let exactly as many requests through, and say when the next one may come', async () => {
    const { reserve, clock } = tenant();
    const limits = { requests_per_minute: 20 };
    const all = await Promise.all(Array.from({ length: 50 }, () => reserve(limits)));
    expect(all.filter(({ state }) => state === 'reserved')).toHaveLength(20);
    clock.now += 45_000;
    expect(await reserve(limits)).toMatchObject({ limit: 'requests_per_minute', retryMs: 15_000 });
    expect(await reserve(limits, { isFurther: true })).toMatchObject({ state: 'reserved' });
    clock.now += 15_000;
    expect(await reserve(limits)).toMatchObject({ state: 'reserved' });
  });

  it('count the tokens that were spent instead of those reserved', async () => {
    const { reserve, settle } = tenant();
    const limits = { tokens_per_minute: 150 };
    const { id } = await reserve(limits);
    await reserve(limits);
    expect(await reserve(limits)).toMatchObject({ state: 'reached', limit: 'tokens_per_minute' });
    await settle(id, 10, 0);
    expect(await reserve(limits)).toMatchObject({ state: 'reserved', spent: { tokens: 210 } });
  });
});

describe('a closed caller', () => {
  it('is refused by its own object at once, until it is opened', async () => {
    const { reserve, call, evict } = tenant();
    await call((memory) => memory.setState('disabled'));
    await evict();
    expect(await reserve({ usd_per_day: 1 })).toMatchObject({ state: 'disabled' });
    expect(await call((memory) => memory.check({}))).toEqual({ state: 'disabled' });
    await call((memory) => memory.setState('active'));
    expect(await reserve({ usd_per_day: 1 })).toMatchObject({ state: 'reserved' });
  });

  it('keeps what it has spent when it erases its data, and loses it when it is deleted', async () => {
    const { reserve, settle, call, days, evict } = tenant();
    const { id } = await reserve({ usd_per_day: 1 });
    await settle(id, 10, 700);
    expect(await call((memory) => memory.erase())).toBe(true);
    expect(await days()).toMatchObject([{ amount: 700 }]);
    expect(await call((memory) => memory.setState('deleted'))).toBe(true);
    await evict();
    expect(await days()).toEqual([]);
    expect(await reserve({ usd_per_day: 1 })).toMatchObject({ state: 'deleted' });
    await expect(call((memory) => memory.note('a:user:chat', []))).rejects.toThrow('the caller is deleted');
  });

  it('gets no further block from an isolate that has not heard of its deletion', async () => {
    const { call } = tenant();
    const edit = { kind: 'set' as const, text: 'late' };
    const change = { label: 'notes', edit, expected: undefined, id: 'change 1', earlier: null };
    await call((memory) => memory.setState('deleted'));
    await expect(call((memory) => memory.blocks.change(change))).rejects.toThrow('the caller is deleted');
    expect(await call((memory) => memory.blocks.list())).toEqual([]);
    await call((memory) => memory.setState('active'));
    expect(await call((memory) => memory.blocks.change(change))).toMatchObject({ state: 'changed' });
  });

  it('loses what was written for it after its deletion, too', async () => {
    const name = `5${`${made++}`.padStart(31, '0')}`;
    const stub = env.TENANT_MEMORY.getByName(name) as DurableObjectStub<TenantMemory>;
    const at = (now: number, use: (memory: TenantMemory) => unknown) =>
      runInDurableObject(stub, async (memory) => {
        Object.assign(memory, { now: () => now });
        await use(memory);
      });
    const began = Date.now();
    await at(began, (memory) => memory.setState('deleted'));
    const key = `${name}/ref_aaaaaaaaaaaaaaaaaaaaaaaaaa`;
    await env.REFS.put(key, 'late');
    await at(began + 5 * MINUTE_MS, (memory) => memory.alarm());
    expect(await env.REFS.head(key)).toBeNull();
    // One that is opened again before that keeps what it has stored since.
    const now = Date.now();
    await at(now - 60_000, (memory) => memory.setState('deleted'));
    await at(now - 30_000, (memory) => memory.setState('active'));
    await env.REFS.put(key, 'of the caller that is one again');
    await at(now + 5 * MINUTE_MS, (memory) => memory.alarm());
    expect(await env.REFS.head(key)).not.toBeNull();
    await env.REFS.delete(key);
    expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).toBeNull();
  });
});
