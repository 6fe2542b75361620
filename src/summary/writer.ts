/**
 * Writes one summary. The summarizer reads the new messages in chunks that fit its window, each
 * with the summary so far, and its answers are validated. A server that refuses a chunk for its
 * length is asked again with smaller ones.
 */

import type { Result } from '../lib/result.ts';
import { plus } from '../lib/sums.ts';
import type { Boundary, Piece } from '../memory/conversation/passage.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory } from '../storage/conversation/memories.ts';
import { windowOfRetry } from '../upstream/learned-limits.ts';
import type { ModelFault } from '../upstream/model-client.ts';
import type { TooLong } from '../upstream/too-long.ts';
import { askUntilValid, type Retries } from './attempts.ts';
import {
  answerRoom,
  type GuardedSummarizer,
  NO_USAGE,
  promptRoom,
  type SummarizerTarget,
} from './summarizer.ts';
import { userWordsIn, withUserConstraints } from './text/constraints.ts';
import { splitLedger } from './text/headings.ts';
import { type LedgerFacts, writeLedger } from './text/ledger.ts';
import { type Prompt, type SummaryHints, writePrompt } from './text/prompt.ts';
import { SMALLEST_CHUNK, type TranscriptChunk, transcriptParts } from './text/transcript.ts';
import { type SummaryFault, validateSummary } from './text/validation.ts';

/** A summary of the messages before `end`. */
export interface KnownSummary {
  readonly text: string;
  readonly end: number;
}

/** One that a caller keeps itself. */
export interface HeldSummary extends KnownSummary {
  /** Index of the first message that it covers. */
  readonly from: number;
  readonly ref: string | undefined;
}

/** The messages to be summarized, as plain data. */
export interface SummaryTask {
  /** The new messages, oldest first. Those that the base covers are skipped. */
  readonly pieces: readonly Piece[];
  /** The first of them. A base must reach up to it, so that no message is left out. */
  readonly from: number;
  /** A summary from the caller. */
  readonly prior?: KnownSummary;
  /** The facts of all messages that the summary covers. */
  readonly facts: LedgerFacts;
  /** The user's texts in these messages. */
  readonly userTexts: readonly string[];
  /** The most tokens of the summary, including the ledger. */
  readonly limit: number;
  readonly hints?: SummaryHints;
  /** Sequence number at which a rolling window starts. */
  readonly windowStart?: number;
  /** The first message of that window. */
  readonly windowMessage?: number;
  readonly includeTrajectory: boolean;
  readonly retries: Retries;
}

/** The most user text in a task, in characters. */
const MOST_USER_TEXT = 64_000;

/** The newest texts within that limit, since they cross isolates in addition to the messages. */
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

/** Receives the writer's progress. */
export interface Progress {
  /** Whether the text is still wanted, and there is time for it. */
  goesOn(): boolean;
  /** Called before each further attempt. @param error the code of the one before */
  retrying(error: string): void;
  advance(chunk: { boundary: Boundary; text: string; tokens: number }): void;
  /**
   * Called when the summarizer's window has turned out to be smaller.
   *
   * @param isKnown whether that holds for other summaries, too
   */
  narrowed(window: number, isKnown: boolean): void;
}

export interface WrittenSummary {
  readonly text: string;
  readonly tokens: number;
  readonly usage: TokenUsage;
}

export interface WritingFault {
  /** A code. */
  readonly error:
    | SummaryFault
    | ModelFault['code']
    /** Nobody wants it now, or there is no time left. */
    | 'given_up'
    | 'base_gone'
    | 'window_too_small';
  /** The name of the caught error, if there was one. */
  readonly cause?: string;
  readonly usage: TokenUsage;
}

/** The ledger's share of a summary (docs/design.md#8-summaries). */
const LEDGER_SHARE = 0.25;

/** A summary's largest share of the summarizer's window: each chunk has it read and written. */
const SUMMARY_SHARE = 1 / 6;

/** How often a summarizer may refuse the length of a chunk. Such calls are not billed. */
const MOST_NARROWINGS = 6;

/** The largest share of a window that is left once it has turned out to be too large. */
const MOST_LEFT = 0.9;

/** The most tokens of the text that a summarizer writes. */
function textLimit({ limit }: SummaryTask, { window }: SummarizerTarget): number {
  return Math.min(limit, Math.floor(window * SUMMARY_SHARE));
}

/** The chunks of a task's messages. Undefined if the summarizer's window is too small. */
function partsOf(
  task: SummaryTask,
  base: KnownSummary | undefined,
  target: SummarizerTarget,
  counter: TokenCounter,
): TranscriptChunk[] | undefined {
  const start = newest(base, task.prior);
  const pieces = task.pieces.filter(({ boundary }) => boundary.end > (start?.end ?? 0));
  const limit = textLimit(task, target);
  const { system, user } = promptOf(task, limit, '', '');
  const prior = start ? counter.text(splitLedger(start.text).body) : 0;
  const around = counter.text(system) + counter.text(user) + Math.max(limit, prior);
  const room = promptRoom(target, limit) - around;
  if (room < SMALLEST_CHUNK) return undefined;
  // Empty messages need no summary.
  return transcriptParts(pieces, room, counter).filter(({ text }) => text.trim() !== '');
}

export async function writeSummary(
  task: SummaryTask,
  base: KnownSummary | undefined,
  target: GuardedSummarizer,
  counter: TokenCounter,
  progress: Progress,
): Promise<Result<WrittenSummary, WritingFault>> {
  const start = newest(base, task.prior);
  const text = start ? splitLedger(start.text).body : '';
  // Orders that an earlier summary contains stay valid, even without the user's original words.
  const userTexts = [...task.userTexts, text];
  const run = new Run({ ...task, userTexts }, target, counter, progress);
  if ((start?.end ?? 0) < task.from) return run.failed({ error: 'base_gone' });
  const written = await run.write(partsOf(task, base, target, counter), { text, end: start?.end ?? 0 });
  if (!written.ok) return run.failed(written.reason);
  const whole = withLedger(written.value, task, counter);
  return { ok: true, value: { text: whole, tokens: counter.text(whole), usage: run.usage } };
}

/** The summary of a stored version. */
export function knownOf(
  memory: Pick<Memory, 'memory_text' | 'covers_end'> | null | undefined,
): KnownSummary | undefined {
  return memory ? { text: memory.memory_text ?? '', end: memory.covers_end } : undefined;
}

/** The summary that covers more. */
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
  { hints, windowStart, windowMessage }: Pick<SummaryTask, 'hints' | 'windowStart' | 'windowMessage'>,
  limit: number,
  priorText: string,
  transcript: string,
): Prompt {
  return writePrompt({
    priorText,
    transcript,
    maxTokens: Math.floor(limit * (1 - LEDGER_SHARE)),
    hints,
    windowStart,
    windowMessage,
  });
}

/** Why there is no text of a chunk. */
interface ChunkFault extends Omit<WritingFault, 'usage'> {
  /** Prompt and answer did not fit into the summarizer's context. */
  readonly noRoom?: { readonly refusal: TooLong; readonly prompt: Prompt };
}

/** The calls for one summary. */
class Run {
  usage = NO_USAGE;
  private readonly task: SummaryTask;
  private target: GuardedSummarizer;
  private readonly counter: TokenCounter;
  private readonly progress: Progress;
  /** Up to the last boundary that was reached. */
  private reached: KnownSummary = { text: '', end: 0 };

  constructor(task: SummaryTask, target: GuardedSummarizer, counter: TokenCounter, progress: Progress) {
    this.task = task;
    this.target = target;
    this.counter = counter;
    this.progress = progress;
  }

  /**
   * The text of all chunks.
   *
   * @param chunks undefined if the window is too small
   * @param reached where they begin
   */
  async write(
    chunks: readonly TranscriptChunk[] | undefined,
    reached: KnownSummary,
  ): Promise<Result<string, ChunkFault>> {
    this.reached = reached;
    let written = await this.read(chunks);
    for (let count = 0; !written.ok && written.reason.noRoom && count < MOST_NARROWINGS; count++) {
      const { refusal, prompt } = written.reason.noRoom;
      this.narrow(refusal, prompt);
      if (!this.progress.goesOn()) return { ok: false, reason: { error: 'given_up' } };
      written = await this.read(partsOf(this.task, this.reached, this.target, this.counter));
    }
    return written;
  }

  private async read(chunks: readonly TranscriptChunk[] | undefined): Promise<Result<string, ChunkFault>> {
    if (!chunks) return { ok: false, reason: { error: 'window_too_small' } };
    if (chunks.length === 0) return { ok: false, reason: { error: 'empty' } };
    let { text } = this.reached;
    for (const [index, chunk] of chunks.entries()) {
      const answered = await this.ask(text, chunk.text);
      if (!answered.ok) return answered;
      text = withUserConstraints(answered.value, [...this.task.userTexts, ...userWordsIn(text)]);
      if (index === chunks.length - 1) continue;
      const { boundary } = chunk;
      if (boundary) {
        this.progress.advance({ boundary, text, tokens: this.counter.text(text) });
        this.reached = { text, end: boundary.end };
      }
      if (!this.progress.goesOn()) return { ok: false, reason: { error: 'given_up' } };
    }
    return { ok: true, value: text };
  }

  /** Asks until there is a valid summary, or retries are used up. */
  private async ask(priorText: string, transcript: string): Promise<Result<string, ChunkFault>> {
    const { userTexts, retries } = this.task;
    const limit = textLimit(this.task, this.target);
    const prompt = promptOf(this.task, limit, priorText, transcript);
    const answered = await askUntilValid<SummaryFault>(this.target, {
      prompt,
      maxTokens: limit,
      retries,
      start: Date.now(),
      check: (answer) => validateSummary(answer, { maxTokens: limit, counter: this.counter, userTexts }),
      spent: (usage) => {
        this.usage = plus(this.usage, usage);
      },
      goesOn: () => this.progress.goesOn(),
      retrying: (code) => this.progress.retrying(code),
    });
    if (answered.ok) return answered;
    const { noRoom: refusal, ...fault } = answered.reason;
    return { ok: false, reason: { ...fault, ...(refusal ? { noRoom: { refusal, prompt } } : {}) } };
  }

  private narrow(refusal: TooLong, { system, user }: Prompt): void {
    const tokens = this.counter.text(system) + this.counter.text(user);
    const answerTokens = answerRoom(this.target, textLimit(this.task, this.target));
    const next = windowOfRetry(refusal, { tokens, addedTokens: 0, answerTokens });
    const window = Math.min(next.tokens, Math.floor(this.target.window * MOST_LEFT));
    this.target = { ...this.target, window };
    this.progress.narrowed(window, next.stated);
  }

  failed({ error, cause }: ChunkFault): { ok: false; reason: WritingFault } {
    const fault = { error, ...(cause === undefined ? {} : { cause }) };
    return { ok: false, reason: { ...fault, usage: this.usage } };
  }
}
