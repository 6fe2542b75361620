/**
 * The events of one conversation that an isolate has gathered, and those that it has sent without
 * an answer. A batch is sent again under the same place, so that its conversation keeps it once.
 */
import type { Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { type EndedRun, ListCutter, type NewRun, type RunBatch } from './run-batch.ts';

/**
 * What a batch holds before it is full. Its last event may exceed that, and a row of SQLite has 2
 * MB.
 */
const LARGEST_BATCH = { runs: 400, bytes: 1024 * 1024 };

/** What a row has of an event beside its text: two bills at most, and the names of members. */
const BESIDE_TEXT_BYTES = 1_536;

/** A part of a list is named by its hash, in JSON. */
const NAME_BYTES = 67;

const utf8 = new TextEncoder();

/** A batch that was sent, and may or may not have been kept. */
interface Unsure {
  readonly batch: RunBatch;
  readonly bytes: number;
}

/** Bytes of all outboxes of an isolate. */
export interface Load {
  bytes: number;
}

export class RunOutbox {
  readonly tenant: Tenant;
  /** See `conversationName`. */
  readonly name: string;
  /** When the last call began, in milliseconds since 1970. */
  sentAt = Number.NEGATIVE_INFINITY;
  /** When a request will send the gathered events; undefined if none waits for that. */
  dueAt: number | undefined;
  /** The last call, until it ends. See `sending`. */
  call: Promise<boolean> | undefined;

  private readonly load: Load;
  private sender = crypto.randomUUID();
  /** How many events came, and the place after the last that is known to be kept. */
  private came = 0;
  private kept = 0;
  /** How many came before those that are gathered now. */
  private taken = 0;
  private runs: NewRun[] = [];
  /** The index of each part. */
  private parts = new Map<string, number>();
  private lists = newLists();
  /** In bytes. */
  private gathered = 0;
  /** When the first of those that are gathered came. */
  private gatheredAt = 0;
  private unsure: readonly Unsure[] = [];

  constructor(tenant: Tenant, name: string, load: Load) {
    this.tenant = tenant;
    this.name = name;
    this.load = load;
  }

  /** Whether there is anything to send. */
  get hasWork(): boolean {
    return this.runs.length > 0 || this.unsure.length > 0;
  }

  /** The call in progress. It never rejects; one that never ends was cut off with its request. */
  get sending(): Promise<boolean> | undefined {
    return Date.now() < this.sentAt + TIME_LIMITS.keepEventMs ? this.call : undefined;
  }

  /**
   * When the next call may begin.
   *
   * @param isUrgent whether it need not wait for more events. After a failure it waits all the same
   */
  nextCallAt(isUrgent: boolean): number {
    const hurries = (isUrgent || this.isFull) && this.unsure.length === 0;
    return hurries ? Number.NEGATIVE_INFINITY : this.sentAt + TIME_LIMITS.eventBatchMs;
  }

  /** Whether the request that should have sent the events was cut off. */
  isStranded(now: number): boolean {
    const { sentAt, dueAt = sentAt } = this;
    return this.hasWork && !this.sending && now > Math.max(sentAt, dueAt) + TIME_LIMITS.cutOffMs;
  }

  /** Whether another batch is full before the fate of the one before is known. */
  get isStuck(): boolean {
    return this.isFull && this.unsure.length > 0;
  }

  /** Whether a batch has become large enough to be sent. */
  get isFull(): boolean {
    return this.runs.length >= LARGEST_BATCH.runs || this.gathered >= LARGEST_BATCH.bytes;
  }

  /** Takes an event. */
  add({ event, ...rest }: EndedRun, now = Date.now()): void {
    const { edits, left_out, ...facts } = event;
    const text = JSON.stringify(facts);
    if (this.runs.length === 0) this.gatheredAt = now;
    this.came++;
    this.grow(BESIDE_TEXT_BYTES + bytesOf(text));
    this.runs.push({
      ...rest,
      at: event.created_at,
      event: text,
      edits: this.indicesOf(this.lists.edits.cut(edits)),
      left_out: this.indicesOf(this.lists.leftOut.cut(left_out)),
    });
  }

  /** Loses an event, for which there is no room. The next batch tells the conversation. */
  lose(): void {
    this.came++;
  }

  /** The batches to send now, the oldest first. Call `succeeded` if they were kept. */
  take(now = Date.now()): readonly RunBatch[] {
    if (this.runs.length > 0) {
      const { sender, kept, taken, runs, gathered } = this;
      const batch = { sender, kept, from: taken, takenAt: now, runs, parts: [...this.parts.keys()] };
      this.unsure = [...this.unsure, { batch, bytes: gathered }];
      this.empty();
    }
    return this.unsure.map(({ batch }) => batch);
  }

  succeeded(batches: readonly RunBatch[]): void {
    for (const { sender, from, runs } of batches)
      if (sender === this.sender) this.kept = Math.max(this.kept, from + runs.length);
    this.settle(({ batch }) => !batches.includes(batch));
  }

  /**
   * Gives up what is too old to be sent. The next batch tells the conversation. An event that was
   * gathered has the time of a batch, after its own call should have begun and ended.
   *
   * @returns how many are lost
   */
  giveUp(now: number): number {
    let lost = this.settle(({ batch }) => now - batch.takenAt < TIME_LIMITS.eventGiveUpMs);
    const gatherMs = TIME_LIMITS.eventBatchMs + TIME_LIMITS.keepEventMs + TIME_LIMITS.eventGiveUpMs;
    if (this.runs.length > 0 && now - this.gatheredAt >= gatherMs) {
      lost += this.runs.length;
      this.dropGathered();
    }
    return lost;
  }

  /**
   * Drops the events of requests that came before a deletion. The conversation is told of none.
   *
   * @param began when the deletion began, in milliseconds since 1970
   * @returns how many go
   */
  drop(began: number): number {
    const isLater = ({ at }: NewRun): boolean => at > began;
    const gone = this.settle(({ batch }) => batch.runs.some(isLater));
    const rest = this.runs.filter(isLater);
    const count = gone + this.runs.length - rest.length;
    if (rest.length > 0) this.runs = rest;
    else this.dropGathered();
    this.sender = crypto.randomUUID();
    this.kept = 0;
    this.taken = 0;
    this.came = rest.length;
    return count;
  }

  /** @returns how many events the batches have that don't stay */
  private settle(stays: (one: Unsure) => boolean): number {
    const gone = this.unsure.filter((one) => !stays(one));
    for (const { bytes } of gone) this.load.bytes -= bytes;
    this.unsure = this.unsure.filter(stays);
    return gone.reduce((sum, { batch }) => sum + batch.runs.length, 0);
  }

  private dropGathered(): void {
    this.load.bytes -= this.gathered;
    this.empty();
  }

  /** Begins a new batch. */
  private empty(): void {
    this.taken = this.came;
    this.runs = [];
    this.parts = new Map();
    this.lists = newLists();
    this.gathered = 0;
  }

  private indicesOf(parts: readonly string[]): number[] {
    this.grow(NAME_BYTES * parts.length);
    return parts.map((part) => {
      const known = this.parts.get(part);
      if (known !== undefined) return known;
      this.grow(bytesOf(part));
      this.parts.set(part, this.parts.size);
      return this.parts.size - 1;
    });
  }

  private grow(bytes: number): void {
    this.gathered += bytes;
    this.load.bytes += bytes;
  }
}

function bytesOf(text: string): number {
  return utf8.encode(text).length;
}

function newLists(): Readonly<Record<'edits' | 'leftOut', ListCutter>> {
  return { edits: new ListCutter(), leftOut: new ListCutter() };
}
