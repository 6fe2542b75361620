/** The register of callers, in its object. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import { quiet } from '../../support/quiet.ts';

beforeEach(quiet);
let made = 0;

/** A register of its own, evicted after each call. */
function register() {
  const stub = env.TENANT_MEMORY.getByName(`register ${made++}`) as DurableObjectStub<TenantMemory>;
  return async <Result>(use: (register: TenantMemory) => Result | Promise<Result>): Promise<Result> => {
    const result = await runInDurableObject(stub, use);
    await evictDurableObject(stub);
    return result;
  };
}

describe('the register of callers', () => {
  it('keeps what an operator has changed, and leaves no trace of a look', async () => {
    const call = register();
    expect(await call((one) => one.callers.read(null))).toEqual({ version: 0, callers: [] });
    const limits = { usd_per_day: 1.5, models: ['gpt-6*'] };
    const added = { name: 'alice', tenant: null, state: 'active', keyHash: 'a-hash', limits };
    expect(await call((one) => one.callers.change({ name: 'alice', keyHash: 'a-hash', limits }))).toEqual(
      added,
    );
    expect(await call((one) => one.callers.change({ name: 'alice', state: 'disabled' }))).toEqual({
      ...added,
      state: 'disabled',
    });
    expect(await call((one) => one.callers.read(null))).toEqual({
      version: 2,
      callers: [{ ...added, state: 'disabled' }],
    });
  });

  it('says that nothing has changed since a version', async () => {
    const call = register();
    await call((one) => one.callers.change({ name: 'alice' }));
    expect(await call((one) => one.callers.read(1))).toBeNull();
    await call((one) => one.callers.change({ name: 'alice', limits: null }));
    expect(await call((one) => one.callers.read(1))).toMatchObject({ version: 2 });
  });

  it('lists the tenants that were seen, page by page, and forgets them', async () => {
    const call = register();
    for (const tenant of ['c', 'a', 'b', 'a']) await call((one) => one.see(tenant));
    const pageAfter = async (after: string) =>
      (await call((one) => one.callers.seen(after, 2))).map(({ tenant }) => tenant);
    expect(await pageAfter('')).toEqual(['a', 'b']);
    expect(await pageAfter('b')).toEqual(['c']);
    const [seen] = await call((one) => one.callers.seen('', 1));
    expect(seen?.lastSeen).toBeGreaterThanOrEqual(seen?.firstSeen ?? Number.POSITIVE_INFINITY);
    await call((one) => one.callers.unsee(['a', 'c']));
    expect(await pageAfter('')).toEqual(['b']);
  });
});

describe('a tenant’s object', () => {
  const REGISTER = () => env.TENANT_MEMORY.getByName('callers') as DurableObjectStub<TenantMemory>;

  /** Whether the register of the deployment knows a tenant after its first note. */
  async function isSeen(adminToken: string | undefined): Promise<boolean> {
    const tenant = `seen tenant ${made++}`;
    const stub = env.TENANT_MEMORY.getByName(tenant) as DurableObjectStub<TenantMemory>;
    await runInDurableObject(stub, async (memory) => {
      const { env: own } = memory as unknown as { env: { ADMIN_TOKEN?: string | undefined } };
      const before = own.ADMIN_TOKEN;
      onTestFinished(() => void Object.assign(own, { ADMIN_TOKEN: before }));
      Object.assign(own, { ADMIN_TOKEN: adminToken });
      await memory.note(`${tenant}:user:chat`, []);
    });
    await runInDurableObject(stub, () => undefined);
    const seen = await runInDurableObject(REGISTER(), (one) => one.callers.seen(tenant.slice(0, -1), 100));
    return seen.some((one) => one.tenant === tenant);
  }

  it('lets the register know that it is there, where there is an operator to ask', async () => {
    await expect.poll(() => isSeen('a-token-of-the-operator')).toBe(true);
    expect(await isSeen(undefined)).toBe(false);
  });
});
