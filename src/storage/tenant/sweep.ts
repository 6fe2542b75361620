/**
 * Deletes unused data, a portion of the bucket per run, continuing where the last run ended. A
 * tenant's unused conversations expire first, then its old contents that no conversation refers to.
 */

import { type Env, readConfig } from '../../config.ts';
import { createLog, type Log, logged } from '../../log.ts';
import { TenantBucket } from '../bucket.ts';
import { tenantMemory } from '../objects.ts';
import { isManifest, isRef } from '../refs/store.ts';
import { Retention } from '../retention.ts';

/**
 * An invocation may make 50 subrequests
 * (https://developers.cloudflare.com/workers/platform/limits/).
 */
const MOST_CALLS = 40;

/** A listing and the cursor. */
const CALLS_A_PAGE = 2;

/** Maximum of calls for a tenant's part of a page, once its conversations have expired. */
const CALLS_A_TENANT = 3;

const PAGE = 1000;

/** The object with the position of the last run. It belongs to no tenant. */
const CURSOR = 'sweep';

/**
 * One run of the scheduled handler. Does nothing without `RETENTION_DAYS`.
 *
 * @param now in milliseconds
 * @throws if R2 fails; the next run begins after the last complete page
 */
export async function collectUnused(env: Env, now: number): Promise<void> {
  const { retentionDays, logLevel } = readConfig(env);
  const { unusedSince } = new Retention(retentionDays, () => now);
  if (unusedSince === undefined) return;
  const log = createLog(logLevel);
  const run = new Run(env, unusedSince, log);
  await run.go();
  log('info', 'what nobody uses was collected', { contents: run.deleted });
}

class Run {
  /** Number of deleted contents, not counting expired archives. */
  deleted = 0;
  private calls = 0;
  private readonly env: Env;
  private readonly unusedSince: number;
  private readonly log: Log;

  constructor(env: Env, unusedSince: number, log: Log) {
    this.env = env;
    this.unusedSince = unusedSince;
    this.log = log;
  }

  /**
   * Works page by page until the bucket or the calls end. The cursor is the key before the next
   * page; empty at the beginning.
   */
  async go(): Promise<void> {
    this.calls++;
    let after = (await (await this.env.REFS.get(CURSOR))?.text()) ?? '';
    while (this.calls + CALLS_A_PAGE <= MOST_CALLS) {
      this.calls += CALLS_A_PAGE;
      const page = await this.page(after);
      if (page.end !== after) await this.env.REFS.put(CURSOR, page.end);
      if (page.isLast) return;
      after = page.end;
    }
  }

  /** @returns the key before the next page, and whether the run is over */
  private async page(after: string): Promise<{ end: string; isLast: boolean }> {
    const { objects, truncated } = await this.env.REFS.list({
      limit: PAGE,
      ...(after === '' ? {} : { startAfter: after }),
    });
    const old = objects.filter(({ uploaded }) => uploaded.getTime() < this.unusedSince);
    // A failure of one tenant is left to the next pass, so that others don't have to wait.
    const goOn = logged(this.log, 'error', 'what a tenant does not use could not be collected', true);
    let end = after;
    for (const [tenant, names] of byTenant(old.map(({ key }) => key))) {
      if (!(await this.collect(tenant, names).catch(goOn))) return { end, isLast: true };
      end = `${tenant}/${names.at(-1)}`;
    }
    return truncated ? { end: objects.at(-1)?.key ?? end, isLast: false } : { end: '', isLast: true };
  }

  /**
   * @param names of old objects
   * @returns false if there are not enough calls left
   */
  private async collect(tenant: string, names: readonly string[]): Promise<boolean> {
    const call = tenantMemory(this.env, tenant, this.log);
    let expired = false;
    while (!expired) {
      if (this.calls + CALLS_A_TENANT > MOST_CALLS) return false;
      this.calls++;
      expired = await call((stub) => stub.expire(this.unusedSince));
    }
    this.calls += CALLS_A_TENANT - 1;
    const refs = names.filter(isRef);
    const unused = refs.length === 0 ? [] : await call((stub) => stub.conversations.unreferenced(refs));
    // A manifest in use is written again before it is that old.
    const collected = [...names.filter(isManifest), ...unused];
    await new TenantBucket(this.env.REFS, { id: tenant }).delete(collected);
    this.deleted += collected.length;
    return true;
  }
}

/** Object names by tenant. The keys of one tenant are adjacent. */
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
