/**
 * Summaries that the upstream's own API makes and signs. One is a version of the chain like any
 * other: its text serves wherever the block may not go. If it is not made, the summarizer makes the
 * summary in its place.
 */
import { areSame, elementAt } from '../lib/elements.ts';
import type { Result } from '../lib/result.ts';
import { plus } from '../lib/sums.ts';
import { pause } from '../lib/time-limit.ts';
import type { History } from '../memory/conversation/history.ts';
import { writeBlock } from '../memory/conversation/session-summary.ts';
import {
  BLOCK_TOKENS,
  coveredMessages,
  replacedTokens,
  type SummarizedPrefix,
} from '../memory/edits/summarize.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import { type CompactionAnswer, readCompaction } from '../protocol/messages/compaction.ts';
import type { CompactionRange } from '../protocol/model-request.ts';
import type { Memory } from '../storage/conversation/memories.ts';
import type { CallGuard } from '../upstream/call-guard.ts';
import { askModel, type ModelFault, type ModelServer, type Toll } from '../upstream/model-client.ts';
import { billed, LONGEST_ANSWER, leastRoom, NO_USAGE } from './summarizer.ts';
import type { Progress } from './writer.ts';

/**
 * A call that asks for one. It contains the caller's key and messages, so it stays in memory.
 */
export interface CompactionCall {
  readonly server: ModelServer;
  readonly model: string;
  /** Below the server's base URL. */
  readonly path: string;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  /** The pause before it is asked again, in milliseconds. */
  readonly backoffMs: number;
  /** The most tokens of the text. */
  readonly mostTokens: number;
  /** How the model is billed. Absent if that is not known. */
  readonly schedule: Schedule | undefined;
  /** See `SignedSummary`. */
  readonly bound: Omit<SignedSummary, 'block'>;
}

/** What is kept of one beside its text, as JSON (see `Memory`). */
interface SignedSummary {
  /** As the API has written it. */
  readonly block: string;
  /** Identifies the API and the account that have signed it. */
  readonly account: string;
  /** Digests of the messages before its end that it does not replace, in order. */
  readonly left: readonly string[];
}

/** The port for one request's summaries. */
export interface OwnCompactions {
  readonly timeoutMs: number;
  /** See `SignedSummary`. */
  readonly account: string;
  /** The call for a summary of some messages. */
  call(range: Pick<CompactionRange, 'messages' | 'before'>): Omit<CompactionCall, 'mostTokens' | 'bound'>;
}

/** A prefix to be summarized. */
interface Wanted {
  readonly history: History;
  readonly prefix: SummarizedPrefix;
}

/**
 * The call for the summary of a prefix, over exactly the messages that leave: the block before it,
 * and the messages that this block does not replace.
 *
 * @returns undefined if nothing is left to be summarized
 */
export function compactionFor(
  { account, call }: OwnCompactions,
  { history, prefix }: Wanted,
  base: Memory | null,
): CompactionCall | undefined {
  const covered = coveredMessages(history, prefix);
  const before = base && baseIn(base, account, { history, prefix });
  const messages = before ? covered.filter((index) => !before.replaces(index)) : covered;
  if (messages.length === 0) return undefined;
  return {
    ...call({ messages, ...(before ? { before } : {}) }),
    // A text that is no shorter than what it replaces is not shown.
    mostTokens: Math.min(MOST_LIMITS * prefix.limit, replacedTokens(prefix) - BLOCK_TOKENS),
    bound: { account, left: leftBy({ history, prefix }) },
  };
}

/**
 * The block of a version, if a view may show it in place of a prefix: its API and account are the
 * request's, and it replaces exactly the messages that leave.
 */
export function shownBlock(
  { account }: OwnCompactions,
  memory: Pick<Memory, 'signed'>,
  wanted: Wanted,
): string | undefined {
  const signed = signedOf(memory);
  if (signed?.account !== account || !areSame(signed.left, leftBy(wanted))) return undefined;
  return signed.block;
}

interface KnownBase {
  readonly text: string;
  readonly signed: string | undefined;
  replaces(index: number): boolean;
}

/**
 * A version as the view has shown it. Undefined for a block that replaces messages which stay now:
 * these would be in the view twice.
 */
function baseIn(base: Memory, account: string, { history, prefix }: Wanted): KnownBase | undefined {
  const { covers_end, memory_text, ref } = base;
  const signed = signedOf(base);
  const left = new Set(leftBefore(covers_end, signed, history));
  const replaces = (index: number): boolean => index < covers_end && !left.has(index);
  if (signed?.account !== account) {
    const text = writeBlock(memory_text ?? '', ref ?? undefined, [0, covers_end - 1]);
    return { text, signed: undefined, replaces };
  }
  if (leftIndices({ history, prefix }).some(replaces)) return undefined;
  return { text: memory_text ?? '', signed: signed.block, replaces };
}

/**
 * The messages before the end of a version that its text does not tell of, ascending: those that
 * stayed beside its block. A text by Precis covers all of them.
 */
export function leftMessages(memory: Pick<Memory, 'covers_end' | 'signed'>, history: History): number[] {
  return leftBefore(memory.covers_end, signedOf(memory), history);
}

function leftBefore(end: number, signed: SignedSummary | undefined, { messages }: History): number[] {
  const left = new Set(signed?.left);
  if (left.size === 0) return [];
  return messages.slice(0, end).flatMap(({ digest }, index) => (left.has(digest) ? [index] : []));
}

/** The messages before the end of a prefix that stay, without the preamble. */
function leftIndices({ history, prefix }: Wanted): number[] {
  const covered = new Set(coveredMessages(history, prefix));
  return history.messages
    .slice(0, prefix.end)
    .flatMap(({ role }, index) => (role === 'preamble' || covered.has(index) ? [] : [index]));
}

function leftBy(wanted: Wanted): string[] {
  return leftIndices(wanted).map((index) => elementAt(wanted.history.messages, index).digest);
}

function signedOf({ signed }: Pick<Memory, 'signed'>): SignedSummary | undefined {
  return signed === null ? undefined : (JSON.parse(signed) as SignedSummary);
}

/**
 * A block is as long as its API likes. One of more than this many times the limit of a summary
 * would make a view that is far from its plan.
 */
const MOST_LIMITS = 4;

interface MadeSummary {
  readonly text: string;
  readonly tokens: number;
  /** A `SignedSummary` as JSON. */
  readonly signed: string;
}

interface CompactionFault {
  /** A code. */
  readonly error: string;
  /** The name of the caught error, if there was one. */
  readonly cause?: string | undefined;
}

/** The outcome with the usage of all calls. */
interface CompactionOutcome {
  readonly made: Result<MadeSummary, CompactionFault>;
  readonly usage: TokenUsage;
}

/** The most calls for one summary, where the first was refused for a moment. */
const ATTEMPTS = 2;

/** A block is kept with its text, within the limit of a row (`memories.ts`). */
const LONGEST_BLOCK = 500_000;

export async function askCompaction(
  call: CompactionCall,
  guard: CallGuard,
  counter: TokenCounter,
  progress: Pick<Progress, 'goesOn' | 'retrying'>,
): Promise<CompactionOutcome> {
  let usage = NO_USAGE;
  for (let attempt = 1; progress.goesOn(); attempt++) {
    const answered = await ask(call, guard);
    if (answered.ok) {
      usage = plus(usage, billed(answered.value.usage, call.schedule));
      return { made: checked(answered.value, call, counter), usage };
    }
    const { code, again, cause, afterMs = 0 } = answered.reason;
    const isLast = !again || code === 'timeout' || attempt >= ATTEMPTS || afterMs > call.backoffMs;
    if (isLast) return { made: { ok: false, reason: { error: code, cause } }, usage };
    progress.retrying(code);
    if (progress.goesOn()) await pause(call.backoffMs);
  }
  return { made: { ok: false, reason: { error: 'given_up' } }, usage };
}

type Fault = Pick<ModelFault, 'again' | 'afterMs' | 'cause'> & { readonly code: string };

async function ask(call: CompactionCall, guard: CallGuard): Promise<Result<CompactionAnswer, Fault>> {
  const { server, path, body, timeoutMs, model, schedule } = call;
  const limits = { timeoutMs, longestAnswer: LONGEST_ANSWER };
  const toll: Toll<Uint8Array> = {
    guard,
    model,
    schedule,
    isDeployers: false,
    most: () => ({ input: Math.ceil(body.length / BYTES_PER_TOKEN), output: leastRoom(model) }),
    endOf: (answer) => {
      const read = readCompaction(answer);
      return read ? billed(read.usage, schedule) : 'unknown';
    },
  };
  const answered = await askModel(server, limits, toll, async (client, signal) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const response = await client.post(path, { body, headers, signal }).asResponse();
    return new Uint8Array(await response.arrayBuffer());
  });
  if (!answered.ok) return answered;
  const answer = readCompaction(answered.value);
  return answer ? { ok: true, value: answer } : { ok: false, reason: { code: 'malformed', again: false } };
}

function checked(
  { made, stopReason }: CompactionAnswer,
  { bound, mostTokens }: CompactionCall,
  counter: TokenCounter,
): Result<MadeSummary, CompactionFault> {
  if (!made) return { ok: false, reason: { error: `stopped_${stopReason || 'without_reason'}` } };
  const { text, signed: block } = made;
  const tokens = counter.text(text);
  if (tokens > mostTokens || block.length > LONGEST_BLOCK)
    return { ok: false, reason: { error: 'too_long' } };
  return { ok: true, value: { text, tokens, signed: JSON.stringify({ block, ...bound }) } };
}
