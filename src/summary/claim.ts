/**
 * The steps that all summaries share, over a prefix or over a window of rounds, with or without a
 * request that waits. A summary is claimed from the conversation's object. Then the claimer writes
 * it, or hands it over to the object.
 *
 * The chunks of a long prefix are versions of their own, so that nothing is read twice. A request
 * hands such a prefix over to the object, which outlives it.
 *
 * Summaries of prefixes and of windows differ in their order alone: a range of messages and the
 * terms of a claim.
 */
import type { Result } from '../lib/result.ts';
import { within } from '../lib/time-limit.ts';
import type { Log } from '../log.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import {
  type Chunk,
  type Claimed,
  type ClaimRequest,
  DIGEST_MODEL,
  type Memory,
  type OrderState,
  type Transcript,
} from '../storage/conversation/memories.ts';
import type { SummaryChain } from '../storage/conversation/remote.ts';
import type { ConversationMemoryStub } from '../storage/objects.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { sumOf } from './attempts.ts';
import type { RollMaterial, StoredConversation, SummaryPorts } from './conversation.ts';
import { NO_TRANSCRIPT } from './kept-transcript.ts';
import type { SummaryRange } from './material.ts';
import { askCompaction, type CompactionCall } from './own-compaction.ts';
import type { GuardedSummarizer } from './summarizer.ts';
import type { TranscriptChunk } from './text/transcript.ts';
import {
  knownOf,
  type Progress,
  type SummaryTask,
  type WritingFault,
  type WrittenSummary,
  writeSummary,
} from './writer.ts';

/** A summary to be made: its messages, and the terms of its claim. */
export interface SummaryOrder {
  readonly range: SummaryRange;
  /** See `ClaimRequest`. */
  readonly terms: Pick<
    ClaimRequest,
    'strategyHash' | 'bases' | 'windowSize' | 'retryIntervalMs' | 'exclusive' | 'round'
  >;
}

/**
 * @param timeoutMs of one call, see `longestCall`
 * @param task absent if its material begins with the first message
 */
export function claimRequest(
  { range, terms }: SummaryOrder,
  { label }: StoredConversation,
  timeoutMs: number,
  task?: SummaryTask,
): ClaimRequest {
  return {
    ...terms,
    conversation: label,
    boundary: range.boundary,
    startSequence: range.window?.sequence ?? 0,
    leaseMs: timeoutMs + range.retries.longestPauseMs + TIME_LIMITS.leaseMarginMs,
    from: task ? baseEnd(task) : 0,
  };
}

/** How long one call for a summary may take, in milliseconds. */
export function longestCall({ target, own }: Pick<SummaryPorts, 'target' | 'own'>): number {
  return Math.max(target.timeoutMs, own?.timeoutMs ?? 0);
}

/** The end that a stored base must reach, or 0 if the task contains its own base. */
function baseEnd({ from, prior }: SummaryTask): number {
  return prior && prior.end >= from ? 0 : from;
}

/** Calls the object. @throws if it does not answer in time */
export function ask<Result>(
  { memory }: StoredConversation,
  call: (stub: ConversationMemoryStub<RollMaterial>) => Promise<Result>,
  limitMs = TIME_LIMITS.objectCallMs,
): Promise<Result> {
  return within(limitMs, memory(call));
}

/**
 * Waits while another request, or the object, writes a text.
 *
 * @param text see `ConversationApi.settled`
 * @param late the end of the wait, in milliseconds since the epoch
 * @returns the cost of the object's own work
 * @throws if the object does not answer
 */
export function settled(
  conversation: StoredConversation,
  text: number | string,
  late: number,
): Promise<TokenUsage | null> {
  const left = Math.max(0, late - Date.now());
  return ask(conversation, (stub) => stub.settled(text, left), left + TIME_LIMITS.objectCallMs);
}

/**
 * Has the object make a summary in the background, unless it exists or is being made. The object
 * answers at once.
 *
 * @param transcript of all messages in the range
 * @param compaction see `RollMaterial`
 * @throws if the object does not answer
 */
export async function roll(
  order: SummaryOrder,
  task: SummaryTask,
  transcript: Transcript,
  conversation: StoredConversation,
  ports: SummaryPorts,
  compaction?: CompactionCall,
): Promise<OrderState> {
  const request = claimRequest(order, conversation, longestCall(ports), task);
  const material = await rollMaterial(task, transcript, ports, compaction);
  return ask(conversation, (stub) => stub.roll(request, material));
}

/** The input that the object needs to write a summary by itself. */
export async function rollMaterial(
  task: SummaryTask,
  transcript: Transcript,
  { target: { guard: _, ...target }, payer: payerOf, encoding, publication }: SummaryPorts,
  compaction?: CompactionCall,
): Promise<RollMaterial> {
  const publishTo = await publication();
  const payer = await payerOf();
  // No request waits for the object, so it may retry for longer.
  const { withinMs: _withinMs, ...retries } = task.retries;
  return {
    task: { ...task, retries },
    target,
    ...(payer ? { payer } : {}),
    encoding,
    transcript,
    ...(compaction ? { compaction } : {}),
    ...(publishTo ? { publishTo } : {}),
  };
}

/** The chain of summaries, called in this isolate or in another. */
type ReachedChain = {
  [Method in Exclude<keyof SummaryChain, 'spend'>]: (
    ...args: Parameters<SummaryChain[Method]>
  ) => ReturnType<SummaryChain[Method]> | Promise<ReturnType<SummaryChain[Method]>>;
};

/** Calls the chain. */
type Reach = <Result>(call: (chain: ReachedChain) => Result | Promise<Result>) => Promise<Result>;

/** How a claimed summary is written. */
interface ClaimedWork extends Pick<RollMaterial, 'task' | 'compaction'> {
  readonly target: GuardedSummarizer;
  readonly counter: TokenCounter;
  /** Logs why there is no summary of the API's own. */
  readonly log?: Log;
  /** The parts of the task, if they are known. */
  readonly chunks?: TranscriptChunk[] | undefined;
  readonly transcript: Transcript | Promise<Transcript>;
  readonly narrowed: Progress['narrowed'];
  /** Writes the digest that replaces a summary after a failure. An empty one replaces nothing. */
  digest?(): string;
  /** Receives the cost before the claim ends. */
  spent?(usage: TokenUsage): void;
  /** Publishes the text if this writer's claim has held. */
  publish?(text: string): Promise<void> | undefined;
}

/** The result of a claim. */
interface EndedClaim {
  /** The version for the boundary. Null if there is none. */
  readonly memory: Memory | null;
  /** `written`: by the summarizer. `handed_over`: the claim has not ended, see `Progress`. */
  readonly state: 'written' | 'failed' | 'handed_over';
  readonly usage: TokenUsage;
}

/** Writes a claimed summary, and ends the claim with it or with the code of a failure. */
export async function writeClaimed(
  reach: Reach,
  { memoryId, lease, base }: Claimed,
  work: ClaimedWork,
): Promise<EndedClaim> {
  const { task, target, counter, compaction } = work;
  const start = Date.now();
  const progress = {
    retrying: (error: string) => reach((chain) => chain.retrying(memoryId, lease, error)),
    renew: () => reach((chain) => chain.renew(memoryId, lease)),
    narrowed: work.narrowed,
    advance: async (chunk: Pick<Chunk, 'boundary' | 'text' | 'tokens'>) => {
      const { model } = target;
      const made = { ...chunk, ...NO_TRANSCRIPT, model, ms: Date.now() - start };
      return (await reach((chain) => chain.advance(memoryId, lease, made))) !== null;
    },
  };
  const byItself = () => writeSummary(task, knownOf(base), target, counter, progress, work.chunks);
  const [written, transcript] = await Promise.all([ownFirst(work, progress, byItself), work.transcript]);
  const ms = Date.now() - start;
  const { usage } = written.ok ? written.value : written.reason;
  const spent = usage.cost === undefined ? {} : { cost: usage.cost };
  work.spent?.(usage);
  if (!written.ok) {
    if (written.reason.error === 'handed_over') return { memory: null, state: 'handed_over', usage };
    const text = work.digest?.() ?? '';
    const digest = text === '' ? {} : { digest: { text, tokens: counter.text(text), ms, ...transcript } };
    const { error, cause } = written.reason;
    const failure = { error, ...spent, ...(cause === undefined ? {} : { cause }), ...digest };
    const memory = await reach((chain) => chain.fail(memoryId, lease, failure));
    return { memory, state: 'failed', usage };
  }
  const { text, tokens, signed } = written.value;
  const { model } = (signed === undefined ? undefined : compaction) ?? target;
  const made = { text, tokens, signed, model, ms, ...spent, ...transcript };
  const memory = await reach((chain) => chain.complete(memoryId, lease, made));
  // Another writer publishes its own text, and a deleted conversation publishes none.
  if (memory && (memory.memory_id === memoryId || memory.model === DIGEST_MODEL)) await work.publish?.(text);
  return { memory, state: 'written', usage };
}

/** A summary, and what is kept of it beside its text (see `Memory`). */
type MadeSummary = WrittenSummary & { readonly signed?: string };

/** Asks for the API's own summary first, if there is a call for it. */
async function ownFirst(
  { target, compaction, counter, log }: ClaimedWork,
  progress: Progress,
  byItself: () => Promise<Result<WrittenSummary, WritingFault>>,
): Promise<Result<MadeSummary, WritingFault>> {
  if (!compaction) return byItself();
  const { made, usage } = await askCompaction(compaction, target.guard, counter, progress.retrying);
  if (made.ok) return { ok: true, value: { ...made.value, usage } };
  const { error: code, cause } = made.reason;
  const fields = { code, ...(cause === undefined ? {} : { error: cause }) };
  log?.('info', "the API's own summary was not made", fields);
  if (!(await progress.renew())) return { ok: false, reason: { error: 'lease_lost', usage } };
  const written = await byItself();
  if (!written.ok)
    return { ok: false, reason: { ...written.reason, usage: sumOf(usage, written.reason.usage) } };
  return { ok: true, value: { ...written.value, usage: sumOf(usage, written.value.usage) } };
}
