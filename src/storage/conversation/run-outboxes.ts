/**
 * Gathers the events of this isolate's requests, and sends those of a conversation together: at
 * most one call in two seconds, after answers. The first event of a quiet conversation goes at
 * once, so only those that follow it within two seconds wait. One per isolate.
 *
 * A request whose event begins a batch waits for it under its own `waitUntil`, since timers and
 * calls belong to requests. The others cost no call and no timer. What an isolate holds is bounded:
 * a batch that is full, or that comes when all batches are too large together, goes at once.
 */
import { PendingWork } from '../../lib/pending-work.ts';
import { pause, soon, within } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { WaitUntil } from '../refs/writer.ts';
import type { EndedRun, RunBatch } from './run-batch.ts';
import { type Load, type LostRuns, RunOutbox } from './run-outbox.ts';
import { SealedObjects } from './sealed-objects.ts';

/**
 * Of all events that are gathered or being sent, in bytes. Above the first a batch does not wait,
 * above the second events are lost: storage does not answer then.
 */
const SENT_EARLY = 4 * 1024 * 1024;
const LOST_ABOVE = 8 * 1024 * 1024;

/** How long a request waits for its conversation's events, of the 30 s that the platform gives. */
const PATIENCE_MS = 15_000;

/** Outboxes that are looked at when an event comes: more than one leaves for each that comes. */
const LOOKED_AT = 4;

/**
 * How long an outbox stays without events, in milliseconds, so that a conversation in use has one
 * sender. Where there are many, they only stay until the next call may go.
 */
const IDLE_MS = 10 * 60_000;
const MANY_OUTBOXES = 1_000;

interface RunOutboxesPorts {
  /**
   * Has a conversation keep events.
   *
   * @param conversation see `conversationName`
   * @returns the captures of events that are gone, or not kept
   * @throws StoreError
   */
  keep(conversation: string, batches: readonly RunBatch[]): Promise<readonly string[]>;
  /** With the captures. */
  readonly bucket: R2Bucket;
  readonly metrics: Metrics;
  readonly log: Log;
}

export class RunOutboxes {
  private readonly ports: RunOutboxesPorts;
  /** By conversation; the one that was used last is last. */
  private readonly outboxes = new Map<string, RunOutbox>();
  private readonly coming = new PendingWork();
  private readonly load: Load = { bytes: 0 };

  constructor(ports: RunOutboxesPorts) {
    this.ports = ports;
  }

  /** Takes an event. Nothing waits for it. @param conversation see `conversationName` */
  add(tenant: Tenant, conversation: string, run: EndedRun, waitUntil: WaitUntil): void {
    const now = Date.now();
    this.lookAround(now, waitUntil);
    const outbox = this.outboxOf(tenant, conversation);
    if (outbox.isStuck || this.load.bytes > LOST_ABOVE) {
      outbox.lose();
      this.ports.log('warn', 'an event of a request is lost, since storage does not answer');
      const captures = run.capture === null ? [] : [run.capture];
      waitUntil(this.lose(outbox, { count: 1, captures }, waitUntil));
    } else outbox.add(run);
    const isUrgent = (outbox.isFull || this.load.bytes > SENT_EARLY) && !outbox.sending;
    const dueAt = isUrgent ? now : Math.max(now, outbox.sentAt + TIME_LIMITS.eventBatchMs);
    if (outbox.dueAt === undefined || dueAt < outbox.dueAt || outbox.isStranded(now))
      waitUntil(this.deliver(outbox, dueAt, waitUntil));
  }

  /** An event that is still to be added. Readers wait for it. @returns the work */
  track(tenant: Tenant, conversation: string, work: Promise<void>): Promise<void> {
    return this.coming.track(tenant.id, this.coming.track(conversation, work));
  }

  /**
   * Sends the events of this isolate, so that a caller who has its answer can read them. Never
   * throws.
   *
   * @param owner a conversation's name, or a tenant's id
   */
  async settled(owner: string): Promise<void> {
    await this.coming.settled(owner);
    await Promise.all(
      this.of(owner).map(async (outbox) => {
        await outbox.sending;
        if (outbox.hasWork) await this.send(outbox);
      }),
    );
  }

  /** Drops the events of a conversation, or of a tenant, that is being deleted. */
  forget(owner: string): void {
    for (const outbox of this.of(owner)) {
      this.outboxes.delete(outbox.name);
      outbox.drop();
    }
  }

  private of(owner: string): RunOutbox[] {
    return [...this.outboxes.values()].filter(({ name }) => name === owner || name.startsWith(`${owner}:`));
  }

  private outboxOf(tenant: Tenant, conversation: string): RunOutbox {
    const outbox = this.outboxes.get(conversation) ?? new RunOutbox(tenant, conversation, this.load);
    this.outboxes.delete(conversation);
    this.outboxes.set(conversation, outbox);
    return outbox;
  }

  /** Drops outboxes that are no longer used, and sends what a request was cut off with. */
  private lookAround(now: number, waitUntil: WaitUntil): void {
    let looks = LOOKED_AT;
    for (const [name, outbox] of this.outboxes) {
      if (looks-- === 0) return;
      const restMs = this.outboxes.size > MANY_OUTBOXES ? TIME_LIMITS.eventBatchMs : IDLE_MS;
      if (!outbox.hasWork && !outbox.sending && now - outbox.sentAt >= restMs) this.outboxes.delete(name);
      if (outbox.isStranded(now)) waitUntil(this.deliver(outbox, now, waitUntil));
    }
  }

  /** Sends what was gathered, when it is due, and tries again if that fails. Never rejects. */
  private async deliver(outbox: RunOutbox, dueAt: number, waitUntil: WaitUntil): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    for (let due = dueAt; ; due = Date.now() + TIME_LIMITS.eventBatchMs) {
      outbox.dueAt = due;
      // Even without a wait, the last bytes of the answer go first.
      await pause(Math.max(0, due - Date.now()));
      // A call of another request. It may have been cut off.
      if (outbox.sending) await soon(TIME_LIMITS.keepEventMs, outbox.sending);
      if (!outbox.hasWork || (await this.send(outbox, waitUntil)) || Date.now() > end) return;
    }
  }

  /** @returns whether all was kept. Never rejects */
  private send(outbox: RunOutbox, waitUntil?: WaitUntil): Promise<boolean> {
    const sending = this.sendNow(outbox, waitUntil).finally(() => {
      if (outbox.sending === sending) outbox.sending = undefined;
    });
    outbox.sending = sending;
    return sending;
  }

  private async sendNow(outbox: RunOutbox, waitUntil?: WaitUntil): Promise<boolean> {
    const { keep, log } = this.ports;
    outbox.sentAt = Date.now();
    outbox.dueAt = undefined;
    const batches = outbox.take();
    try {
      const gone = await within(TIME_LIMITS.keepEventMs, keep(outbox.name, batches));
      outbox.succeeded(batches);
      await this.dropCaptures(outbox, gone, waitUntil);
      return true;
    } catch (error) {
      const lost = outbox.failed(batches);
      const then = lost.count > 0 ? 'are lost' : 'are sent again';
      logCaught(log, 'warn', `events of requests could not be kept, and ${then}`, error);
      await this.lose(outbox, lost, waitUntil);
      return false;
    }
  }

  private async lose(outbox: RunOutbox, { count, captures }: LostRuns, waitUntil?: WaitUntil): Promise<void> {
    if (count > 0) this.count('precis_events_lost_total', count, waitUntil);
    await this.dropCaptures(outbox, captures, waitUntil);
  }

  /** Deletes captures whose events are gone. Never throws. */
  private async dropCaptures(
    { tenant, name }: RunOutbox,
    captures: readonly string[],
    waitUntil?: WaitUntil,
  ): Promise<void> {
    if (captures.length === 0) return;
    const { bucket, log } = this.ports;
    try {
      const all = new SealedObjects('capture', bucket, tenant, name);
      await within(TIME_LIMITS.captureMs, all.delete(captures));
    } catch (error) {
      logCaught(log, 'warn', 'a captured view could not be deleted', error);
      this.count('precis_captures_lost_total', 1, waitUntil);
    }
  }

  private count(
    name: 'precis_events_lost_total' | 'precis_captures_lost_total',
    by: number,
    waitUntil?: WaitUntil,
  ): void {
    const { metrics } = this.ports;
    metrics.count(name, {}, by);
    if (waitUntil) metrics.sendLater(waitUntil);
  }
}
