/**
 * One call of the summarizer: any OpenAI-compatible chat model, asked with the `openai` package.
 */
import OpenAI, { APIError } from 'openai';
import type { Result } from '../lib/result.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import { bounded } from '../upstream/body.ts';
import type { Prompt } from './text/prompt.ts';

/** The model, its URL and its key. Never stored or logged. */
export interface SummarizerTarget {
  readonly baseUrl: string;
  /** Absent if the caller has sent none. Then none is sent. */
  readonly apiKey?: string;
  /** Other headers that identify the account. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  /** The model's context window in tokens. */
  readonly window: number;
  /** Time limit of one call, including its body, in milliseconds. */
  readonly timeoutMs: number;
}

interface SummarizerAnswer {
  readonly text: string | null;
  readonly finishReason: string | null;
  readonly toolCalls: number;
  readonly usage: TokenUsage;
}

/** Why there is no answer. */
export interface SummarizerFault {
  readonly code: 'timeout' | 'unreachable' | 'rate_limited' | 'upstream_error' | 'refused';
  /** Whether the same call may succeed later. */
  readonly again: boolean;
  /** The pause that the upstream asks for, in milliseconds. */
  readonly afterMs?: number;
  /** The name of the caught error. */
  readonly cause?: string;
}

export const NO_USAGE: TokenUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * The answer's token limit, as a multiple of the summary's and as a minimum. Reasoning models spend
 * tokens before they write, and a summary that is too long must be rejected rather than cut off.
 */
const ROOM = 4;
const LEAST_ROOM = 4_096;

/**
 * The longest answer in bytes. A summary has a few thousand tokens, and reasoning may come with it.
 */
export const LONGEST_ANSWER = 4 * 1024 * 1024;

/** @param maxTokens of the summary */
export async function askSummarizer(
  target: SummarizerTarget,
  prompt: Prompt,
  maxTokens: number,
): Promise<Result<SummarizerAnswer, SummarizerFault>> {
  const base = new URL(target.baseUrl);
  // The package's own limit ends with the headers. The timer must be cleared, or it keeps a Durable
  // Object awake.
  const call = new AbortController();
  const timer = setTimeout(() => call.abort(), target.timeoutMs);
  const client = new OpenAI({
    apiKey: target.apiKey ?? 'none',
    baseURL: `${base.origin}${base.pathname}`,
    defaultQuery: Object.fromEntries(base.searchParams),
    // The package must not read the deployment's environment variables.
    organization: null,
    project: null,
    defaultHeaders: { ...target.headers, ...(target.apiKey === undefined ? { Authorization: null } : {}) },
    // Following a redirect would send the key along.
    fetch: async (input, init) =>
      bounded(await fetch(input, { ...init, redirect: 'manual' }), LONGEST_ANSWER),
    // The writer retries itself, since attempts affect the conversation's health.
    maxRetries: 0,
    logLevel: 'off',
  });
  try {
    const completion = await client.chat.completions.create(
      {
        model: target.model,
        messages: [
          { role: 'system', content: prompt.system },
          { role: 'user', content: prompt.user },
        ],
        ...answerLimit(base, Math.max(LEAST_ROOM, ROOM * maxTokens)),
      },
      { signal: call.signal },
    );
    return { ok: true, value: readAnswer(completion) };
  } catch (error) {
    const fault = call.signal.aborted ? ({ code: 'timeout', again: true } as const) : faultOf(error);
    return { ok: false, reason: { ...fault, cause: causeOf(error) } };
  } finally {
    clearTimeout(timer);
  }
}

/** OpenAI's newer models accept only the first name, and most other servers only the second. */
function answerLimit(base: URL, tokens: number): { max_completion_tokens: number } | { max_tokens: number } {
  return base.hostname.endsWith('.openai.com') ? { max_completion_tokens: tokens } : { max_tokens: tokens };
}

/** Other servers than OpenAI's leave out fields that the types require. */
function readAnswer(completion: Partial<OpenAI.ChatCompletion>): SummarizerAnswer {
  const choice = completion.choices?.[0];
  const { prompt_tokens = 0, completion_tokens = 0 } = completion.usage ?? {};
  const content: unknown = choice?.message?.content;
  return {
    text: typeof content === 'string' ? content : null,
    finishReason: choice?.finish_reason ?? null,
    toolCalls: (choice?.message?.tool_calls?.length ?? 0) + (choice?.message?.function_call ? 1 : 0),
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}

/** The name of an error. The package wraps errors of the connection. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.name : 'unknown';
}

function faultOf(error: unknown): SummarizerFault {
  // Errors of the connection have no status.
  if (!(error instanceof APIError) || error.status === undefined) return { code: 'unreachable', again: true };
  const { status } = error;
  if (status === 429) return { code: 'rate_limited', again: true, ...retryAfter(error.headers) };
  if (status >= 500 || status === 408 || status === 409)
    return { code: 'upstream_error', again: true, ...retryAfter(error.headers) };
  return { code: 'refused', again: false };
}

/** RFC 9110 §10.2.3. Only the form in seconds is read. */
function retryAfter(headers: Headers | undefined): { afterMs?: number } {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { afterMs: seconds * 1_000 } : {};
}
