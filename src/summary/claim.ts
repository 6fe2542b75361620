/**
 * What the making of every summary has in common, whether a request waits for it or not, over a
 * prefix or over a window of rounds: it is claimed from the conversation's object, written by the
 * one who has claimed it, or handed over to the object.
 */
import { within } from '../lib/time-limit.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { ConversationMemoryStub } from '../storage/conversation/key.ts';
import {
  type Chunk,
  type Claim,
  type Claimed,
  type ClaimRequest,
  DIGEST_MODEL,
  type Memory,
  type Transcript,
} from '../storage/conversation/memories.ts';
import type { SummaryChain } from '../storage/conversation/remote.ts';
import type { RollMaterial, StoredConversation, SummaryPorts } from './conversation.ts';
import { NO_TRANSCRIPT } from './kept-transcript.ts';
import type { SummaryRange } from './material.ts';
import type { SummarizerTarget } from './summarizer.ts';
import type { TranscriptChunk } from './text/transcript.ts';
import { knownOf, LEASE_MARGIN_MS, type SummaryTask, writeSummary } from './writer.ts';

/** An object decides in microseconds; one that takes longer is in trouble. In milliseconds. */
const CALL_MS = 5_000;

/** A summary that is to be made: of which messages, and how it is claimed. */
export interface SummaryOrder {
  readonly range: SummaryRange;
  /** See `ClaimRequest`. */
  readonly terms: Pick<
    ClaimRequest,
    'strategyHash' | 'bases' | 'windowSize' | 'retryIntervalMs' | 'exclusive' | 'round'
  >;
}

/** @param task absent: its material begins with the first message */
export function claimRequest(
  { range, terms }: SummaryOrder,
  { label }: StoredConversation,
  { timeoutMs }: SummarizerTarget,
  task?: SummaryTask,
): ClaimRequest {
  return {
    ...terms,
    conversation: label,
    boundary: range.boundary,
    startSequence: range.window?.sequence ?? 0,
    leaseMs: timeoutMs + range.retries.longestPauseMs + LEASE_MARGIN_MS,
    from: task ? baseEnd(task) : 0,
  };
}

/** Where a stored version must end for the task to go on from it; 0 where the task holds a base. */
function baseEnd({ from, prior }: SummaryTask): number {
  return prior && prior.end >= from ? 0 : from;
}

/** Asks the object, which answers at once or not at all. @throws when it does not answer in time */
export function ask<Result>(
  { memory }: StoredConversation,
  call: (stub: ConversationMemoryStub<RollMaterial>) => Promise<Result>,
  limitMs = CALL_MS,
): Promise<Result> {
  return within(limitMs, memory(call));
}

/**
 * Has the object make a summary in the background, unless it is there or being made. The object
 * answers at once.
 *
 * @param transcript of all messages of the range
 * @throws when it does not
 */
export async function roll(
  order: SummaryOrder,
  task: SummaryTask,
  transcript: Transcript,
  conversation: StoredConversation,
  ports: SummaryPorts,
): Promise<Claim['state']> {
  const request = claimRequest(order, conversation, ports.target, task);
  const material = rollMaterial(task, transcript, conversation, ports);
  return ask(conversation, (stub) => stub.roll(request, material));
}

/** What the object needs to write a summary by itself. */
export function rollMaterial(
  task: SummaryTask,
  transcript: Transcript,
  { publishTo }: StoredConversation,
  { target, encoding }: SummaryPorts,
): RollMaterial {
  // Nobody waits for what is written there, so it may be tried again for longer.
  const { withinMs: _, ...retries } = task.retries;
  return { task: { ...task, retries }, target, encoding, transcript, ...(publishTo ? { publishTo } : {}) };
}

/** The chain of summaries, in this isolate or in another. */
type ReachedChain = {
  [Method in Exclude<keyof SummaryChain, 'spend'>]: (
    ...args: Parameters<SummaryChain[Method]>
  ) => ReturnType<SummaryChain[Method]> | Promise<ReturnType<SummaryChain[Method]>>;
};

/** Calls the chain. */
type Reach = <Result>(call: (chain: ReachedChain) => Result | Promise<Result>) => Promise<Result>;

/** How a claimed summary is written. */
interface ClaimedWork extends Pick<RollMaterial, 'task' | 'target'> {
  readonly counter: TokenCounter;
  /** The parts of the task, where they are known. */
  readonly chunks?: TranscriptChunk[] | undefined;
  readonly transcript: Transcript | Promise<Transcript>;
  /** What stands in for a summary that can't be written; empty: nothing does. */
  digest?(): string;
  /** Learns the cost before the claim ends. */
  spent?(usage: TokenUsage): void;
  /** Takes the text that this writer has written. */
  publish?(text: string): Promise<void> | undefined;
}

/** A claim that has come to its end. */
interface EndedClaim {
  /** The version that stands for the boundary now; null when there is none. */
  readonly memory: Memory | null;
  /** Whether the summarizer has written one. */
  readonly isWritten: boolean;
  readonly usage: TokenUsage;
}

/** Writes what was claimed, and ends the claim with a summary or with the code of the failure. */
export async function writeClaimed(
  reach: Reach,
  { memoryId, lease, base }: Claimed,
  work: ClaimedWork,
): Promise<EndedClaim> {
  const { task, target, counter } = work;
  const { model } = target;
  const start = Date.now();
  const progress = {
    retrying: (error: string) => reach((chain) => chain.retrying(memoryId, lease, error)),
    renew: () => reach((chain) => chain.renew(memoryId, lease)),
    advance: async (chunk: Pick<Chunk, 'boundary' | 'text' | 'tokens'>) => {
      const made = { ...chunk, ...NO_TRANSCRIPT, model, ms: Date.now() - start };
      return (await reach((chain) => chain.advance(memoryId, lease, made))) !== null;
    },
  };
  const [written, transcript] = await Promise.all([
    writeSummary(task, knownOf(base), target, counter, progress, work.chunks),
    work.transcript,
  ]);
  const ms = Date.now() - start;
  const { usage } = written.ok ? written.value : written.reason;
  work.spent?.(usage);
  if (!written.ok) {
    const text = work.digest?.() ?? '';
    const digest = text === '' ? {} : { digest: { text, tokens: counter.text(text), ms, ...transcript } };
    const { error, cause } = written.reason;
    const failure = { error, ...(cause === undefined ? {} : { cause }), ...digest };
    const memory = await reach((chain) => chain.fail(memoryId, lease, failure));
    return { memory, isWritten: false, usage };
  }
  const { text, tokens } = written.value;
  const made = { text, tokens, model, ms, ...transcript };
  const memory = await reach((chain) => chain.complete(memoryId, lease, made));
  // Another writer's text is theirs to publish, and a conversation that was deleted has none.
  if (memory && (memory.memory_id === memoryId || memory.model === DIGEST_MODEL)) await work.publish?.(text);
  return { memory, isWritten: true, usage };
}
