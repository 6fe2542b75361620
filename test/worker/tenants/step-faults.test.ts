/** Failures inside of a tenant's object, which has no caller to answer to. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { TenantMemory } from '../../../src/index.ts';
import type { Log } from '../../../src/log.ts';

describe('a step that fails in a tenant’s object', () => {
  const failures = [
    [
      new Error('database or disk is full: SQLITE_FULL'),
      { code: 'store_failed', error: 'Error', at: expect.any(String) },
    ],
    [new TypeError('x is undefined'), { code: 'internal_error', error: 'TypeError', at: expect.any(String) }],
  ] as const;

  it.each(failures)('is logged as what it is: %s', async (error, fields) => {
    const stub = env.TENANT_MEMORY.getByName(error.name) as DurableObjectStub<TenantMemory>;
    const logged: Parameters<Log>[] = [];
    await runInDurableObject(stub, async (object, { storage }) => {
      const rows = {
        erasure: () => undefined,
        isEmpty: () => false,
        unused: () => {
          throw error;
        },
      };
      const log: Log = (...line) => logged.push(line);
      Object.assign(object, { rows, log, env: { ...env, RETENTION_DAYS: '30' } });
      await object.alarm();
      // It is tried again.
      expect(await storage.getAlarm()).not.toBeNull();
      await storage.deleteAlarm();
    });
    expect(logged).toEqual([['error', 'conversations could not expire; it is tried again', fields]]);
  });
});
