/**
 * Writes one summary. The summarizer reads the new messages in chunks that fit its window, each
 * with the summary so far, and its answers are validated. Used by the Worker before a request and
 * by the Durable Object in the background.
 */

import type { Result } from '../lib/result.ts';
import type { Boundary, Piece } from '../memory/conversation/passage.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory } from '../storage/conversation/memories.ts';
import type { ModelFault } from '../upstream/model-client.ts';
import { askUntilValid, type Retries, sumOf } from './attempts.ts';
import { NO_USAGE, type SummarizerTarget } from './summarizer.ts';
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

/** The messages to be summarised, as plain data. */
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

/**
 * Receives the writer's progress. The writer stops if a call throws or returns false, since it has
 * lost its lease.
 */
export interface Progress {
  retrying(error: string): Promise<boolean>;
  /** Called between the parts of one large piece. */
  renew(): Promise<boolean>;
  advance(chunk: { boundary: Boundary; text: string; tokens: number }): Promise<boolean>;
}

export interface WrittenSummary {
  readonly text: string;
  readonly tokens: number;
  readonly usage: TokenUsage;
}

export interface WritingFault {
  /** A code. */
  readonly error: SummaryFault | ModelFault['code'] | 'lease_lost' | 'base_gone' | 'window_too_small';
  /** The name of the caught error, if there was one. */
  readonly cause?: string;
  readonly usage: TokenUsage;
}

/** The ledger's share of a summary (docs/design.md#8-summaries). */
const LEDGER_SHARE = 0.25;

/** Tokens of the prompt without prior text and transcript. */
const PROMPT_TOKENS = 1_200;

/**
 * The usable share of the window: the summarizer's tokenizer may count differently, and models read
 * worse near the end of their window.
 */
export const USABLE_WINDOW = 0.75;

/** The chunks of a task's messages. Undefined if the summarizer's window is too small. */
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
  // Empty messages need no summary.
  return transcriptParts(pieces, room, counter).filter(({ text }) => text.trim() !== '');
}

/**
 * @param base the summary to build on
 * @param chunks the task's parts, if they are known
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
  // Orders that an earlier summary contains stay valid, even without the user's original words.
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
  { limit, hints, windowStart, windowMessage }: SummaryTask,
  priorText: string,
  transcript: string,
): Prompt {
  return writePrompt({
    priorText,
    transcript,
    maxTokens: Math.floor(limit * (1 - LEDGER_SHARE)),
    ...(hints === undefined ? {} : { hints }),
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

  /** Asks until there is a valid summary, or retries are used up. */
  async ask(prompt: Prompt): Promise<Result<string, Omit<WritingFault, 'usage'>>> {
    const { limit, userTexts, retries } = this.task;
    return askUntilValid<SummaryFault | 'lease_lost'>(this.target, {
      prompt,
      maxTokens: limit,
      retries,
      start: this.start,
      check: (answer) => validateSummary(answer, { maxTokens: limit, counter: this.counter, userTexts }),
      spent: (usage) => {
        this.usage = sumOf(this.usage, usage);
      },
      mayRetry: async (code) => ((await this.progress.retrying(code)) ? undefined : 'lease_lost'),
    });
  }

  failed(fault: Omit<WritingFault, 'usage'>): { ok: false; reason: WritingFault } {
    return { ok: false, reason: { ...fault, usage: this.usage } };
  }
}
