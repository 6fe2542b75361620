/**
 * The Durable Object of one tenant: its conversations and the refs that they refer to, since
 * neither can be listed otherwise, and its memory blocks. It is used to find unused data, and all
 * data of a tenant.
 */

import { readConfig } from '../../config.ts';
import { storing } from '../../lib/store-error.ts';
import { soon, within } from '../../lib/time-limit.ts';
import { DAY_MS, monthOf } from '../../lib/utc-time.ts';
import { logCaught } from '../../log.ts';
import type { CallerLimits, CallerState } from '../../memory/money/caller-limits.ts';
import type { SumsByDay } from '../../memory/run/day-sums.ts';
import { rankConversations } from '../../memory/run/ranked-conversations.ts';
import { type TrialTotals, trialTotals } from '../../memory/run/trials.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { TenantBucket } from '../bucket.ts';
import type { ConversationSums } from '../conversation/sum-reports.ts';
import { type NotTaken, type PutBack, type PutBackState, SavedObject } from '../object-backup.ts';
import { callerRegister } from '../objects.ts';
import { partOf } from '../remote.ts';
import { Retention } from '../retention.ts';
import { Tables } from '../tables.ts';
import { type BlockChange, BlockRows, type ExpectedVersion } from './blocks.ts';
import { CallerRows } from './callers.ts';
import { eraseStep, expireStep, type Ground } from './deletion.ts';
import { type Deletable, Deletions } from './deletions.ts';
import type { CallerUsage, RegisterApi, TenantApi, TenantOverview } from './remote.ts';
import { type NotedConversation, TenantRows } from './rows.ts';
import { TenantBackup } from './saved-tenant.ts';
import { SignOuts } from './sign-outs.ts';
import { type EndedCall, type Refused, type Reservation, type Reserved, SpendingRows } from './spending.ts';

/** How often an object looks for unused conversations, in milliseconds. */
const LOOKING_MS = DAY_MS;

/** How often it reports to the register, in milliseconds. */
const SEEING_MS = DAY_MS;

/** How far the clocks of R2 and an object may differ, in milliseconds. */
const CLOCKS_MS = 1_000;

/**
 * So long after a caller is deleted, what isolates have written that had not heard of it is deleted
 * too: well over the time for which they rely on the register. In milliseconds.
 */
const LATE_WRITES_MS = 5 * 60_000;

/** Its name is the tenant's id; the register of callers is one more object of this class. */
export class TenantMemoryObject extends SavedObject implements TenantApi, RegisterApi {
  protected override readonly tables = new Tables(this.ctx.storage, () => this.now());
  private readonly rows = new TenantRows(this.tables);
  private readonly blockRows = new BlockRows(this.tables);
  private readonly spent = new SpendingRows(this.tables);
  private readonly callerRows = new CallerRows(this.tables);
  private readonly signOutRows = new SignOuts(this.tables);
  private readonly deletions = new Deletions(this.tables);
  protected override readonly backup = new TenantBackup(this.tables, {
    rows: this.rows,
    blocks: this.blockRows,
    deletions: this.deletions,
    unusedSince: () => this.unusedSince(),
  });
  /** Whether an alarm is set, or none is needed. */
  private watches = false;
  private erasing: Promise<boolean> | undefined;
  /** When the register was last reported to in this life, in milliseconds since 1970. */
  private seenAt = Number.NEGATIVE_INFINITY;

  // `TenantApi` and `RegisterApi` document the methods; the class of a part documents its methods.

  get conversations() {
    const names = [
      'list',
      'refsOf',
      'namesOfSession',
      'namesWith',
      'find',
      'unreferenced',
      'noteRead',
    ] as const;
    return {
      ...partOf(this.rows, names),
      release: (conversation: NotedConversation) => {
        this.deletions.note({ conversation: conversation.name });
        this.rows.release(conversation);
      },
    };
  }

  get blocks() {
    const blocks = this.blockRows;
    return {
      ...partOf(blocks, ['list', 'read', 'find']),
      change: (change: BlockChange) => {
        this.refuseDeleted();
        this.reportPresence();
        return blocks.change(change);
      },
      delete: (label: string, expected: ExpectedVersion) => {
        const deleted = blocks.delete(label, expected);
        if (deleted.state === 'deleted') this.deletions.note({ block: label });
        return deleted;
      },
    };
  }

  get saved() {
    return partOf(this.backup, ['conversationAfter', 'userAfter', 'usersOf', 'takeRefs']);
  }

  get callers() {
    return partOf(this.callerRows, ['read', 'change', 'unsee', 'seenAmong', 'seenSince', 'seen']);
  }

  get signOuts() {
    return partOf(this.signOutRows, ['note', 'latest']);
  }

  async note(conversation: string, refs: readonly string[]): Promise<readonly string[]> {
    this.refuseDeleted();
    const shared = this.rows.note(conversation, refs);
    this.reportPresence();
    await this.watch();
    return shared;
  }

  noteSums(conversation: string, sums: ConversationSums): void {
    this.rows.setSums(conversation, sums);
  }

  see(tenant: string): void {
    this.callerRows.see(tenant);
  }

  reserve(call: Reservation): Reserved {
    const reserved = this.spent.reserve(call);
    if (reserved.state === 'reserved') this.reportPresence();
    return reserved;
  }

  check(limits: CallerLimits): Refused | null {
    return this.spent.check(limits);
  }

  settle(call: EndedCall): void {
    this.spent.settle(call);
  }

  noteDeleted(what: Deletable): void {
    this.deletions.note(what);
  }

  deletedSince(what: readonly Deletable[], at: number): readonly boolean[] {
    return what.map((one) => this.deletions.since(one, at));
  }

  refuses(conversation: string, used: number | null, at: number): NotTaken | null {
    return this.backup.refuses(conversation, used, at);
  }

  async putBack(saved: PutBack): Promise<PutBackState> {
    const state = this.backup.putBack(saved);
    if (!this.rows.isEmpty() || !this.blockRows.isEmpty()) this.reportPresence();
    await this.watch();
    return state;
  }

  days(from: number, to: number): SumsByDay {
    return this.rows.usage.days(from, to);
  }

  overview(from: number, to: number, most: number): TenantOverview {
    const spent = this.spent.days(Math.min(from, monthOf(this.now()).first), to);
    const ranked = rankConversations(this.rows.usage.conversations(from, to), most);
    return { days: this.days(from, to), ranked, spent };
  }

  trials(from: number, to: number): TrialTotals {
    return trialTotals(this.rows.usage.tried(from, to));
  }

  usage(from: number, to: number): CallerUsage {
    const lastUsed = this.rows.lastUsed();
    return { days: this.days(from, to), spent: this.spent.days(from, to), lastUsed };
  }

  async setState(state: CallerState): Promise<boolean> {
    this.spent.setState(state);
    if (state !== 'deleted') {
      // What is stored from now on is not part of an erasure that waits for late writes.
      if (this.rows.erasure()) await this.erase();
      return true;
    }
    this.spent.clear();
    return this.erase();
  }

  expire(unusedSince: number): Promise<boolean> {
    return expireStep(this.ground(), unusedSince);
  }

  async erase(): Promise<boolean> {
    this.blockRows.clear();
    this.backup.drop();
    this.deletions.noteAll();
    this.rows.beginErasure(this.now() + CLOCKS_MS);
    await this.ctx.storage.setAlarm(this.now() + TIME_LIMITS.alarmPauseMs);
    return (await soon(TIME_LIMITS.eraseAnswerMs, this.eraseOn())) ?? false;
  }

  override async alarm(): Promise<void> {
    if (this.rows.erasure()) await this.eraseOn();
    else await this.look();
  }

  /** An isolate that has not heard of it yet still writes for a caller that is deleted. */
  private refuseDeleted(): void {
    if (this.spent.closed()?.state === 'deleted') throw new Error('the caller is deleted');
  }

  /**
   * Reports to the register once a day that this tenant is there, where an operator may ask for it.
   */
  private reportPresence(): void {
    const tenant = this.ctx.id.name;
    const now = this.now();
    if (tenant === undefined || this.env.ADMIN_TOKEN === undefined || now - this.seenAt < SEEING_MS) return;
    this.seenAt = now;
    const reporting = callerRegister(this.env, this.log)((stub) => stub.see(tenant));
    const failed = (error: unknown): void => {
      this.seenAt = Number.NEGATIVE_INFINITY;
      logCaught(this.log, 'warn', 'a tenant could not be reported to the register', error);
    };
    this.ctx.waitUntil(reporting.catch(failed));
  }

  /**
   * One erasure at a time. A call during one begins a new erasure, which the running one picks up.
   */
  private eraseOn(): Promise<boolean> {
    this.erasing ??= this.eraseSome().finally(() => {
      this.erasing = undefined;
    });
    return this.erasing;
  }

  /** @throws StoreError if the work fails or takes too long */
  private step(work: () => Promise<boolean>): Promise<boolean> {
    return within(TIME_LIMITS.eraseStepMs, storing(work));
  }

  private async eraseSome(): Promise<boolean> {
    try {
      if (!(await this.step(() => eraseStep(this.ground())))) {
        await storing(() => this.ctx.storage.setAlarm(this.now()));
        return false;
      }
    } catch (error) {
      logCaught(this.log, 'error', 'what a tenant has could not be erased; it is tried again', error);
      await this.ctx.storage.setAlarm(this.now() + TIME_LIMITS.alarmPauseMs);
      return false;
    }
    const closed = this.spent.closed();
    const goesOnUntil = closed?.state === 'deleted' ? closed.since + LATE_WRITES_MS : 0;
    if (this.now() < goesOnUntil) {
      this.rows.beginErasure(goesOnUntil + CLOCKS_MS);
      await this.ctx.storage.setAlarm(goesOnUntil);
      return true;
    }
    await this.ctx.storage.deleteAlarm();
    this.watches = false;
    // A backup may still bring back what was deleted.
    const isEmpty = this.rows.isEmpty() && this.blockRows.isEmpty() && this.spent.isEmpty();
    if (isEmpty && !this.deletions.any()) await this.deleteAll();
    else await this.watch();
    return true;
  }

  /** Sets the alarm for the next look for unused conversations, if there is retention. */
  private async watch(): Promise<void> {
    if (this.watches) return;
    this.watches = true;
    if (this.unusedSince() === undefined || (await this.ctx.storage.getAlarm()) !== null) return;
    await this.ctx.storage.setAlarm(this.now() + LOOKING_MS);
  }

  /** Expires unused conversations, with or without objects in R2. */
  private async look(): Promise<void> {
    this.watches = false;
    const unusedSince = this.unusedSince();
    if (unusedSince === undefined || this.rows.isEmpty()) return;
    let pause = LOOKING_MS;
    try {
      if (!(await this.step(() => this.expire(unusedSince)))) pause = 0;
    } catch (error) {
      logCaught(this.log, 'error', 'conversations could not expire; it is tried again', error);
    }
    await this.ctx.storage.setAlarm(this.now() + pause);
  }

  private unusedSince(): number | undefined {
    return new Retention(readConfig(this.env).retentionDays, () => this.now()).unusedSince;
  }

  private ground(): Ground {
    const bucket = new TenantBucket(this.env.REFS, { id: this.ownName });
    return { env: this.env, bucket, rows: this.rows, log: this.log };
  }
}
