/**
 * Rolling memory (docs/modes.md#rolling_summary), the Worker's part. A memory is recalled before
 * the plan, without waiting for a model. After the answer, the material of the next memory is
 * handed over to the conversation's object.
 *
 * The first request of a round decides which version or digest all its requests see, so a tool loop
 * keeps its cached prefix while the next memory is being made. A request that would be refused with
 * it decides anew. `view/fulfil.ts` recalls the memory that is ready and pins it for the round, and
 * `memory/modes/rolling-summary.ts` plans around it. When an answer has closed the round, or a
 * request is refused, `memory/plan/due-memory.ts` says which memory is due, and the object gets its
 * material and makes it (`background.ts`).
 */

import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Boundary } from '../memory/conversation/passage.ts';
import type { UsedMemory } from '../memory/modes/planned.ts';
import type { RollingStrategy } from '../memory/modes/rolling-summary.ts';
import {
  type Answer,
  beginsRound,
  type DueMemory,
  digestBoundary,
  dueMemory,
  isBetweenRounds,
  roundOf,
  roundsOver,
} from '../memory/plan/due-memory.ts';
import type { Warning } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Found, Memory, TextState } from '../storage/conversation/memories.ts';
import { hashesKey } from '../storage/conversation/remembered.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import {
  type ServedSummary,
  type StoredConversation,
  type SummaryPorts,
  servedOf,
  statusOf,
} from './conversation.ts';
import { fetchableRef, ownRef } from './kept-transcript.ts';
import { Material, ROOM_OF_THE_FIRST, type SummaryRange, tokensBetween } from './material.ts';
import { ask, orderText, type TextTerms } from './order.ts';
import { hintsOf, strategyHash } from './strategy-hash.ts';
import { NO_USAGE } from './summarizer.ts';
import { echoOf } from './text/entries.ts';
import type { HeldSummary } from './writer.ts';

/** How long an isolate relies on it that a memory is made, in milliseconds. */
const MADE_MS = 5 * 60_000;

/** A request whose view is planned around a memory. */
export interface MemoryNeed {
  readonly strategy: RollingStrategy;
  readonly history: History;
  readonly boundaries: Boundaries;
  /** A summary from the caller. `stale` if it covers other messages. */
  readonly held: HeldSummary | 'stale' | undefined;
  /** Nothing is stored. Refs are named as if they were written. */
  readonly dryRun: boolean;
  /** Whether the caller wants the view alone, and no round sees it. */
  readonly viewOnly: boolean;
  /** Whether the view was refused with the memory of its round, which is chosen anew. */
  readonly anew: boolean;
}

/** A memory for a plan and a report. */
export type RecalledMemory = UsedMemory &
  ServedSummary & {
    /** The view of an array with fewer messages can't have had it. Absent if that is not known. */
    readonly shownFrom?: number;
  };

interface Recalled {
  readonly memory: RecalledMemory | undefined;
  /** The answer of the conversation's object. Undefined if it could not be called. */
  readonly found: Found | undefined;
  readonly warnings: readonly Warning[];
}

/** The answer if nothing is stored. */
const NOTHING: Found = {
  memory: null,
  moved: false,
  health: 'healthy',
  digest: { here: null, before: null },
  known: false,
};

/**
 * The memory for a request. Of the stored memory, the caller's summary and, while the summarizer is
 * down, a digest, the one that covers most is used.
 */
export async function recallMemory(need: MemoryNeed, ports: SummaryPorts): Promise<Recalled> {
  const found = ports.conversation ? await find(need, ports.conversation, ports) : NOTHING;
  const conversation = found && ports.conversation;
  const warnings: Warning[] = found ? [] : ['store_failed'];
  const choice = { need, ports: { ...ports, conversation }, found: found ?? NOTHING, warnings };
  return { memory: await memoryOf(choice), found, warnings };
}

/** The stored memory for this round. Undefined if the object does not answer in time. */
async function find(
  { strategy, history, boundaries, dryRun, viewOnly, anew }: MemoryNeed,
  conversation: StoredConversation,
  { target, upkeep, log }: SummaryPorts,
): Promise<Found | undefined> {
  // Between two rounds the newest memory is shown, and no round is pinned to it.
  const isFree = dryRun || (viewOnly && isBetweenRounds(boundaries));
  const round = isFree ? undefined : roundOf(history, boundaries);
  const request = {
    strategyHash: strategyHash(strategy, target.model),
    boundaries: boundaries.betweenRounds(),
    ...(round ? { round, anew } : {}),
  };
  const key = round && hashesKey(request.strategyHash, round.hash);
  const findAndRemember = async (): Promise<Found> => {
    const at = Date.now();
    const found = await ask(conversation, (stub) => stub.versions.find(request), TIME_LIMITS.refWriteMs);
    if (key !== undefined) rememberRound(key, found, at, conversation);
    return found;
  };
  const seen = key === undefined || anew ? undefined : conversation.remembered.of('rounds').get(key);
  const known = seen && foundIn(request.boundaries, seen.value);
  if (known) {
    upkeep.of(conversation.name).rely('round', seen.at, async () => void (await findAndRemember()));
    return known;
  }
  try {
    return await findAndRemember();
  } catch (error) {
    logCaught(log, 'warn', 'a conversation could not be asked for its memory', error);
    return undefined;
  }
}

/**
 * Remembers an answer if it holds for the whole round: the summarizer works, and no digest is to be
 * pinned.
 */
function rememberRound(key: string, found: Found, at: number, { remembered }: StoredConversation): void {
  const { health, digest } = found;
  if (health === 'healthy' && (digest.here !== null || !digest.before))
    remembered.of('rounds').keep(key, found, at);
  else remembered.of('rounds').drop(key);
}

/**
 * A remembered answer for this array. The hash of a round leaves out the preamble, so this array
 * may have another count of messages. Undefined if it does not have the memory's boundary.
 */
function foundIn(boundaries: readonly Boundary[], found: Found): Found | undefined {
  const { memory } = found;
  if (!memory) return found;
  const boundary = boundaries.find(({ prefixHash }) => prefixHash === memory.prefix_hash);
  return boundary && { ...found, memory: { ...memory, covers_end: boundary.end } };
}

/** What a memory is chosen by. */
interface Choice {
  readonly need: MemoryNeed;
  readonly ports: SummaryPorts;
  readonly found: Found;
  /** Those for the caller are added. */
  readonly warnings: Warning[];
}

async function memoryOf(choice: Choice): Promise<RecalledMemory | undefined> {
  const { need, ports, found, warnings } = choice;
  const { strategy, boundaries } = need;
  const { memory, health } = found;
  const held = need.held === 'stale' ? undefined : need.held;
  if (need.held === 'stale') warnings.push('stale_summary');
  const digest = await digestOf(choice);
  if (digest || health === 'degraded') warnings.push('summary_degraded');
  if (digest && digest.end >= (held?.end ?? 0)) {
    warnIfLost(choice, digest.ref);
    return digest;
  }
  if (held && held.end > (memory?.covers_end ?? 0)) {
    if (boundaries.betweenRounds().some(({ end }) => end === held.end)) {
      const ref = await ownRef(held.ref, ports);
      return { ...held, ref, status: 'completed', moved: false, usage: NO_USAGE };
    }
    warnings.push('stale_summary');
  }
  if (memory) return storedMemory(choice, memory);
  const isDue = ports.conversation && dueMemory(strategy, boundaries.betweenRounds());
  if (found.unlinked) warnings.push('history_cut');
  else if (isDue && health !== 'degraded') warnings.push('summary_pending');
  return undefined;
}

async function storedMemory(choice: Choice, memory: Memory): Promise<RecalledMemory> {
  const { history, boundaries, strategy } = choice.need;
  const ref = await refOf(choice, memory);
  warnIfLost(choice, ref);
  // It is made after the answers of the rounds that stay in full.
  const next = boundaries.rounds[(memory.end_sequence + 1) / 2 + strategy.full_zone_turns];
  return {
    ...servedOf(memory, ref, statusOf(memory)),
    end: memory.covers_end,
    // The frontier moves with the first request of a round only.
    moved: choice.found.moved && beginsRound(history),
    from: boundaries.rounds[memory.start_sequence / 2]?.first ?? 0,
    shownFrom: next ? next.first + 1 : memory.covers_end,
  };
}

/** The digest that replaces memory while the summarizer is down. */
async function digestOf(choice: Choice): Promise<RecalledMemory | undefined> {
  const { need, ports, found } = choice;
  const { history, strategy, dryRun } = need;
  const boundary = await digestEnd(choice);
  if (!boundary) return undefined;
  const { counter } = await ports.counting();
  const range = {
    ...rangeOf(need, boundary),
    limit: strategy.summary_max_tokens,
    pieceEnds: () => [boundary],
  };
  const material = new Material(range, ports, counter, !dryRun);
  const digest = await material.keepDigest(found.memory);
  if (!digest) return undefined;
  const { text, ref } = digest;
  const moved = beginsRound(history) && (found.digest.before ?? '') !== boundary.prefixHash;
  const shown = { text, ref: ref ?? undefined, from: 0, end: boundary.end, shownFrom: boundary.end, moved };
  return { ...shown, status: 'degraded', usage: NO_USAGE };
}

/**
 * Where the digest of this round ends. The round's first request decides it for the others, even
 * if the summarizer recovers.
 */
async function digestEnd({ need, ports, found }: Choice): Promise<Boundary | undefined> {
  const { strategy, history, boundaries, dryRun } = need;
  const { memory, health, digest } = found;
  const { conversation, target, log } = ports;
  if (digest.here !== null) return digest.here === '' ? undefined : boundaries.ofHash(digest.here);
  const isDown = health === 'degraded' || health === 'recovering';
  const over = boundaries.betweenRounds().filter(({ end }) => end > (memory?.covers_end ?? 0));
  const boundary = isDown ? digestBoundary(strategy, over) : undefined;
  const round = roundOf(history, boundaries);
  if (conversation && round && !dryRun && (boundary || digest.before)) {
    const pinned = conversation.memory((stub) =>
      stub.versions.pinDigest(round.hash, strategyHash(strategy, target.model), boundary?.prefixHash ?? ''),
    );
    await soon(
      TIME_LIMITS.refWriteMs,
      pinned.catch((error: unknown) => {
        logCaught(log, 'warn', 'a digest could not be pinned', error);
      }),
    );
  }
  return boundary;
}

/** The ref of a memory's transcript. Undefined if it can't be fetched. */
async function refOf({ need, ports }: Choice, memory: Memory): Promise<string | undefined> {
  const { history, boundaries, dryRun } = need;
  if (dryRun) return memory.ref ?? undefined;
  const { conversation, refs, counting } = ports;
  if (!conversation || !refs) return undefined;
  const { counter } = await counting();
  return fetchableRef(memory, { history, boundaries, conversation, refs, counter });
}

function warnIfLost({ need, warnings }: Choice, ref: string | undefined): void {
  if (ref === undefined && !need.dryRun) warnings.push('store_failed');
}

/**
 * Orders the next memory, if one is due. The object answers at once.
 *
 * @param answer closes this round; absent if the round goes on
 * @param found the object's answer before the plan
 * @param force the first memory does not wait for `summarize_after_seq`
 * @returns what became of the order; undefined if none is due
 * @throws if the object does not answer
 */
export async function rollMemory(
  need: MemoryNeed,
  answer: Answer | undefined,
  found: Found,
  force: boolean,
  ports: SummaryPorts,
): Promise<TextState | undefined> {
  const { history, boundaries, strategy } = need;
  const { conversation } = ports;
  if (!conversation || found.unlinked) return undefined;
  // A caller who rewrites answers before sending them back would never find a memory made with one.
  // If no stored memory matches, only the array counts.
  const counted = found.known && !found.memory ? undefined : answer;
  const over = roundsOver(history, boundaries, counted, sha256Hex);
  const due = dueMemory(force ? { ...strategy, summarize_after_seq: 0 } : strategy, over);
  if (!due) return undefined;
  const base = found.memory ?? undefined;
  if (base && base.covers_end >= due.boundary.end) return undefined;
  // The same round may be answered again: its material takes time to put together.
  const hash = strategyHash(strategy, ports.target.model);
  const made = `${hashesKey(hash, due.boundary.prefixHash)} made`;
  const prepared = ports.prepared(conversation.name);
  if (!force && Date.now() - (prepared.get(made) ?? 0) < MADE_MS) return 'ready';
  const { counter } = await ports.counting();
  const closing = due.boundary.end > history.messages.length ? answer : undefined;
  const range = windowRange(need, due, over, closing, counter);
  const terms = windowTerms(need, due, over, hash);
  const ordered = { material: new Material(range, ports, counter) };
  const { state } = await orderText(terms, conversation, ports, 0, ordered, base);
  if (state === 'ready') prepared.set(made, Date.now());
  return state;
}

function windowTerms(
  { strategy, history, boundaries }: MemoryNeed,
  { boundary, start }: DueMemory,
  over: readonly Boundary[],
  hash: string,
): TextTerms {
  const round = roundOf(history, boundaries);
  return {
    strategyHash: hash,
    boundary,
    bases: over.filter(({ end }) => end < boundary.end),
    startSequence: start,
    windowSize: strategy.rolling_window_size,
    retryIntervalMs: strategy.degraded_retry_interval_s * 1_000,
    exclusive: 'conversation',
    ...(round ? { round } : {}),
  };
}

/** The rounds in a window. */
function windowRange(
  need: MemoryNeed,
  { boundary, start }: DueMemory,
  over: readonly Boundary[],
  closing: Answer | undefined,
  counter: TokenCounter,
): SummaryRange {
  const { strategy, history, boundaries } = need;
  const message = boundaries.rounds[start / 2]?.first ?? 0;
  const tokens = tokensBetween(history, message, boundary.end, counter) + counter.text(closing?.text ?? '');
  // A summary that covers more than the memory must not become a part of it.
  const echo = echoOf(history);
  const prior = echo && echo.end < boundary.end ? echo : undefined;
  return {
    ...rangeOf(need, boundary),
    pieceEnds: () => over.filter(({ end }) => end <= boundary.end),
    window: { sequence: start, message },
    closing: closing && {
      index: history.messages.length,
      role: 'assistant',
      text: closing.text,
      calls: [],
    },
    ...(prior ? { prior } : {}),
    limit: Math.min(strategy.summary_max_tokens, Math.max(Math.floor(tokens / 2), ROOM_OF_THE_FIRST)),
  };
}

/** The range that memories and digests share. */
function rangeOf(
  { strategy, history, boundaries }: MemoryNeed,
  boundary: Boundary,
): Omit<SummaryRange, 'limit' | 'pieceEnds'> {
  const { retry_attempts, retry_backoff_base_s, include_trajectory_digest } = strategy;
  return {
    history,
    boundaries,
    boundary,
    hints: hintsOf(strategy),
    includeTrajectory: include_trajectory_digest,
    retries: {
      attempts: 1 + retry_attempts,
      backoffMs: retry_backoff_base_s * 1_000,
      longestPauseMs: TIME_LIMITS.longestRollingPauseMs,
    },
  };
}
