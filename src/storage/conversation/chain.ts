/**
 * The version chain of one conversation's summaries, in the SQLite of its Durable Object: who may
 * write, which version is valid, which one to serve.
 *
 * Every method is one synchronous decision without `await` between reading and writing, since input
 * gates don't cover `fetch` or R2. `rows.ts` has the reads, `writer.ts` the writes.
 *
 * A version belongs to one hash and one strategy hash (mode, focus, size, model, prompt). It builds
 * on the longest completed version whose hash is in the array: never on a digest, but also on a
 * summary that came too late for its own boundary. The first completed text for a hash stays, even
 * if it is a digest. One request holds the lease of a row; an expired lease, or a row older than
 * five minutes, is taken over.
 */

import { InvariantError } from '../../lib/invariant-error.ts';
import type { Boundary } from '../../memory/conversation/passage.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { BillLedger } from './bills.ts';
import { turnOf } from './claims.ts';
import { Lineages } from './lineages.ts';
import {
  afterFailure,
  afterRetry,
  assertFits,
  type Chunk,
  type Claim,
  type ClaimRequest,
  DIGEST_MODEL,
  type Failure,
  type FindRequest,
  type Found,
  HEALTHY,
  type HealthState,
  healthOf,
  isHeld,
  type Memory,
  type Overview,
  type SavedMemory,
  type SummaryStanding,
  type Written,
} from './memories.ts';
import { Pins } from './pins.ts';
import { MemoryRows } from './rows.ts';
import type { ConversationState } from './state.ts';
import type { ConversationTables, StoredPart } from './tables.ts';
import { LEASE_EXPIRED, MemoryWriter, type WriterPorts } from './writer.ts';

/** Services that the chain needs. */
interface ChainPorts extends WriterPorts {
  /** A new name that nobody can guess. */
  readonly newLease: () => string;
  readonly healthChanged?: (before: HealthState, health: HealthState) => void;
}

/** Other parts of the conversation's object that the chain needs. */
interface ChainStorage {
  readonly tables: ConversationTables;
  readonly state: ConversationState;
  readonly bills: BillLedger;
}

/**
 * After so many summaries in a row, none of which a later array holds, a conversation rests: its
 * client sends only its newest messages. A fork or an edited history costs one or two.
 */
const MOST_UNLINKED = 4;

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
    this.rows = new MemoryRows(this.tables);
    this.writer = new MemoryWriter(tables.sql, ports);
    this.pins = new Pins(this.tables, this.rows);
    this.lineages = new Lineages(this.tables, this.state, opening, ports.healthChanged);
  }

  /**
   * Makes one caller the writer of a summary. A digest counts as ready, since a text that was used
   * is not replaced.
   */
  claim(request: ClaimRequest): Claim {
    const lineage = this.lineages.of(request);
    const claim = this.decide(request, lineage);
    if (this.tables.exists()) this.lineages.use(lineage, request.round, this.ports.now());
    // Only a round that found no rows is not pinned yet.
    if (request.round) this.pins.pinToNone(request.round.hash, request.strategyHash, lineage);
    return claim;
  }

  private decide(request: ClaimRequest, lineage: string): Claim {
    const { strategyHash, boundary, bases } = request;
    const ready = this.rows.longest(strategyHash, [boundary]);
    const base = ready ? null : this.rows.longest(strategyHash, bases, { buildable: true });
    if (ready || base) this.continues();
    if (ready) return { state: 'ready', memory: ready };
    if ((base?.covers_end ?? 0) < request.from) return { state: 'gone' };
    const now = this.ports.now();
    const health = this.lineages.health(lineage);
    const turn = turnOf(this.rows.inTheMaking(request, lineage), health, now, request.retryIntervalMs);
    if (turn.state === 'busy') {
      this.ports.log('debug', `Summarization already in progress for ${this.ports.logName()}`);
      return { state: 'busy', memoryId: turn.row.memory_id, base };
    }
    this.tables.make();
    this.lineages.use(lineage, undefined, now);
    const isUnlinked =
      this.isNamed && !base && bases.length > 0 && this.rows.anyWritten(strategyHash, lineage);
    if (isUnlinked && turn.state === 'free') {
      if (this.isUnlinked())
        return { state: 'resting', base, retryAt: this.state.continuity().retryAt, unlinked: true };
      const unlinked = this.state.continuity().unlinked + 1;
      this.state.saveContinuity({ unlinked, retryAt: now + TIME_LIMITS.unlinkedRestMs });
    }
    if (turn.health !== health) this.lineages.saveHealth(lineage, turn.health);
    for (const { memory_id } of turn.lost) this.writer.close(memory_id, LEASE_EXPIRED);
    if (turn.state === 'resting') return { state: 'resting', base, retryAt: turn.health.retryAt };
    const lease = this.ports.newLease();
    const memoryId = this.writer.open(request, lineage, base, lease, turn.attempts);
    return { state: 'claimed', memoryId, lease, base };
  }

  /** Whether no summary is made, since the conversation's requests never continue each other. */
  private isUnlinked(): boolean {
    const { unlinked, retryAt } = this.state.continuity();
    return unlinked >= MOST_UNLINKED && this.ports.now() < retryAt;
  }

  private continues(): void {
    if (this.state.continuity().unlinked > 0) this.state.saveContinuity({ unlinked: 0, retryAt: 0 });
  }

  /**
   * Counts another attempt and renews the lease.
   *
   * @returns false if the lease is lost, and the caller should stop
   */
  retrying(memoryId: number, lease: string, error: string): boolean {
    if (!this.rows.holds(memoryId, lease)) return false;
    this.writer.retry(memoryId, error);
    const { lineage } = this.rows.claimed(memoryId);
    this.lineages.saveHealth(lineage, afterRetry(this.lineages.health(lineage)));
    return true;
  }

  /**
   * Renews the lease of work in progress.
   *
   * @returns false if it is lost, and the caller should stop
   */
  renew(memoryId: number, lease: string): boolean {
    if (!this.rows.holds(memoryId, lease)) return false;
    this.writer.renew(memoryId);
    return true;
  }

  /**
   * Stores a part of a long prefix as its own version, makes it the base of the claimed row, and
   * renews the lease. An existing version stays.
   *
   * @returns the version; null if the lease is lost
   * @throws RangeError if the text is too long
   */
  advance(memoryId: number, lease: string, chunk: Chunk): Memory | null {
    assertFits(chunk.text);
    if (!this.rows.holds(memoryId, lease)) return null;
    const { strategy_hash } = this.rows.row(memoryId);
    const existing = this.rows.longest(strategy_hash, [chunk.boundary], { buildable: true });
    if (existing) {
      this.writer.renew(memoryId);
      return existing;
    }
    const version = this.rows.row(this.writer.branch(memoryId, chunk.boundary, chunk));
    this.writer.rebase(memoryId, version);
    this.writer.reportCompleted(version.memory_id);
    return version;
  }

  /**
   * @returns the version for the boundary: this one, or one that existed before. null if the lease
   *   is lost and there is none
   * @throws RangeError if the text is too long
   */
  complete(memoryId: number, lease: string, written: Written): Memory | null {
    assertFits(written.text);
    if (this.rows.any()) this.bills.spend(lease, written.cost);
    if (!this.rows.holds(memoryId, lease)) return this.rows.instead(memoryId, lease);
    this.lineages.saveHealth(this.rows.claimed(memoryId).lineage, HEALTHY);
    const before = this.rows.instead(memoryId, lease);
    if (before?.model === DIGEST_MODEL) {
      // The digest is in use and stays; later summaries build on this one.
      this.writer.complete(memoryId, written);
      return before;
    }
    if (before) {
      // A longer claim has passed through this boundary and its text may be in use, so this one
      // must not precede it.
      this.writer.close(memoryId, 'superseded');
      return before;
    }
    this.writer.complete(memoryId, written);
    return this.rows.row(memoryId);
  }

  /**
   * Ends a claim without a summary. Each failure in a row doubles the time until the next attempt.
   *
   * @returns the version for the boundary, usually the digest; null if there is none
   * @throws RangeError if the digest is too long
   */
  fail(memoryId: number, lease: string, { error, cause, cost, digest }: Failure): Memory | null {
    if (digest) assertFits(digest.text);
    if (this.rows.any()) this.bills.spend(lease, cost);
    if (!this.rows.holds(memoryId, lease)) return this.rows.instead(memoryId, lease);
    const { lineage, retry_interval_ms, created_at } = this.rows.claimed(memoryId);
    const health = this.lineages.health(lineage);
    const failed = afterFailure(health, this.ports.now(), retry_interval_ms, created_at);
    if (failed !== health) this.lineages.saveHealth(lineage, failed);
    const before = this.rows.instead(memoryId, lease);
    const digested =
      digest && !before ? this.writer.branch(memoryId, null, { ...digest, model: DIGEST_MODEL }) : undefined;
    // Last, since callers waiting for this row must find the digest.
    this.writer.close(memoryId, error, cause);
    if (digested === undefined) return before;
    this.writer.logStatus(digested, 'completed');
    return this.rows.row(digested);
  }

  /**
   * Stores a digest for a boundary that is not being summarised, so that it stays once used.
   *
   * @param baseMemoryId the version that the digest continues
   * @returns the version for the boundary: this one, or one that existed before
   * @throws RangeError if the text is too long
   */
  keepDigest(request: ClaimRequest, baseMemoryId: number | null, digest: Omit<Written, 'model'>): Memory {
    assertFits(digest.text);
    const ready = this.rows.longest(request.strategyHash, [request.boundary]);
    if (ready) return ready;
    this.tables.make();
    const lineage = this.lineages.of(request);
    this.lineages.use(lineage, request.round, this.ports.now());
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
    const previous = round?.previous == null ? null : (this.pins.of(round.previous, strategyHash) ?? null);
    // A version that an isolate remembers is confirmed by this, and claimed no more.
    if (memory) this.continues();
    if (lineage !== null && memory) this.lineages.use(lineage, undefined, this.ports.now());
    return {
      memory,
      moved: round !== undefined && (memory?.memory_id ?? null) !== previous,
      health: this.lineages.health(lineage).state,
      ...(!memory && this.isUnlinked() ? { unlinked: true } : {}),
      digest: {
        here: round ? this.pins.digestOf(round.hash, strategyHash) : null,
        before: round?.previous == null ? null : this.pins.digestOf(round.previous, strategyHash),
      },
      known: lineage !== null && this.rows.anyCompleted(strategyHash, lineage),
    };
  }

  /**
   * Sets the hash up to which a round's digest reaches, unless it is set; empty means no digest.
   */
  pinDigest(round: string, strategyHash: string, hash: string): void {
    this.pins.pinDigest(round, strategyHash, hash);
  }

  /** Undoes a claim. */
  abandon(memoryId: number, lease: string): void {
    if (this.rows.holds(memoryId, lease)) this.writer.remove(memoryId);
  }

  isProcessing(memoryId: number): boolean {
    return this.rows.isProcessing(memoryId);
  }

  /** Whether a version ends at a boundary. */
  endsAt(memoryId: number, { prefixHash }: Boundary): boolean {
    return this.rows.row(memoryId).prefix_hash === prefixHash;
  }

  /** See `Lineages`. */
  lineageOf(request: ClaimRequest): string {
    return this.lineages.of(request);
  }

  /**
   * A version that has an active writer, and the milliseconds that its lease still lasts.
   *
   * @param request of those alone that a claim would meet
   */
  inTheMaking(request?: ClaimRequest): { readonly memoryId: number; readonly leaseMs: number } | undefined {
    const now = this.ports.now();
    const rows = request ? this.rows.inTheMaking(request, this.lineages.of(request)) : this.rows.processing();
    const row = rows.find((one) => isHeld(one, now));
    if (!row) return undefined;
    const until = Math.min(row.lease_until, row.created_at + TIME_LIMITS.stuckClaimMs);
    return { memoryId: row.memory_id, leaseMs: until - now };
  }

  overview(): Overview {
    const exists = this.tables.exists();
    const stats = { avg_ms: null, max_ms: null, total_summaries: 0 };
    const nothing = { conversation_memory: null, memories: [], rounds: [], stats, stuck: false };
    const known = { exists, settings: this.state.settings(), health: this.state.health().state };
    if (!exists) return { ...known, ...nothing };
    return { ...known, ...this.rows.listing(this.ports.now()), rounds: this.pins.listing() };
  }

  /**
   * Replaces versions, rounds, health and settings; the frozen injection stays. Active writers lose
   * their leases. Must run in one transaction.
   *
   * @throws InvariantError if the session is a hash, and holds several conversations
   */
  restore({ conversation, settings, health, memories, rounds }: SavedMemory): void {
    const lineage = this.lineages.find([], undefined);
    if (lineage === null) throw new InvariantError('only a conversation with an id of its own is restored');
    this.tables.make();
    this.tables.deleteVersions();
    for (const memory of memories) this.writer.restore(memory, lineage, conversation);
    this.pins.restore(rounds, lineage);
    this.state.configure(settings);
    this.lineages.saveHealth(lineage, healthOf(health));
  }

  standing(): SummaryStanding {
    const bills = this.bills.sums();
    if (!this.tables.exists())
      return {
        exists: false,
        health: 'healthy',
        stuck: false,
        versions: 0,
        tokens: null,
        days: [],
        bills,
      };
    const { versions, tokens, stuck, days } = this.rows.numbers(this.ports.now());
    return { exists: true, health: this.lineages.worst(), stuck, versions, tokens, days, bills };
  }

  any(): boolean {
    return this.rows.any();
  }

  /** Deletes all versions. Active writers lose their leases. */
  strip(): void {
    this.tables.deleteVersions();
  }
}
