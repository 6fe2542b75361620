/**
 * Rolling memory (docs/design.md#8-summaries), the Worker's part: it looks the memory up in front
 * of a request, which never waits for a model, and hands the object what the next one is to be made
 * of when the round has been answered.
 */

import type { Cache } from '../lib/lru.ts';
import { soon, within } from '../lib/time-limit.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Boundary, Entry } from '../memory/conversation/passage.ts';
import { chained } from '../memory/conversation/prefix-hash.ts';
import type { Digest } from '../memory/edits/placeholder.ts';
import type { RollingStrategy } from '../memory/modes/rolling-summary.ts';
import { type DueMemory, dueMemory } from '../memory/plan/due-memory.ts';
import { encodingOf } from '../memory/strategy/models.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { callObject } from '../storage/conversation/key.ts';
import type { ClaimRequest, Found, Memory, Round } from '../storage/conversation/memories.ts';
import { type RefWriter, WRITE_LIMIT_MS } from '../storage/refs/writer.ts';
import type { RollMaterial, StoredConversation } from './conversation.ts';
import {
  fetchableRef,
  keepContent,
  NO_TRANSCRIPT,
  nameOf,
  type TranscriptPlace,
  transcriptOf,
} from './kept-transcript.ts';
import { Material, type SummaryRange } from './material.ts';
import { strategyHash } from './strategy-hash.ts';
import type { SummarizerTarget } from './summarizer.ts';
import { echoOf } from './text/entries.ts';
import { type KnownSummary, LEASE_MARGIN_MS, type SummaryTask } from './writer.ts';

/** No pause between two attempts is longer, in milliseconds. */
const LONGEST_PAUSE_MS = 60_000;

/**
 * A memory may always have so many tokens, half of what it covers or not: the first rounds of a
 * conversation are short, and a memory that is not shorter than they are is not shown.
 */
const ROOM_OF_THE_FIRST = 256;

/** An answer that the caller has been given, and is about to append. */
interface Answer {
  readonly text: string;
  /** See `Message.identity`. */
  readonly identity: string;
}

interface RollingPorts {
  readonly conversation: StoredConversation;
  /** Absent when nothing may be written. */
  readonly refs: RefWriter | undefined;
  readonly target: SummarizerTarget;
  readonly model: string | undefined;
  readonly digest: Digest;
  /** Digests that were written before. */
  readonly digests: Cache<string>;
  /** Takes a failure that the request survives, for the log. */
  failed(message: string, error: unknown): void;
  /** Loads the tokenizer, which only what is made needs, not what is looked up. */
  counting(): Promise<{ readonly counter: TokenCounter }>;
}

/** A digest of the rounds that should have been remembered. */
interface Backlog extends KnownSummary {
  /** The transcript's; undefined when it is not known to be written. */
  readonly ref: string | undefined;
  /** Whether it reaches elsewhere than it did a round before. */
  readonly moved: boolean;
}

/** The rolling memory of one request. */
export class RollingMemory {
  private readonly strategy: RollingStrategy;
  private readonly history: History;
  private readonly boundaries: Boundaries;
  private readonly ports: RollingPorts;

  constructor(strategy: RollingStrategy, history: History, boundaries: Boundaries, ports: RollingPorts) {
    this.strategy = strategy;
    this.history = history;
    this.boundaries = boundaries;
    this.ports = ports;
  }

  /** What is ready for this round. @throws when the object can't be asked in time */
  async find(pinned: boolean): Promise<Found> {
    const round = pinned ? this.round() : undefined;
    const request = {
      strategyHash: this.strategyHash,
      boundaries: this.boundaries.betweenRounds(),
      ...(round ? { round } : {}),
    };
    const asked = callObject(this.ports.conversation.memory, (stub) => stub.find(request));
    return within(WRITE_LIMIT_MS, asked);
  }

  /**
   * Hands over what the next memory is to be made of, if one is due. The object answers at once.
   *
   * @param answer the one that closes this round; absent when the round goes on
   * @param found what `find` has said
   * @param force the first memory does not wait for `summarize_after_seq`
   */
  async roll(answer: Answer | undefined, found: Found, force: boolean): Promise<void> {
    const over = this.roundsOver(answer, found);
    const due = dueMemory(force ? { ...this.strategy, summarize_after_seq: 0 } : this.strategy, over);
    if (!due) return;
    const { counter } = await this.ports.counting();
    const closing = due.boundary.end > this.history.messages.length ? answer : undefined;
    // A summary that covers more than the memory is to cover would tell it of what is not its own.
    const echo = echoOf(this.history);
    const prior = echo && echo.end < due.boundary.end ? echo : undefined;
    const base = found.memory && found.memory.covers_end <= due.boundary.end ? found.memory : undefined;
    if (base?.prefix_hash === due.boundary.prefixHash) return;
    const { conversation, target, model, refs } = this.ports;
    const made = this.material(this.windowRange(due, over, prior, closing, counter), counter, refs);
    const range = made.transcriptAfter(
      base && { ...base, ref: base.ref !== null && refs?.isKnown(base.ref) ? base.ref : null },
    );
    const content = transcriptOf(range, conversation.tenant, conversation.label, counter);
    const task = made.task(base);
    const { publishTo } = conversation;
    const material: RollMaterial = {
      task,
      target,
      encoding: encodingOf(model),
      transcript: refs ? nameOf(content, range, this.boundaries) : NO_TRANSCRIPT,
      ...(publishTo ? { publishTo } : {}),
    };
    const request = this.claimRequest(due, over, task, prior);
    const state = await callObject(conversation.memory, (stub) => stub.roll(request, material));
    // Written while the model is at work, and only when it is. A view looks for it again before it
    // names it.
    if (state === 'claimed' && refs) await keepContent(content, refs);
  }

  /**
   * What stands in for memory while the summarizer is down: the newest rounds stay verbatim, older
   * ones are in the digest. It reaches further by half of the limit at once, not with each round,
   * so that it does not change each time.
   *
   * @param dryRun nothing is stored
   */
  async backlog(found: Found, dryRun: boolean): Promise<Backlog | undefined> {
    const { memory } = found;
    const boundary = await this.digestEnd(found, dryRun);
    if (!boundary) return undefined;
    const { counter } = await this.ports.counting();
    const material = this.material(
      { ...this.range(boundary), limit: this.strategy.summary_max_tokens, pieceEnds: () => [boundary] },
      counter,
      dryRun ? undefined : this.ports.refs,
    );
    const text = material.digest(memory);
    if (text === '') return undefined;
    const { ref } = await material.keepTranscript(memory);
    const moved = (found.digest.before ?? '') !== boundary.prefixHash;
    return { text, end: boundary.end, ref: ref ?? undefined, moved };
  }

  /**
   * Where the digest of this round ends. The round's first request decides; the others follow,
   * however the summarizer is by then.
   */
  private async digestEnd({ memory, health, digest }: Found, dryRun: boolean): Promise<Boundary | undefined> {
    if (digest.here !== null) return digest.here === '' ? undefined : this.boundaries.ofHash(digest.here);
    const isDown = health === 'degraded' || health === 'recovering';
    const over = this.boundaries.betweenRounds().filter(({ end }) => end > (memory?.covers_end ?? 0));
    const boundary = isDown ? this.reachOf(over) : undefined;
    const round = this.round();
    if (round && !dryRun && (boundary || digest.before)) {
      const pinned = callObject(this.ports.conversation.memory, (stub) =>
        stub.pinDigest(round.hash, this.strategyHash, boundary?.prefixHash ?? ''),
      );
      await soon(
        WRITE_LIMIT_MS,
        pinned.catch((error: unknown) => this.ports.failed('a digest could not be pinned', error)),
      );
    }
    return boundary;
  }

  /** How far the digest reaches. @param over boundaries behind the rounds that no memory covers */
  private reachOf(over: readonly Boundary[]): Boundary | undefined {
    const { recovery_backlog_limit: limit, full_zone_turns } = this.strategy;
    const waiting = over.slice(0, Math.max(0, over.length - full_zone_turns));
    if (waiting.length <= limit) return undefined;
    const stride = Math.max(1, Math.floor(limit / 2));
    const reach = Math.ceil((waiting.length - limit) / stride) * stride;
    return waiting[Math.min(reach, waiting.length) - 1];
  }

  /** The ref of a memory's transcript; undefined when it can't be fetched. */
  async refOf(memory: Memory, dryRun: boolean): Promise<string | undefined> {
    if (dryRun) return memory.ref ?? undefined;
    const { counter } = await this.ports.counting();
    const place = this.place(counter);
    return place && fetchableRef(memory, place);
  }

  private place(counter: TokenCounter): TranscriptPlace | undefined {
    const { conversation, refs } = this.ports;
    return refs && { history: this.history, boundaries: this.boundaries, conversation, refs, counter };
  }

  /** Whether a memory should be there by now. */
  get isDue(): boolean {
    return dueMemory(this.strategy, this.boundaries.betweenRounds()) !== undefined;
  }

  private get strategyHash(): string {
    return strategyHash(this.strategy, this.ports.target.model);
  }

  /** All requests of a round see one memory, named by the array up to its question. */
  private round(): Round | undefined {
    const questions = this.history.turns.slice(-2).map((unit) => this.history.units[unit]?.first ?? 0);
    const hashes = questions.map((question) => this.boundaries.at(question + 1).prefixHash);
    const hash = hashes.at(-1);
    return hash === undefined
      ? undefined
      : { hash, previous: hashes.length > 1 ? (hashes[0] ?? null) : null };
  }

  /**
   * The rounds that are over, this one included when its answer is known. A caller who rewrites
   * answers before sending them back would never find a memory that was made with one; where
   * nothing of what is known matches, only what the array holds counts.
   */
  private roundsOver(answer: Answer | undefined, found: Found): readonly Boundary[] {
    const over = this.boundaries.betweenRounds();
    const { rounds } = this.boundaries;
    const last = this.history.messages.findLast(({ role }) => role !== 'preamble');
    const answered = rounds.length === 0 || last?.role === 'assistant';
    if (!answer || answered || (found.known && !found.memory)) return over;
    const { length } = this.history.messages;
    const { prefixHash } = this.boundaries.at(length);
    const hash = chained(prefixHash, answer.identity, this.ports.digest);
    return [...over, { prefixHash: hash, end: length + 1, sequence: 2 * rounds.length - 1 }];
  }

  private claimRequest(
    due: DueMemory,
    over: readonly Boundary[],
    { retries, from }: SummaryTask,
    prior: KnownSummary | undefined,
  ): ClaimRequest {
    const { target, conversation } = this.ports;
    const round = this.round();
    return {
      conversation: conversation.label,
      strategyHash: this.strategyHash,
      boundary: due.boundary,
      bases: over.filter(({ end }) => end < due.boundary.end),
      startSequence: due.start,
      windowSize: this.strategy.rolling_window_size,
      leaseMs: target.timeoutMs + retries.longestPauseMs + LEASE_MARGIN_MS,
      retryIntervalMs: this.strategy.degraded_retry_interval_s * 1_000,
      exclusive: 'conversation',
      from: prior && prior.end >= from ? 0 : from,
      ...(round ? { round } : {}),
    };
  }

  /** The rounds that a memory is to tell of. */
  private windowRange(
    due: DueMemory,
    over: readonly Boundary[],
    prior: KnownSummary | undefined,
    closing: Answer | undefined,
    counter: TokenCounter,
  ): SummaryRange {
    const { boundary, start } = due;
    const message = this.boundaries.rounds[start / 2]?.first ?? 0;
    const tokens = this.tokensBetween(message, boundary.end, counter) + counter.text(closing?.text ?? '');
    const half = Math.floor(tokens / 2);
    return {
      ...this.range(boundary),
      pieceEnds: () => over.filter(({ end }) => end <= boundary.end),
      window: { sequence: start, message },
      closing: closing && this.entryOf(closing),
      ...(prior ? { prior } : {}),
      limit: Math.min(this.strategy.summary_max_tokens, Math.max(half, ROOM_OF_THE_FIRST)),
    };
  }

  /** What all ranges have in common. */
  private range(boundary: Boundary): Omit<SummaryRange, 'limit' | 'pieceEnds'> {
    const { history, boundaries } = this;
    const { retry_attempts, retry_backoff_base_s, summary_focus, include_trajectory_digest } = this.strategy;
    return {
      history,
      boundaries,
      boundary,
      ...(summary_focus === undefined ? {} : { focus: summary_focus }),
      includeTrajectory: include_trajectory_digest,
      retries: {
        attempts: 1 + retry_attempts,
        backoffMs: retry_backoff_base_s * 1_000,
        longestPauseMs: LONGEST_PAUSE_MS,
      },
    };
  }

  private material(range: SummaryRange, counter: TokenCounter, refs: RefWriter | undefined): Material {
    const { conversation, model, digests } = this.ports;
    return new Material(range, { conversation, refs, counter, encoding: encodingOf(model), digests });
  }

  private entryOf({ text }: Answer): Entry {
    return { index: this.history.messages.length, role: 'assistant', text, calls: [] };
  }

  private tokensBetween(from: number, to: number, counter: TokenCounter): number {
    return this.history.messages
      .slice(from, to)
      .reduce((sum, message) => sum + (message.role === 'preamble' ? 0 : counter.message(message)), 0);
  }
}
