/**
 * Sends the events of this isolate's requests to their conversations. One per isolate.
 *
 * A conversation has one call at a time, a moment after its first event: those that come meanwhile
 * go together. The request whose event is the first of a call makes it under its own `waitUntil`,
 * since timers and calls belong to requests. A call that fails is made once more.
 */
import { pause, soon, within } from '../../lib/time-limit.ts';
import { type Log, logged } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { WaitUntil } from '../refs/writer.ts';
import type { ConversationName } from './names.ts';
import { bytesOf, type EndedRun, type NewRun, newRun, type RunBatch } from './run-batch.ts';

/** Of a call. Its last event may exceed that, and a row of SQLite has 2 MB. */
const FULL_BYTES = 1024 * 1024;

/** Of all calls that have not ended. Above it events are lost: storage does not answer then. */
const MOST_BYTES = 8 * 1024 * 1024;

/** What the platform gives to work after an answer. A call that is older was cut off with it. */
const GIVEN_MS = 30_000;

interface RunOutboxesPorts {
  /** Has a conversation keep events. @throws StoreError */
  keep(conversation: ConversationName, batch: RunBatch): Promise<void>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A call from its first event to its end. */
interface Outgoing {
  readonly key: string;
  readonly tenant: string;
  readonly conversation: ConversationName;
  readonly begunAt: number;
  runs: NewRun[];
  bytes: number;
  /** Sends it at once, if it still waits for more events. */
  readonly hurry: PromiseWithResolvers<void>;
  isSent: boolean;
  /** Never rejects. */
  ended: Promise<void>;
}

export class RunOutboxes {
  private readonly ports: RunOutboxesPorts;
  /** The oldest first. */
  private readonly calls = new Set<Outgoing>();
  /** The newest call of each conversation. */
  private readonly newest = new Map<string, Outgoing>();
  private bytes = 0;

  constructor(ports: RunOutboxesPorts) {
    this.ports = ports;
  }

  /** Takes an event. Nothing waits for it. */
  add(tenant: Tenant, conversation: ConversationName, ended: EndedRun, waitUntil: WaitUntil): void {
    this.giveUp(waitUntil);
    if (this.bytes > MOST_BYTES) {
      this.ports.log('warn', 'an event of a request is lost, since storage does not answer');
      this.lose(1, waitUntil);
      return;
    }
    const run = newRun(ended);
    const newest = this.newest.get(conversation);
    const isOpen = newest && !newest.isSent && newest.bytes < FULL_BYTES;
    const call = isOpen ? newest : this.begin(tenant.id, conversation, waitUntil, newest);
    const bytes = bytesOf(run);
    call.runs.push(run);
    call.bytes += bytes;
    this.bytes += bytes;
    if (call.bytes >= FULL_BYTES) call.hurry.resolve();
  }

  /** Counts events that are lost. */
  lose(count: number, waitUntil: WaitUntil): void {
    const { metrics } = this.ports;
    metrics.count('precis_events_lost_total', {}, count);
    metrics.sendLater(waitUntil);
  }

  /**
   * Waits until the events of this isolate are kept, so that a caller who has its answer can read
   * them. Takes `keptEventsMs` at most, and never throws. A call that was cut off never ends.
   *
   * @param owner a conversation's name, or a tenant's id
   */
  async settled(owner: string): Promise<void> {
    const calls = this.of(owner).filter((call) => !isCutOff(call));
    for (const { hurry } of calls) hurry.resolve();
    await soon(TIME_LIMITS.keptEventsMs, Promise.all(calls.map(({ ended }) => ended)));
  }

  /**
   * Drops the events of a conversation, or of a tenant, that is being deleted, and waits for the
   * calls under way, since the deletion finds what is kept meanwhile. The events of requests that
   * came after it began stay. Never throws.
   *
   * @param began when the deletion began, in milliseconds since 1970
   * @returns whether there were any
   */
  async drop(owner: string, began: number): Promise<boolean> {
    let dropped = 0;
    for (const call of this.of(owner)) {
      const later = call.runs.filter(({ at }) => at > began);
      dropped += call.runs.length - later.length;
      call.runs = later;
    }
    await this.settled(owner);
    return dropped > 0;
  }

  private of(owner: string): Outgoing[] {
    return [...this.calls].filter(({ conversation, tenant }) => conversation === owner || tenant === owner);
  }

  private begin(tenant: string, conversation: string, waitUntil: WaitUntil, before?: Outgoing): Outgoing {
    const call: Outgoing = {
      key: crypto.randomUUID(),
      tenant,
      conversation,
      begunAt: Date.now(),
      runs: [],
      bytes: 0,
      hurry: Promise.withResolvers(),
      isSent: false,
      ended: Promise.resolve(),
    };
    this.calls.add(call);
    this.newest.set(conversation, call);
    call.ended = this.make(call, before?.ended, waitUntil);
    waitUntil(call.ended);
    return call;
  }

  /** Never rejects. @param before the end of the call before it */
  private async make(call: Outgoing, before: Promise<void> | undefined, waitUntil: WaitUntil): Promise<void> {
    // The last bytes of the answer go first.
    await soon(TIME_LIMITS.gatherEventsMs, call.hurry.promise);
    if (before) await soon(2 * TIME_LIMITS.keepEventMs + TIME_LIMITS.eventPauseMs, before);
    call.isSent = true;
    if (!(await this.isKept(call, 'are sent again'))) {
      await pause(TIME_LIMITS.eventPauseMs);
      if (!(await this.isKept(call, 'are lost'))) this.lose(call.runs.length, waitUntil);
    }
    this.end(call);
  }

  /** Sends the events of a call. @param then what happens to them otherwise */
  private async isKept({ key, conversation, runs }: Outgoing, then: string): Promise<boolean> {
    const { keep, log } = this.ports;
    if (runs.length === 0) return true;
    return within(TIME_LIMITS.keepEventMs, keep(conversation, { key, runs })).then(
      () => true,
      logged(log, 'warn', `events of requests could not be kept, and ${then}`, false),
    );
  }

  /** Gives up calls that were cut off with their requests. */
  private giveUp(waitUntil: WaitUntil): void {
    for (const call of this.calls) {
      if (!isCutOff(call)) return;
      this.end(call);
      this.ports.log('warn', 'events of requests are lost, since their request was cut off');
      this.lose(call.runs.length, waitUntil);
      call.runs = [];
    }
  }

  private end(call: Outgoing): void {
    if (!this.calls.delete(call)) return;
    this.bytes -= call.bytes;
    if (this.newest.get(call.conversation) === call) this.newest.delete(call.conversation);
  }
}

/** Whether its request was cut off before it could end. */
function isCutOff({ begunAt }: Outgoing): boolean {
  return Date.now() - begunAt >= GIVEN_MS;
}
