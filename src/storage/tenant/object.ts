/**
 * The Durable Object of one tenant: which conversations there are and what they refer to, since
 * neither objects nor references can be listed otherwise. By it what nobody uses any more is found,
 * and all of a tenant.
 */

import { DurableObject } from 'cloudflare:workers';
import { type Env, readConfig } from '../../config.ts';
import { soon, within } from '../../lib/time-limit.ts';
import { createObjectLog, type Log, logCaught } from '../../log.ts';
import { TenantBucket } from './bucket.ts';
import { eraseStep, expireStep, type Ground } from './deletion.ts';
import type { TenantApi } from './remote.ts';
import { Retention } from './retention.ts';
import { type KnownConversation, type NotedConversation, TenantRows } from './rows.ts';

/** How often an object looks for conversations that nobody uses. In milliseconds. */
const LOOKING_MS = 24 * 60 * 60_000;

/** After a failure. In milliseconds. */
const PAUSE_MS = 60_000;

/**
 * How long a caller who erases waits. In milliseconds: less than the route that asks for it does.
 */
export const ERASE_ANSWER_MS = 8_000;

/** After so long a step is taken for one that has failed. In milliseconds. */
const STEP_LIMIT_MS = 5 * 60_000;

/** By so much the clocks of R2 and of an object may differ. In milliseconds. */
const CLOCKS_MS = 1_000;

/** Named by the tenant's id. */
export class TenantMemoryObject extends DurableObject<Env> implements TenantApi {
  // Fields, which a remote caller can't reach and a test can replace.
  protected now: () => number = Date.now;
  protected log: Log = createObjectLog(this.env);
  protected answerMs = ERASE_ANSWER_MS;
  protected stepMs = STEP_LIMIT_MS;

  private readonly rows = new TenantRows(this.ctx.storage.sql);
  /** Whether an alarm is known to be set, or none is needed. */
  private watches = false;
  private erasing: Promise<boolean> | undefined;

  // What each method does stands in `TenantApi`.

  async note(conversation: string, refs: readonly string[]): Promise<void> {
    this.rows.note(conversation, refs, this.now());
    await this.watch();
  }

  noteRead(ref: string): void {
    this.rows.noteRead(ref, this.now());
  }

  find(conversation: string): KnownConversation | null {
    return this.rows.find(conversation);
  }

  release(conversation: NotedConversation): void {
    this.rows.release(conversation);
  }

  unreferenced(refs: readonly string[]): readonly string[] {
    return this.rows.unreferenced(refs);
  }

  expire(unusedSince: number): Promise<boolean> {
    return expireStep(this.ground(), unusedSince);
  }

  async erase(): Promise<boolean> {
    this.rows.beginErasure(this.now() + CLOCKS_MS);
    await this.ctx.storage.setAlarm(this.now() + PAUSE_MS);
    return (await soon(this.answerMs, this.eraseOn())) ?? false;
  }

  override async alarm(): Promise<void> {
    if (this.rows.erasure()) await this.eraseOn();
    else await this.look();
  }

  /**
   * One at a time: a call that comes meanwhile begins an erasure of its own, which the one at work
   * takes up.
   */
  private eraseOn(): Promise<boolean> {
    this.erasing ??= this.eraseSome().finally(() => {
      this.erasing = undefined;
    });
    return this.erasing;
  }

  private async eraseSome(): Promise<boolean> {
    try {
      if (!(await within(this.stepMs, eraseStep(this.ground())))) {
        await this.ctx.storage.setAlarm(this.now());
        return false;
      }
    } catch (error) {
      logCaught(this.log, 'error', 'what a tenant has could not be erased; it is tried again', error);
      await this.ctx.storage.setAlarm(this.now() + PAUSE_MS);
      return false;
    }
    await this.ctx.storage.deleteAlarm();
    this.watches = false;
    if (this.rows.isEmpty()) {
      const deleted = this.ctx.storage.deleteAll();
      this.rows.forget();
      await deleted;
    } else await this.watch();
    return true;
  }

  /**
   * Sees to it that the object looks again for what nobody uses, where anything is ever collected.
   */
  private async watch(): Promise<void> {
    if (this.watches) return;
    this.watches = true;
    if (this.unusedSince() === undefined || (await this.ctx.storage.getAlarm()) !== null) return;
    await this.ctx.storage.setAlarm(this.now() + LOOKING_MS);
  }

  /** Lets conversations expire that nobody uses, whether anything of theirs is in R2 or not. */
  private async look(): Promise<void> {
    this.watches = false;
    const unusedSince = this.unusedSince();
    if (unusedSince === undefined || this.rows.isEmpty()) return;
    let pause = LOOKING_MS;
    try {
      if (!(await within(this.stepMs, this.expire(unusedSince)))) pause = 0;
    } catch (error) {
      logCaught(this.log, 'error', 'conversations could not expire; it is tried again', error);
    }
    await this.ctx.storage.setAlarm(this.now() + pause);
  }

  private unusedSince(): number | undefined {
    return new Retention(readConfig(this.env).retentionDays, () => this.now()).unusedSince;
  }

  private ground(): Ground {
    const id = this.ctx.id.name;
    if (id === undefined) throw new Error('the object of a tenant is opened by its name');
    return { env: this.env, bucket: new TenantBucket(this.env.REFS, { id }), rows: this.rows };
  }
}
