/**
 * The events of one conversation that an isolate has gathered, and those that it has sent without
 * an answer. A batch is sent again under the same place, so that its conversation keeps it once.
 */
import type { Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { type EndedRun, ListCutter, type NewRun, type RunBatch } from './run-batch.ts';

/** What a batch holds. With the bills that its object adds, it is far below the 2 MB of a row. */
const LARGEST_BATCH = { runs: 400, bytes: 512 * 1024 };

/** Bytes of an event beside its texts: its bill's numbers, and hashes. */
const BESIDE_TEXTS = 512;

/** How often a batch is sent. */
const TRIES = 2;

/** A batch that was sent, and may or may not have been kept. */
interface Unsure {
  readonly batch: RunBatch;
  readonly bytes: number;
  readonly tries: number;
}

/** Events that are given up. */
export interface LostRuns {
  readonly count: number;
  /** Their captures. */
  readonly captures: readonly string[];
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
  /** The call in progress. It never rejects. */
  sending: Promise<boolean> | undefined;

  private readonly load: Load;
  private readonly sender = crypto.randomUUID();
  /** How many events came, and how many are known to be kept, as `RunBatch` says. */
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

  /** Whether the request that should have sent the events was cut off. */
  isStranded(now: number): boolean {
    const { sentAt, dueAt = sentAt } = this;
    return this.hasWork && now > Math.max(sentAt, dueAt) + TIME_LIMITS.keepEventMs + TIME_LIMITS.cutOffMs;
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
  add({ event, ...rest }: EndedRun): void {
    const { edits, left_out, ...facts } = event;
    const text = JSON.stringify(facts);
    this.came++;
    this.grow(BESIDE_TEXTS + text.length);
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

  /** The batches to send now, the oldest first. Call `succeeded` or `failed` with them. */
  take(): readonly RunBatch[] {
    if (this.runs.length > 0) {
      const { sender, kept, taken, runs, gathered } = this;
      const batch = { sender, kept, from: taken, runs, parts: [...this.parts.keys()] };
      this.unsure = [...this.unsure, { batch, bytes: gathered, tries: 0 }];
      this.empty();
    }
    return this.unsure.map(({ batch }) => batch);
  }

  succeeded(batches: readonly RunBatch[]): void {
    for (const { from, runs } of batches) this.kept = Math.max(this.kept, from + runs.length);
    this.settle(this.unsure.filter(({ batch }) => !batches.includes(batch)));
  }

  /** @returns those that were tried often enough */
  failed(batches: readonly RunBatch[]): LostRuns {
    const tried = this.unsure.map((one) =>
      batches.includes(one.batch) ? { ...one, tries: one.tries + 1 } : one,
    );
    const isOver = ({ tries }: Unsure): boolean => tries >= TRIES;
    this.settle(tried.filter((one) => !isOver(one)));
    const lost = tried.filter(isOver).flatMap(({ batch }) => batch.runs);
    return { count: lost.length, captures: lost.flatMap(({ capture }) => capture ?? []) };
  }

  /** Drops everything. */
  drop(): void {
    this.settle([]);
    this.load.bytes -= this.gathered;
    this.empty();
  }

  private settle(unsure: readonly Unsure[]): void {
    const bytesOf = (all: readonly Unsure[]): number => all.reduce((sum, { bytes }) => sum + bytes, 0);
    this.load.bytes -= bytesOf(this.unsure) - bytesOf(unsure);
    this.unsure = unsure;
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
    return parts.map((part) => {
      const known = this.parts.get(part);
      if (known !== undefined) return known;
      this.grow(part.length);
      this.parts.set(part, this.parts.size);
      return this.parts.size - 1;
    });
  }

  private grow(bytes: number): void {
    this.gathered += bytes;
    this.load.bytes += bytes;
  }
}

function newLists(): Readonly<Record<'edits' | 'leftOut', ListCutter>> {
  return { edits: new ListCutter(), leftOut: new ListCutter() };
}
