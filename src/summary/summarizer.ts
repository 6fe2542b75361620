/**
 * One call of the summarizer: any OpenAI-compatible chat model, asked with the `openai` package.
 */
import OpenAI, { APIConnectionError, APIError } from 'openai';
import type { Result } from '../lib/result.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import { bounded } from '../upstream/body.ts';
import type { Prompt } from './text/prompt.ts';

/** Which model is asked, where, and with whose key. Never stored, never logged. */
export interface SummarizerTarget {
  readonly baseUrl: string;
  /** Absent: the caller has sent none, and none is sent. */
  readonly apiKey?: string;
  /** Further headers that name the account. */
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  /** The model's context window in tokens. */
  readonly window: number;
  /** How long one call may take, until its last byte. In milliseconds. */
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
  /** How long the upstream asks to wait, in milliseconds. */
  readonly afterMs?: number;
  /** The name of the error that was caught. */
  readonly cause?: string;
}

export const NO_USAGE: TokenUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * Room for the answer beyond the summary itself, as a factor and at the least: models that reason
 * spend tokens before they write, and one that says too much is to be refused by length, not cut
 * off in the middle.
 */
const ROOM = 4;
const LEAST_ROOM = 4_096;

/**
 * Of one call, in bytes: a summary has some thousand tokens, and what a model thinks before it may
 * stand beside it.
 */
export const LONGEST_ANSWER = 4 * 1024 * 1024;

/** @param maxTokens of the summary */
export async function askSummarizer(
  target: SummarizerTarget,
  prompt: Prompt,
  maxTokens: number,
): Promise<Result<SummarizerAnswer, SummarizerFault>> {
  const base = new URL(target.baseUrl);
  // The package's own limit ends with the headers. A timer that is not cleared would keep a Durable
  // Object awake.
  const call = new AbortController();
  const timer = setTimeout(() => call.abort(), target.timeoutMs);
  const client = new OpenAI({
    apiKey: target.apiKey ?? 'none',
    baseURL: `${base.origin}${base.pathname}`,
    defaultQuery: Object.fromEntries(base.searchParams),
    // Variables of the deployment that the package would read are not meant for whoever is asked
    // here.
    organization: null,
    project: null,
    defaultHeaders: { ...target.headers, ...(target.apiKey === undefined ? { Authorization: null } : {}) },
    // A redirect that is followed carries the key along.
    fetch: async (input, init) =>
      bounded(await fetch(input, { ...init, redirect: 'manual' }), LONGEST_ANSWER),
    // The caller counts attempts: they affect the conversation's health.
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

/**
 * OpenAI's newer models know only the first of the two names, most other servers only the second.
 */
function answerLimit(base: URL, tokens: number): { max_completion_tokens: number } | { max_tokens: number } {
  return base.hostname.endsWith('.openai.com') ? { max_completion_tokens: tokens } : { max_tokens: tokens };
}

/** The types are OpenAI's word; other servers leave things out. */
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

/** The package wraps what the connection has thrown. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.name : 'unknown';
}

function faultOf(error: unknown): SummarizerFault {
  if (!(error instanceof APIError)) return { code: 'unreachable', again: true };
  const { status } = error;
  if (error instanceof APIConnectionError || status === undefined)
    return { code: 'unreachable', again: true };
  if (status === 429) return { code: 'rate_limited', again: true, ...retryAfter(error.headers) };
  if (status >= 500 || status === 408 || status === 409)
    return { code: 'upstream_error', again: true, ...retryAfter(error.headers) };
  return { code: 'refused', again: false };
}

/** RFC 9110 §10.2.3, in seconds; a date is as good as nothing here. */
function retryAfter(headers: Headers | undefined): { afterMs?: number } {
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { afterMs: seconds * 1_000 } : {};
}
