/**
 * Writes one summary: reads the new messages in chunks that fit the summarizer's window, each on
 * top of the summary so far, and takes an answer only when it is one. Used by the Worker in front
 * of a request and by the Durable Object behind it.
 */

import type { Result } from '../lib/result.ts';
import { pause } from '../lib/time-limit.ts';
import type { Boundary, Piece } from '../memory/conversation/passage.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory } from '../storage/conversation/memories.ts';
import { askSummarizer, NO_USAGE, type SummarizerFault, type SummarizerTarget } from './summarizer.ts';
import { userWordsIn, withUserConstraints } from './text/constraints.ts';
import { splitLedger } from './text/headings.ts';
import { type LedgerFacts, writeLedger } from './text/ledger.ts';
import { type Prompt, writePrompt } from './text/prompt.ts';
import { SMALLEST_CHUNK, type TranscriptChunk, transcriptParts } from './text/transcript.ts';
import { type SummaryFault, validateSummary } from './text/validation.ts';

/**
 * A lease outlives the call that it is for by so much, in milliseconds (docs/design.md#7-storage).
 */
export const LEASE_MARGIN_MS = 10_000;

/** A summary of the messages before `end`, from wherever it was kept. */
export interface KnownSummary {
  readonly text: string;
  readonly end: number;
}

/** What is to be summarised, as plain data. */
export interface SummaryTask {
  /** The new messages, oldest first; those that the base covers already are passed over. */
  readonly pieces: readonly Piece[];
  /**
   * The message with which they begin. A base must reach up to there, or nobody has read what
   * stands before.
   */
  readonly from: number;
  /** A summary that the caller holds or has sent back, and the message before which it ends. */
  readonly prior?: KnownSummary;
  /** Of everything that the summary is to stand for. */
  readonly facts: LedgerFacts;
  /** What the user wrote in all of it. */
  readonly userTexts: readonly string[];
  /** The most tokens that the summary may have, ledger included. */
  readonly limit: number;
  readonly focus?: string;
  /** Sequence number at which a rolling window starts. */
  readonly windowStart?: number;
  /** The first message of that window. */
  readonly windowMessage?: number;
  readonly includeTrajectory: boolean;
  readonly retries: Retries;
}

/** Who wants to know what the user wrote reads so much of it. In characters. */
const MOST_USER_TEXT = 64_000;

/**
 * The newest texts, as many as are looked at: they cross isolates beside the messages themselves.
 */
export function recent(texts: readonly string[]): string[] {
  const kept: string[] = [];
  let left = MOST_USER_TEXT;
  for (const text of texts.toReversed()) {
    if (left <= 0) break;
    kept.unshift(text.slice(-left));
    left -= text.length;
  }
  return kept;
}

export interface Retries {
  /** Calls for one chunk at the most. */
  readonly attempts: number;
  /** The first pause; each one doubles. In milliseconds. */
  readonly backoffMs: number;
  /** No pause is longer, whatever the summarizer asks for. In milliseconds. */
  readonly longestPauseMs: number;
  /** After so much time nothing is tried again: somebody waits. In milliseconds. */
  readonly withinMs?: number;
}

/**
 * Where the writer tells how far it is. Each may throw, or answer false: then it is not the writer
 * any more, and stops.
 */
interface Progress {
  retrying(error: string): Promise<boolean>;
  /** Called between the parts of one large piece. */
  renew(): Promise<boolean>;
  advance(chunk: { boundary: Boundary; text: string; tokens: number }): Promise<boolean>;
}

interface WrittenSummary {
  readonly text: string;
  readonly tokens: number;
  readonly usage: TokenUsage;
}

interface WritingFault {
  /** A code. */
  readonly error: SummaryFault | SummarizerFault['code'] | 'lease_lost' | 'base_gone' | 'window_too_small';
  /** The name of the error that was caught, where one was. */
  readonly cause?: string;
  readonly usage: TokenUsage;
}

/** The ledger's share of a summary (docs/design.md#8-summaries). */
const LEDGER_SHARE = 0.25;

/** Tokens of the prompt around prior text and transcript. */
const PROMPT_TOKENS = 1_200;

/**
 * The summarizer's own tokenizer may count differently, and reads worse near the end of its window.
 */
const USABLE_WINDOW = 0.75;

/**
 * The parts in which a task's messages are read; undefined when the summarizer's window holds next
 * to nothing.
 */
export function partsOf(
  task: SummaryTask,
  base: KnownSummary | undefined,
  target: SummarizerTarget,
  counter: TokenCounter,
): TranscriptChunk[] | undefined {
  const start = newest(base, task.prior);
  const pieces = task.pieces.filter(({ boundary }) => boundary.end > (start?.end ?? 0));
  const room = Math.floor(target.window * USABLE_WINDOW) - PROMPT_TOKENS - 2 * task.limit;
  if (room < SMALLEST_CHUNK) return undefined;
  // Messages that say nothing at all are covered by what is there.
  return transcriptParts(pieces, room, counter).filter(({ text }) => text.trim() !== '');
}

/**
 * @param base the summary to build upon, and the message before which it ends
 * @param chunks the task's parts, where they are known already
 */
export async function writeSummary(
  task: SummaryTask,
  base: KnownSummary | undefined,
  target: SummarizerTarget,
  counter: TokenCounter,
  progress: Progress,
  chunks = partsOf(task, base, target, counter),
): Promise<Result<WrittenSummary, WritingFault>> {
  const start = newest(base, task.prior);
  let text = start ? splitLedger(start.text).body : '';
  // What was once in order stays in order, also when the user's own words are long gone.
  const userTexts = [...task.userTexts, text];
  const run = new Run({ ...task, userTexts }, target, counter, progress);
  if ((start?.end ?? 0) < task.from) return run.failed({ error: 'base_gone' });
  if (!chunks) return run.failed({ error: 'window_too_small' });
  if (chunks.length === 0) return run.failed({ error: 'empty' });

  for (const [index, chunk] of chunks.entries()) {
    const answered = await run.ask(promptOf(task, text, chunk.text));
    if (!answered.ok) return run.failed(answered.reason);
    text = withUserConstraints(answered.value, [...task.userTexts, ...userWordsIn(text)]);
    if (index === chunks.length - 1) continue;
    const { boundary } = chunk;
    const goesOn = boundary
      ? progress.advance({ boundary, text, tokens: counter.text(text) })
      : progress.renew();
    if (!(await goesOn)) return run.failed({ error: 'lease_lost' });
  }
  const whole = withLedger(text, task, counter);
  return { ok: true, value: { text: whole, tokens: counter.text(whole), usage: run.usage } };
}

/** A version as the summary that it holds. */
export function knownOf(
  memory: Pick<Memory, 'memory_text' | 'covers_end'> | null | undefined,
): KnownSummary | undefined {
  return memory ? { text: memory.memory_text ?? '', end: memory.covers_end } : undefined;
}

/** Whichever of two summaries covers more. */
export function newest(a: KnownSummary | undefined, b: KnownSummary | undefined): KnownSummary | undefined {
  return a && b ? (b.end > a.end ? b : a) : (a ?? b);
}

function withLedger(text: string, task: SummaryTask, counter: TokenCounter): string {
  const left = task.limit - counter.text(text) - 2;
  const maxTokens = Math.min(Math.floor(task.limit * LEDGER_SHARE), left);
  if (maxTokens <= 0) return text;
  const { includeTrajectory } = task;
  const ledger = writeLedger(task.facts, { maxTokens, counter, alreadyIn: text, includeTrajectory });
  return ledger === '' ? text : `${text}\n\n${ledger}`;
}

function promptOf(
  { limit, focus, windowStart, windowMessage }: SummaryTask,
  priorText: string,
  transcript: string,
): Prompt {
  return writePrompt({
    priorText,
    transcript,
    maxTokens: Math.floor(limit * (1 - LEDGER_SHARE)),
    ...(focus === undefined ? {} : { focus }),
    ...(windowStart === undefined ? {} : { windowStart }),
    ...(windowMessage === undefined ? {} : { windowMessage }),
  });
}

/** The calls for one summary. */
class Run {
  usage = NO_USAGE;
  private readonly start = Date.now();
  private readonly task: SummaryTask;
  private readonly target: SummarizerTarget;
  private readonly counter: TokenCounter;
  private readonly progress: Progress;

  constructor(task: SummaryTask, target: SummarizerTarget, counter: TokenCounter, progress: Progress) {
    this.task = task;
    this.target = target;
    this.counter = counter;
    this.progress = progress;
  }

  /** Asks until there is a summary, or none is to be had. */
  async ask(prompt: Prompt): Promise<Result<string, Omit<WritingFault, 'usage'>>> {
    const { attempts, backoffMs, longestPauseMs, withinMs = Number.POSITIVE_INFINITY } = this.task.retries;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.askOnce(prompt);
      if (outcome.ok) return outcome;
      const { code, again, afterMs = 0, cause } = outcome.reason;
      const late = Date.now() - this.start >= withinMs;
      if (!again || late || attempt >= attempts || afterMs > longestPauseMs)
        return { ok: false, reason: { error: code, ...(cause === undefined ? {} : { cause }) } };
      if (!(await this.progress.retrying(code))) return { ok: false, reason: { error: 'lease_lost' } };
      await pause(Math.min(Math.max(backoffMs * 2 ** (attempt - 1), afterMs), longestPauseMs));
    }
  }

  failed(fault: Omit<WritingFault, 'usage'>): { ok: false; reason: WritingFault } {
    return { ok: false, reason: { ...fault, usage: this.usage } };
  }

  private async askOnce(prompt: Prompt): Promise<Result<string, Attempt>> {
    const { limit, userTexts } = this.task;
    const answer = await askSummarizer(this.target, prompt, limit);
    if (!answer.ok) return answer;
    this.usage = sum(this.usage, answer.value.usage);
    const limits = { maxTokens: limit, counter: this.counter, userTexts };
    const valid = validateSummary(answer.value, limits);
    return valid.ok ? valid : { ok: false, reason: { code: valid.reason, again: true } };
  }
}

interface Attempt extends Omit<SummarizerFault, 'code'> {
  readonly code: WritingFault['error'];
}

function sum(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
  };
}
