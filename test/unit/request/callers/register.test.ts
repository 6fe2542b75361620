/** What an isolate knows of the register, and when it reads it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../../../src/lib/store-error.ts';
import { Callers, TRUSTED_MS } from '../../../../src/request/callers/register.ts';
import type { RegisteredCaller } from '../../../../src/storage/tenant/callers.ts';
import { shorten } from '../../../support/time-limits.ts';

beforeEach(() => shorten({ registerMs: 20 }));
const caller = (more: Partial<RegisteredCaller> = {}): RegisteredCaller => ({
  name: 'alice',
  tenant: null,
  state: 'active',
  keyHash: null,
  limits: null,
  ...more,
});

/** A register that can be changed, can fail, and can hang. */
function known(isOn = true) {
  const register = { version: 1, callers: [caller()] };
  const state = { now: 1e12, fails: false, hangs: false };
  const asked: (number | null)[] = [];
  const waited: Promise<unknown>[] = [];
  const callers = new Callers({
    isOn,
    configured: new Map([
      ['alice', { usd_per_day: 1 }],
      ['*', { usd_per_day: 2 }],
    ]),
    read: async (version) => {
      asked.push(version);
      if (state.fails) throw new StoreError(new Error('down'));
      if (state.hangs) return new Promise(() => undefined);
      return version === register.version ? null : { ...register };
    },
    log: () => undefined,
    now: () => state.now,
  });
  const refresh = () => callers.refresh((work) => void waited.push(work));
  const change = (...callersNow: RegisteredCaller[]) => {
    register.version++;
    register.callers = callersNow;
  };
  return { callers, refresh, change, state, asked, settled: () => Promise.all(waited) };
}

describe('the register, as an isolate knows it', () => {
  it('is never read without an operator', () => {
    const { refresh, asked } = known(false);
    expect(refresh()).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('is waited for at first, and then read while nobody waits', async () => {
    const { callers, refresh, change, state, asked, settled } = known();
    await refresh();
    expect(asked).toEqual([null]);
    expect(refresh()).toBeUndefined();
    change(caller({ state: 'disabled' }));
    state.now += TRUSTED_MS - 1;
    expect(refresh()).toBeUndefined();
    expect(refresh()).toBeUndefined();
    await settled();
    expect(asked).toEqual([null, 1]);
    expect(callers.named('alice')?.state).toBe('disabled');
  });

  it('is never relied on for longer than that', async () => {
    const { callers, refresh, change, state } = known();
    await refresh();
    change(caller({ state: 'deleted' }));
    state.now += TRUSTED_MS;
    const reading = refresh();
    expect(reading).toBeDefined();
    await reading;
    expect(callers.named('alice')?.state).toBe('deleted');
  });

  it('is read again by the isolate that has changed it', async () => {
    const { callers, refresh, asked } = known();
    await refresh();
    callers.changed();
    await refresh();
    expect(asked).toEqual([null, null]);
  });

  it.each(['fails', 'hangs'] as const)('rejects where it can’t be known, and waits once: %s', async (way) => {
    const { callers, refresh, change, state, asked } = known();
    await refresh();
    change(caller({ state: 'deleted' }));
    state[way] = true;
    state.now += TRUSTED_MS;
    await expect(refresh()).rejects.toThrow(StoreError);
    await expect(refresh()).rejects.toThrow(StoreError);
    expect(asked).toHaveLength(2);
    state[way] = false;
    state.now += 10_000;
    await refresh();
    expect(callers.named('alice')?.state).toBe('deleted');
  });

  it('has the keys that were made here, and tenants that are closed', async () => {
    const { callers, refresh, change } = known();
    change(
      caller({ keyHash: 'hash' }),
      caller({ name: 'tenant-1', tenant: '1', state: 'disabled' }),
      caller({ name: 'tenant-2', tenant: '2' }),
    );
    await refresh();
    expect(callers.withKey(() => ['other', 'hash'])?.name).toBe('alice');
    expect(callers.withKey(() => ['other'])).toBeUndefined();
    expect(callers.closedTenant(() => ['1'])).toBe('disabled');
    expect(callers.closedTenant(() => ['2'])).toBeUndefined();
    expect(callers.closedTenant(() => ['2', '1'])).toBe('disabled');
    expect(callers.closedTenant(() => [])).toBeUndefined();
  });

  it('has limits that take precedence over the configuration’s', async () => {
    const { callers, refresh, change } = known();
    expect(callers.limitsOf('alice')).toEqual({ usd_per_day: 1 });
    expect(callers.limitsOf('bob')).toEqual({ usd_per_day: 2 });
    expect(callers.limitsOf('toString')).toEqual({ usd_per_day: 2 });
    change(caller({ limits: {} }), caller({ name: 'bob', limits: { models: ['gpt-6'] } }));
    await refresh();
    expect(callers.limitsOf('alice')).toEqual({});
    expect(callers.limitsOf('bob')).toEqual({ models: ['gpt-6'] });
  });
});
