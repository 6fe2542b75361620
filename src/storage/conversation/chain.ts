/**
 * The version chain of one conversation's summaries, in the SQLite of its Durable Object: what is
 * to be made, which version is valid, which one to serve.
 *
 * Every method is one synchronous decision without `await` between reading and writing, since input
 * gates don't cover `fetch` or R2. `rows.ts` has the reads, `writer.ts` the writes.
 *
 * A version belongs to one hash and one strategy hash (mode, focus, size, model, prompt). It builds
 * on the longest completed version whose hash is in the array: never on a digest, but also on a
 * summary that came too late for its own boundary. The first completed text for a hash stays, even
 * if it is a digest. A row in progress that the object does not make (`texts.ts`) is lost: its
 * writer has ended with an earlier life of the object. Who wants its version next begins anew.
 */

import { InvariantError } from '../../lib/invariant-error.ts';
import type { Boundary } from '../../memory/conversation/passage.ts';
import type { Nanodollars } from '../../memory/money/amounts.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { StoredPart } from '../tables.ts';
import type { BillLedger } from './bills.ts';
import { Lineages } from './lineages.ts';
import {
  afterFailure,
  afterRetry,
  assertFits,
  type Chunk,
  type Claim,
  type Claimed,
  type Continuity,
  DIGEST_MODEL,
  type Failure,
  type FindRequest,
  type Found,
  HEALTHY,
  isResting,
  type Memory,
  type Overview,
  type SavedMemory,
  type SummaryNumbers,
  type TextRequest,
  type Written,
} from './memories.ts';
import { Pins } from './pins.ts';
import { MemoryRows } from './rows.ts';
import type { ConversationState } from './state.ts';
import type { ConversationTables } from './tables.ts';
import { type ChainPorts, MemoryWriter, WRITER_LOST } from './writer.ts';

/** Other parts of the conversation's object that the chain needs. */
interface ChainStorage {
  readonly tables: ConversationTables;
  readonly state: ConversationState;
  readonly bills: BillLedger;
}

/**
 * After this many summaries in a row, none of which a later array holds, a conversation rests: its
 * client sends only its newest messages. A fork or an edited history costs one or two.
 */
const MOST_UNLINKED = 4;

const CONTINUES: Continuity = { unlinked: 0, retryAt: 0 };

/** This many lost writers in a row count as a failure. */
const MOST_LOST = 5;

export class MemoryChain implements StoredPart {
  private readonly tables: ConversationTables;
  private readonly state: ConversationState;
  private readonly bills: BillLedger;
  private readonly ports: ChainPorts;
  private readonly rows: MemoryRows;
  private readonly writer: MemoryWriter;
  private readonly pins: Pins;
  private readonly lineages: Lineages;
  /** Whether a caller named the session. */
  private readonly isNamed: boolean;

  /** @param opening see `Lineages` */
  constructor({ tables, state, bills }: ChainStorage, ports: ChainPorts, opening?: string) {
    this.ports = ports;
    this.isNamed = opening === undefined;
    this.tables = tables;
    this.state = state;
    this.bills = bills;
    this.rows = new MemoryRows(tables.versions);
    this.writer = new MemoryWriter(tables.versions, ports);
    this.pins = new Pins(tables.versions, this.rows);
    this.lineages = new Lineages(tables, ports, opening);
  }

  /**
   * Decides what becomes of a wanted version. A digest counts as ready, since a text that was used
   * is not replaced.
   *
   * @param begins whether it is to be made now: only then a row is added
   * @param hasRoom whether the object can hold what it is made of
   */
  claim(request: TextRequest, begins: boolean, hasRoom = true): Claim {
    const lineage = this.lineages.of(request);
    const claim = this.decide(request, lineage, begins, hasRoom);
    if (claim.state !== 'wanted' && this.tables.exists())
      this.lineages.use(lineage, request.round, this.tables.now());
    // Only a round that found no rows is not pinned yet.
    if (begins && request.round) this.pins.pinToNone(request.round.hash, request.strategyHash, lineage);
    return claim;
  }

  private decide(request: TextRequest, lineage: string, begins: boolean, hasRoom: boolean): Claim {
    const { strategyHash, boundary, bases } = request;
    const ready = this.rows.longest(strategyHash, [boundary]);
    const base = ready ? null : this.baseOf(request);
    if (ready || base) this.continues();
    if (ready) {
      if (begins) this.ports.log('debug', `No new messages to summarize for ${this.ports.logName()}`);
      return { state: 'ready', memory: ready };
    }
    if ((base?.covers_end ?? 0) < request.from) return { state: 'gone' };
    const rows = this.rows.inTheMaking(request, lineage);
    const made = rows.find(({ memory_id }) => this.ports.making().includes(memory_id));
    if (made) {
      this.ports.log('debug', `Summarization already in progress for ${this.ports.logName()}`);
      return { state: 'busy', memoryId: made.memory_id, base };
    }
    const began = this.tables.now();
    const health = this.lineages.health(lineage);
    if (isResting(health, began)) return { state: 'resting', base, retryAt: health.retryAt };
    const isUnlinked =
      this.isNamed && !base && bases.length > 0 && this.rows.anyWritten(strategyHash, lineage);
    if (isUnlinked && this.isUnlinked())
      return { state: 'resting', base, retryAt: this.continuity().retryAt, unlinked: true };
    if (!begins || !hasRoom) return { state: 'wanted', base, health: health.state };
    this.tables.make();
    this.lineages.use(lineage, undefined, began);
    for (const { memory_id } of rows) this.writer.close(memory_id, WRITER_LOST);
    const attempts = 1 + Math.max(0, ...rows.map((row) => row.attempts));
    const lost = Math.max(0, ...rows.map((row) => row.lost + 1));
    // A text that ends each life of the object would otherwise be begun forever.
    if (lost >= MOST_LOST) {
      const failed = afterFailure(health, began, request.retryIntervalMs);
      this.lineages.saveHealth(lineage, failed);
      return { state: 'resting', base, retryAt: failed.retryAt };
    }
    if (isUnlinked) {
      const unlinked = this.continuity().unlinked + 1;
      this.tables.set('continuity', { unlinked, retryAt: began + TIME_LIMITS.unlinkedRestMs });
    }
    if (health.state === 'degraded') this.lineages.saveHealth(lineage, { ...health, state: 'recovering' });
    const memoryId = this.writer.open(request, lineage, base, { attempts, lost });
    return { state: 'claimed', memoryId, base, lineage, began, request };
  }

  /** The version that a wanted one builds on. */
  baseOf({ strategyHash, bases }: TextRequest): Memory | null {
    return this.rows.longest(strategyHash, bases, { buildable: true });
  }

  /** Whether no summary is made, since the conversation's requests never continue each other. */
  private isUnlinked(): boolean {
    const { unlinked, retryAt } = this.continuity();
    return unlinked >= MOST_UNLINKED && this.tables.now() < retryAt;
  }

  private continues(): void {
    if (this.continuity().unlinked > 0) this.tables.set('continuity', CONTINUES);
  }

  private continuity(): Continuity {
    return this.tables.get('continuity') ?? CONTINUES;
  }

  /** Counts another attempt. */
  retrying({ memoryId, lineage }: Claimed, error: string): void {
    this.writer.retry(memoryId, error);
    this.lineages.saveHealth(lineage, afterRetry(this.lineages.health(lineage)));
  }

  /** Counts the cost of a text. The cost of a deleted conversation would bring it back. */
  spend(cost: Nanodollars | null | undefined): void {
    if (this.rows.any()) this.bills.spend(cost);
  }

  /**
   * Stores a part of a long prefix as its own version, and makes it the base of the claimed row. An
   * existing version stays.
   *
   * @throws RangeError if the text is too long
   */
  advance({ memoryId, request }: Claimed, chunk: Chunk): void {
    assertFits(chunk.text);
    if (this.rows.longest(request.strategyHash, [chunk.boundary], { buildable: true })) return;
    const version = this.rows.row(this.writer.branch(memoryId, chunk));
    this.writer.rebase(memoryId, version);
    this.writer.reportCompleted(version.memory_id);
  }

  /**
   * @returns the version for the boundary: this one, or one that existed before
   * @throws RangeError if the text is too long
   */
  complete({ memoryId, lineage }: Claimed, written: Written): Memory {
    assertFits(written.text);
    this.lineages.saveHealth(lineage, HEALTHY);
    const before = this.rows.instead(memoryId);
    if (before?.model === DIGEST_MODEL) {
      // The digest is in use and stays; later summaries build on this one.
      this.writer.complete(memoryId, written);
      return before;
    }
    if (before) {
      // A longer text has passed through this boundary and its part may be in use, so this one
      // must not precede it.
      this.writer.close(memoryId, 'superseded');
      return before;
    }
    this.writer.complete(memoryId, written);
    return this.rows.row(memoryId);
  }

  /**
   * Ends a row without a summary. Each failure in a row doubles the time until the next attempt.
   *
   * @returns the version for the boundary, if one has come meanwhile
   */
  fail({ memoryId, lineage, began, request }: Claimed, { error, cause }: Failure): Memory | null {
    const health = this.lineages.health(lineage);
    const failed = afterFailure(health, this.tables.now(), request.retryIntervalMs, began);
    if (failed !== health) this.lineages.saveHealth(lineage, failed);
    this.writer.close(memoryId, error, cause);
    return this.rows.instead(memoryId);
  }

  /**
   * Stores a digest for a boundary that is not being summarized, so that it stays once used.
   *
   * @param baseMemoryId the version that the digest continues
   * @returns the version for the boundary: this one, or one that existed before
   * @throws RangeError if the text is too long
   */
  keepDigest(request: TextRequest, baseMemoryId: number | null, digest: Omit<Written, 'model'>): Memory {
    assertFits(digest.text);
    const ready = this.rows.longest(request.strategyHash, [request.boundary]);
    if (ready) return ready;
    this.tables.make();
    const lineage = this.lineages.of(request);
    this.lineages.use(lineage, request.round, this.tables.now());
    return this.rows.row(this.writer.keepDigest(request, lineage, baseMemoryId, digest));
  }

  /**
   * The longest version that may serve. The first answer for a round holds for all its requests,
   * until one asks anew.
   */
  find(request: FindRequest): Found {
    const { strategyHash, boundaries, round, anew } = request;
    if (round && anew) this.pins.release(round.hash, strategyHash);
    const lineage = this.lineages.find(boundaries, round);
    const memory = round
      ? this.pins.memory(request, round.hash, lineage)
      : this.rows.longest(strategyHash, boundaries);
    const here = round && this.pins.of(round.hash, strategyHash);
    const before = round?.previous == null ? undefined : this.pins.of(round.previous, strategyHash);
    // A version that an isolate remembers is confirmed by this, and claimed no more.
    if (memory) this.continues();
    if (lineage !== null && memory) this.lineages.use(lineage, undefined, this.tables.now());
    return {
      memory,
      moved: round !== undefined && (memory?.memory_id ?? null) !== (before?.memory_id ?? null),
      health: this.lineages.health(lineage).state,
      ...(!memory && this.isUnlinked() ? { unlinked: true } : {}),
      digest: { here: here?.digest_hash ?? null, before: before?.digest_hash ?? null },
      known: lineage !== null && this.rows.anyCompleted(strategyHash, lineage),
    };
  }

  /**
   * Sets the hash up to which a round's digest reaches, unless it is set; empty means no digest.
   */
  pinDigest(round: string, strategyHash: string, hash: string): void {
    this.pins.pinDigest(round, strategyHash, hash);
  }

  endsAt(memoryId: number, { prefixHash }: Boundary): boolean {
    return this.rows.row(memoryId).prefix_hash === prefixHash;
  }

  /** See `Lineages`. */
  lineageOf(request: TextRequest): string {
    return this.lineages.of(request);
  }

  overview(): Overview {
    return {
      exists: this.tables.exists(),
      settings: this.state.settings(),
      health: (this.tables.get('health') ?? HEALTHY).state,
      ...this.rows.listing(this.ports.making()),
      rounds: this.pins.listing(),
    };
  }

  /**
   * Has one version, or none, and these settings replace all versions, rounds and health; the
   * frozen injection stays. What is in the making must be dropped. Must run in one transaction.
   *
   * @throws InvariantError if the session is a hash, and holds several conversations
   */
  restore({ conversation, settings, memory }: SavedMemory): void {
    const lineage = this.lineages.find([], undefined);
    if (lineage === null) throw new InvariantError('only a conversation with an id of its own is restored');
    this.tables.make();
    this.tables.versions.clear();
    if (memory) this.writer.restore(memory, lineage, conversation);
    this.state.configure(settings);
    this.lineages.saveHealth(lineage, HEALTHY);
  }

  standing(): SummaryNumbers {
    return {
      exists: this.tables.exists(),
      health: this.lineages.worst(),
      ...this.rows.numbers(this.ports.making()),
      bills: this.bills.sums(),
    };
  }

  any(): boolean {
    return this.rows.any();
  }

  /** Deletes all versions. What is in the making must be dropped. */
  strip(): void {
    this.tables.versions.clear();
  }
}
