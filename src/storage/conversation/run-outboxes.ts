/**
 * Gathers the events of this isolate's requests, and sends those of a conversation together, two
 * seconds after the last call. The first event of a quiet conversation goes at once, so only those
 * that follow it within two seconds wait. A read, a full batch or too many bytes end that wait
 * earlier, but not the one after a failure. One per isolate.
 *
 * A request whose event begins a batch waits for it under its own `waitUntil`, since timers and
 * calls belong to requests. The others cost no call and no timer. What an isolate holds is bounded,
 * and is given up when it is too old: a deletion may have come since.
 */
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import { pause, soon, within } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { WaitUntil } from '../refs/writer.ts';
import type { EndedRun, RunBatch } from './run-batch.ts';
import { type Load, RunOutbox } from './run-outbox.ts';

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
   * @throws StoreError
   */
  keep(conversation: string, batches: readonly RunBatch[]): Promise<void>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export class RunOutboxes {
  private readonly ports: RunOutboxesPorts;
  /** By conversation; the one that was used last is last. */
  private readonly outboxes = new Map<string, RunOutbox>();
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
      this.ports.log('warn', 'an event of a request is lost, since storage does not answer');
      this.loseOne(outbox, waitUntil);
    } else outbox.add(run, now);
    const dueAt = this.dueAt(outbox, now);
    if (outbox.dueAt === undefined || dueAt < outbox.dueAt || outbox.isStranded(now))
      waitUntil(this.deliver(outbox, dueAt, waitUntil));
  }

  /** Loses an event that could not be made. */
  lose(tenant: Tenant, conversation: string, waitUntil: WaitUntil): void {
    this.loseOne(this.outboxOf(tenant, conversation), waitUntil);
  }

  /**
   * Sends the events of this isolate, so that a caller who has its answer can read them. Those of
   * other isolates come within `eventBatchMs`. Takes `keptEventsMs` at most, and never throws.
   *
   * @param owner a conversation's name, or a tenant's id
   */
  async settled(owner: string): Promise<void> {
    const end = Date.now() + TIME_LIMITS.keptEventsMs;
    await fewAtOnce(AT_ONCE, this.of(owner), async (outbox) => {
      const begin = Date.now();
      if (begin >= end) return;
      if (outbox.sending) await soon(end - begin, outbox.sending);
      const now = Date.now();
      if (now >= end || !outbox.hasWork || outbox.sending || now < outbox.nextCallAt(true)) return;
      await soon(end - now, this.send(outbox));
    });
  }

  /**
   * Drops the events of a conversation, or of a tenant, that is being deleted. Those of requests
   * that came after the deletion began stay. Never throws.
   *
   * @param began when the deletion began, in milliseconds since 1970
   * @returns whether there were any
   */
  async drop(owner: string, began: number): Promise<boolean> {
    const calls = this.of(owner).map(({ sending }) => sending);
    // What is kept meanwhile, the deletion finds.
    await soon(TIME_LIMITS.keptEventsMs, Promise.all(calls));
    const counts = this.of(owner).map((outbox) => {
      const count = outbox.drop(began);
      if (!outbox.hasWork) this.outboxes.delete(outbox.name);
      return count;
    });
    return counts.some((count) => count > 0);
  }

  private of(owner: string): RunOutbox[] {
    return [...this.outboxes.values()].filter(({ name, tenant }) => name === owner || tenant.id === owner);
  }

  /** When the next call of an outbox is due. */
  private dueAt(outbox: RunOutbox, now: number): number {
    return Math.max(now, outbox.nextCallAt(this.load.bytes > SENT_EARLY));
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
    for (let due = dueAt; ; due = this.dueAt(outbox, Date.now())) {
      outbox.dueAt = due;
      // Even without a wait, the last bytes of the answer go first.
      await pause(Math.max(0, due - Date.now()));
      // A call of another request.
      while (outbox.sending) await soon(TIME_LIMITS.keepEventMs, outbox.sending);
      const now = Date.now();
      const isDue = this.dueAt(outbox, now) <= now;
      if (!outbox.hasWork || (isDue && (await this.send(outbox, waitUntil)))) return;
      const waitsElsewhere = outbox.dueAt !== undefined && outbox.dueAt !== due;
      if (waitsElsewhere || Date.now() > end) return;
    }
  }

  /** @returns whether all was kept, or given up. Never rejects */
  private send(outbox: RunOutbox, waitUntil?: WaitUntil): Promise<boolean> {
    const call = this.sendNow(outbox, waitUntil).finally(() => {
      if (outbox.call === call) outbox.call = undefined;
    });
    outbox.call = call;
    return call;
  }

  private async sendNow(outbox: RunOutbox, waitUntil?: WaitUntil): Promise<boolean> {
    const { keep, log } = this.ports;
    const now = Date.now();
    outbox.dueAt = undefined;
    const old = outbox.giveUp(now);
    if (old > 0) log('warn', 'events of requests are too old to be sent, and are lost');
    this.countLost(old, waitUntil);
    if (!outbox.hasWork) return true;
    outbox.sentAt = now;
    const batches = outbox.take(now);
    try {
      await within(TIME_LIMITS.keepEventMs, keep(outbox.name, batches));
      outbox.succeeded(batches);
      return true;
    } catch (error) {
      // What would be too old for the next call is given up with the cause at hand.
      const lost = outbox.giveUp(Math.max(Date.now(), outbox.nextCallAt(false)));
      const then = lost > 0 ? 'are lost' : 'are sent again';
      logCaught(log, 'warn', `events of requests could not be kept, and ${then}`, error);
      this.countLost(lost, waitUntil);
      return !outbox.hasWork;
    }
  }

  private loseOne(outbox: RunOutbox, waitUntil: WaitUntil): void {
    outbox.lose();
    this.countLost(1, waitUntil);
  }

  private countLost(count: number, waitUntil?: WaitUntil): void {
    if (count === 0) return;
    const { metrics } = this.ports;
    metrics.count('precis_events_lost_total', {}, count);
    if (waitUntil) metrics.sendLater(waitUntil);
  }
}
