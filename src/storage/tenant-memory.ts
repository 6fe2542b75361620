/**
 * The Durable Object of one tenant: which conversations there are and what they refer to, since neither objects nor references can be listed
 * otherwise. By it what nobody uses any more is found, and all of a tenant.
 */
import { DurableObject } from 'cloudflare:workers';
import { type Env, LOG_LEVELS } from '../config.ts';
import { createLog, type Log } from '../log.ts';
import { eraseStep, expireStep, type Ground } from './deletion.ts';
import { TenantBucket } from './tenant-bucket.ts';
import { TenantRows } from './tenant-rows.ts';

/** How long a call may erase before it leaves the rest to an alarm. In milliseconds. */
const ERASING_MS = 10_000;

/** After a failure. In milliseconds. */
const PAUSE_MS = 60_000;

/** By so much the clocks of R2 and of an object may differ. In milliseconds. */
const CLOCKS_MS = 10_000;

/** Named by the tenant's id. */
export class TenantMemoryObject extends DurableObject<Env> {
  // Fields, which a remote caller can't reach and a test can replace.
  protected now: () => number = Date.now;
  protected log: Log = createLog(LOG_LEVELS.find((level) => level === this.env.LOG_LEVEL) ?? 'info');

  private readonly rows = new TenantRows(this.ctx.storage.sql);

  /** See `TenantRows` for what these do. */
  note(conversation: string, refs: readonly string[]): void {
    this.rows.note(conversation, refs, this.now());
  }

  noteRead(ref: string): void {
    this.rows.noteRead(ref, this.now());
  }

  soleRefs(conversation: string): readonly string[] {
    return this.rows.soleRefs(conversation);
  }

  release(conversation: string): readonly string[] | null {
    return this.rows.release(conversation);
  }

  unreferenced(refs: readonly string[]): readonly string[] {
    return this.rows.unreferenced(refs);
  }

  /** See `expireStep`. */
  expire(unusedSince: number): Promise<boolean> {
    return expireStep(this.ground(), unusedSince);
  }

  /**
   * Deletes all that the tenant has, and goes on by itself where that takes long or fails.
   *
   * @returns whether all is deleted
   */
  async erase(): Promise<boolean> {
    this.rows.beginErasure(this.now() + CLOCKS_MS);
    await this.ctx.storage.setAlarm(this.now() + PAUSE_MS);
    return this.goOn();
  }

  override async alarm(): Promise<void> {
    await this.goOn();
  }

  private async goOn(): Promise<boolean> {
    const until = this.now() + ERASING_MS;
    try {
      while (!(await eraseStep(this.ground()))) {
        if (this.now() < until) continue;
        await this.ctx.storage.setAlarm(this.now());
        return false;
      }
    } catch {
      // What was thrown may hold names.
      this.log('error', 'what a tenant has could not be erased; it is tried again', { code: 'store_failed' });
      await this.ctx.storage.setAlarm(this.now() + PAUSE_MS);
      return false;
    }
    await this.ctx.storage.deleteAlarm();
    if (this.rows.isEmpty()) {
      this.rows.forget();
      await this.ctx.storage.deleteAll();
      this.rows.forget();
    }
    return true;
  }

  private ground(): Ground {
    const id = this.ctx.id.name;
    if (id === undefined) throw new Error('the object of a tenant is opened by its name');
    return { env: this.env, bucket: new TenantBucket(this.env.REFS, { id }), rows: this.rows };
  }
}
