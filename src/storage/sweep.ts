/**
 * Collects what nobody uses any more: a portion of the bucket at each run, behind the one before. Conversations of a tenant that were not used for
 * the time of retention expire first; then the tenant's contents of that age go to which no conversation refers.
 */
import { type Env, readConfig } from '../config.ts';
import { createLog } from '../log.ts';
import { callObject, tenantMemory } from './conversation-key.ts';
import { isManifest, isRef } from './refs.ts';
import { Retention } from './retention.ts';
import { TenantBucket } from './tenant-bucket.ts';

/** An invocation may make 50 subrequests (https://developers.cloudflare.com/workers/platform/limits/): those for the cursor, and these. */
const MOST_CALLS = 40;

/** What a tenant's part of a page takes at the most when its conversations have expired. */
const CALLS_A_TENANT = 3;

const PAGE = 1000;

/** The object that says where the last run has ended. It belongs to no tenant. */
const CURSOR = 'sweep';

/**
 * One run, of a scheduled handler. Without `RETENTION_DAYS` nothing is collected.
 *
 * @param now in milliseconds
 * @throws when R2 or an object fails: the next run begins where this one did
 */
export async function collectUnused(env: Env, now: number): Promise<void> {
  const { retentionDays, logLevel } = readConfig(env);
  const { unusedSince } = new Retention(retentionDays, () => now);
  if (unusedSince === undefined) return;
  const bucket = env.REFS;
  const start = (await (await bucket.get(CURSOR))?.text()) ?? '';
  const run = new Run(env, unusedSince);
  const end = await run.from(start);
  if (end !== start) await bucket.put(CURSOR, end);
  createLog(logLevel)('info', 'what nobody uses was collected', { contents: run.deleted, done: end === '' });
}

class Run {
  /** How many contents were deleted, those of expired archives not counted. */
  deleted = 0;
  private calls = 0;
  private readonly env: Env;
  private readonly unusedSince: number;

  constructor(env: Env, unusedSince: number) {
    this.env = env;
    this.unusedSince = unusedSince;
  }

  /**
   * @param start the key behind which this run begins; empty: at the beginning of the bucket
   * @returns the same for the next run
   */
  async from(start: string): Promise<string> {
    let after = start;
    while (this.calls < MOST_CALLS) {
      this.calls++;
      const { objects, truncated } = await this.env.REFS.list({
        limit: PAGE,
        ...(after === '' ? {} : { startAfter: after }),
      });
      const old = objects.filter(({ uploaded }) => uploaded.getTime() < this.unusedSince);
      for (const [tenant, names] of byTenant(old.map(({ key }) => key))) {
        if (!(await this.collect(tenant, names))) return after;
        after = `${tenant}/${names.at(-1)}`;
      }
      if (!truncated) return '';
      after = objects.at(-1)?.key ?? after;
    }
    return after;
  }

  /** @param names of old objects @returns false when there are not enough calls left for all of it */
  private async collect(tenant: string, names: readonly string[]): Promise<boolean> {
    const open = () => tenantMemory(this.env, tenant);
    let expired = false;
    while (!expired) {
      if (this.calls + CALLS_A_TENANT > MOST_CALLS) return false;
      this.calls++;
      expired = await callObject(open, (stub) => stub.expire(this.unusedSince));
    }
    this.calls += CALLS_A_TENANT - 1;
    const refs = names.filter(isRef);
    const unused = refs.length === 0 ? [] : await callObject(open, (stub) => stub.unreferenced(refs));
    // A manifest that is in use is written again before it is that old.
    const collected = [...names.filter(isManifest), ...unused];
    await new TenantBucket(this.env.REFS, { id: tenant }).delete(collected);
    this.deleted += collected.length;
    return true;
  }
}

/** The names of tenants' objects, by tenant; the keys of one tenant stand together. */
function byTenant(keys: readonly string[]): Map<string, string[]> {
  const tenants = new Map<string, string[]>();
  for (const key of keys) {
    const slash = key.indexOf('/');
    if (slash < 0) continue;
    const tenant = key.slice(0, slash);
    const names = tenants.get(tenant) ?? [];
    tenants.set(tenant, names);
    names.push(key.slice(slash + 1));
  }
  return tenants;
}
