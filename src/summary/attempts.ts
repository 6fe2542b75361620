/** Asks a summarizer until its answer is valid, or retries are used up. */
import type { Result } from '../lib/result.ts';
import { pause } from '../lib/time-limit.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { ModelFault } from '../upstream/model-client.ts';
import type { TooLong } from '../upstream/too-long.ts';
import { askSummarizer, type GuardedSummarizer, type SummarizerAnswer } from './summarizer.ts';
import type { Prompt } from './text/prompt.ts';

export interface Retries {
  /** The most calls for one prompt. */
  readonly attempts: number;
  /** The first pause in milliseconds. Each one doubles. */
  readonly backoffMs: number;
  /** The longest pause in milliseconds, even if the summarizer asks for more. */
  readonly longestPauseMs: number;
  /** No retries after so much time, since a request waits. In milliseconds. */
  readonly withinMs?: number;
}

/** @param Fault why an answer is not valid, or why there is no further call */
interface Question<Fault> {
  readonly prompt: Prompt;
  /** The most tokens of the text. */
  readonly maxTokens: number;
  readonly retries: Retries;
  /** When it was asked first, in milliseconds since the epoch. */
  readonly start: number;
  /** No call lasts longer, in milliseconds since the epoch. */
  readonly late?: number;
  /** The text in an answer. */
  check(answer: SummarizerAnswer): Result<string, Fault>;
  spent(usage: TokenUsage): void;
  /** Whether the text is still wanted: there is no call for one that is not. */
  goesOn(): boolean;
  /** Called before each further call, and before the pause that precedes it. */
  retrying?(code: Fault | ModelFault['code']): void;
}

interface AttemptFault<Fault> {
  readonly error: Fault | ModelFault['code'] | 'given_up';
  /** The name of the caught error, if there was one. */
  readonly cause?: string;
  /** See `ModelFault`. */
  readonly noRoom?: TooLong;
}

export async function askUntilValid<Fault extends string>(
  target: GuardedSummarizer,
  question: Question<Fault>,
): Promise<Result<string, AttemptFault<Fault>>> {
  const { attempts, backoffMs, longestPauseMs, withinMs = Number.POSITIVE_INFINITY } = question.retries;
  for (let attempt = 1; question.goesOn(); attempt++) {
    const outcome = await askOnce(target, question);
    if (outcome.ok) return outcome;
    const { code, again, afterMs = 0, cause, noRoom } = outcome.reason;
    const late = Date.now() - question.start >= withinMs;
    if (!again || late || attempt >= attempts || afterMs > longestPauseMs)
      return {
        ok: false,
        reason: { error: code, ...(cause === undefined ? {} : { cause }), ...(noRoom ? { noRoom } : {}) },
      };
    question.retrying?.(code);
    if (question.goesOn())
      await pause(Math.min(Math.max(backoffMs * 2 ** (attempt - 1), afterMs), longestPauseMs));
  }
  return { ok: false, reason: { error: 'given_up' } };
}

interface Attempt<Fault> extends Omit<ModelFault, 'code'> {
  readonly code: Fault | ModelFault['code'];
}

async function askOnce<Fault>(
  target: GuardedSummarizer,
  { prompt, maxTokens, late = Number.POSITIVE_INFINITY, check, spent }: Question<Fault>,
): Promise<Result<string, Attempt<Fault>>> {
  const timeoutMs = Math.min(target.timeoutMs, late - Date.now());
  if (timeoutMs <= 0) return { ok: false, reason: { code: 'timeout', again: false } };
  const answer = await askSummarizer({ ...target, timeoutMs }, prompt, maxTokens);
  if (!answer.ok) return answer;
  spent(answer.value.usage);
  const valid = check(answer.value);
  return valid.ok ? valid : { ok: false, reason: { code: valid.reason, again: true } };
}
