/**
 * One call of the summarizer: any OpenAI-compatible chat model, or one of Anthropic's API, asked
 * with the `openai` package.
 */

import { Buffer } from 'node:buffer';
import type OpenAI from 'openai';
import { APIError } from 'openai';
import { asObject, asString } from '../lib/json.ts';
import { serverOf } from '../lib/request-url.ts';
import type { Result } from '../lib/result.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import { reasoningOf } from '../memory/models/upstream-apis.ts';
import { summarizerAmount } from '../memory/money/amounts.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import { textIn } from '../protocol/chat/words.ts';
import { countedUsage } from '../protocol/messages/usage.ts';
import type { CallGuard } from '../upstream/call-guard.ts';
import { askModel, type ModelFault, type ModelServer, type Toll } from '../upstream/model-client.ts';
import type { Prompt } from './text/prompt.ts';

/** The model, its URL and its key. Never stored or logged. */
export interface SummarizerTarget extends ModelServer {
  readonly model: string;
  /** Set for a server of Anthropic's API; chat completions otherwise. */
  readonly speaks?: 'messages';
  /** Whether the deployment has no key for it: it is never asked, and a digest is made instead. */
  readonly isClosed?: boolean;
  /** The model's context window in tokens. */
  readonly window: number;
  /** The model's longest answer in tokens. Absent if that is not known. */
  readonly longestAnswer?: number | undefined;
  /** Time limit of one call, including its body, in milliseconds. */
  readonly timeoutMs: number;
  /** How the model is billed. Absent if that is not known. */
  readonly schedule?: Schedule | undefined;
  /** Whether the deployer has chosen the model, whatever the caller may ask. */
  readonly isDeployers?: boolean;
}

/** A summarizer that can be asked: each call passes the limits of whom it is made for. */
export interface GuardedSummarizer extends SummarizerTarget {
  readonly guard: CallGuard;
}

export interface SummarizerAnswer {
  readonly text: string;
  readonly finishReason: string | null;
  readonly toolCalls: number;
  readonly usage: TokenUsage;
}

export const NO_USAGE: TokenUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * The answer's token limit, as a multiple of the summary's and as a minimum. Reasoning models spend
 * tokens before they write, and a summary that is too long must be rejected rather than cut off.
 */
const ROOM = 4;
const LEAST_ROOM = 4_096;
/**
 * The least for models that reason, on any server. OpenAI's advice
 * (https://developers.openai.com/api/docs/guides/reasoning, "Allocating space for reasoning").
 */
const REASONING_ROOM = 25_000;

/** The answer's largest share of the window. Many servers reserve it before they read a prompt. */
const ANSWER_SHARE = 0.25;

/**
 * The usable share of what the answer leaves of the window: the summarizer's tokenizer may count
 * differently, and models read worse near the end of their window.
 */
const USABLE_SHARE = 0.75;

/**
 * The longest answer in bytes. A summary has a few thousand tokens, and reasoning may come with it.
 */
export const LONGEST_ANSWER = 4 * 1024 * 1024;

export function askSummarizer(
  target: GuardedSummarizer,
  prompt: Prompt,
  maxTokens: number,
): Promise<Result<SummarizerAnswer, ModelFault>> {
  const { model, timeoutMs } = target;
  if (target.isClosed) return Promise.resolve({ ok: false, reason: { code: 'refused', again: false } });
  const limits = { timeoutMs, longestAnswer: LONGEST_ANSWER };
  if (target.speaks === 'messages') {
    const { reasons } = reasoningOf(model);
    const { system, user: content } = prompt;
    const messages = [{ role: 'user', content }];
    const asked = { model, max_tokens: answerRoom(target, maxTokens), system, messages };
    const effort = reasons ? [effortOf({ output_config: { effort: 'low' } })] : [];
    return askModel(target, limits, tollOf(target, prompt, maxTokens), async (client, signal) => {
      const ask = (more: object) =>
        client.post<unknown>('/messages', { body: { ...asked, ...more }, signal });
      return readMessage(await askWith(effort, ask), target.schedule);
    });
  }
  const settings = settingsOf(target, maxTokens);
  return askModel(target, limits, tollOf(target, prompt, maxTokens), async (client, signal) => {
    const messages = [
      { role: 'system' as const, content: prompt.system },
      { role: 'user' as const, content: prompt.user },
    ];
    const ask = (more: object) => client.chat.completions.create({ model, messages, ...more }, { signal });
    return readAnswer(await askWith(settings, ask), target.schedule);
  });
}

/** What a call may cost at most, and what it has. */
function tollOf(
  target: GuardedSummarizer,
  { system, user }: Prompt,
  maxTokens: number,
): Toll<SummarizerAnswer> {
  const { guard, model, schedule, isDeployers = false } = target;
  const most = () => ({
    input: Math.ceil(Buffer.byteLength(system + user) / BYTES_PER_TOKEN),
    output: answerRoom(target, maxTokens),
  });
  // A server that reports no usage has been paid all the same.
  const endOf = ({ usage }: SummarizerAnswer) => (usage.total_tokens > 0 ? usage : 'unknown');
  return { guard, model, schedule, isDeployers, most, endOf };
}

/** Fields of a call, and what replaces them where they are refused. */
interface Setting {
  readonly fields: object;
  /** What such a refusal says. Absent: nothing replaces them. */
  readonly refusal?: RegExp;
  readonly instead?: object;
}

/** A model of a known family may be newer than our table, and a gateway may not know the field. */
const effortOf = (fields: object): Setting => ({
  fields,
  refusal: /reasoning_effort|output_config/,
  instead: {},
});

/** The fields beside model and messages, which differ by server and model. */
function settingsOf(target: SummarizerTarget, maxTokens: number): Setting[] {
  const { baseUrl, model } = target;
  const { stops } = reasoningOf(model);
  const tokens = answerRoom(target, maxTokens);
  const newer = { max_completion_tokens: tokens };
  // OpenAI's newer models accept only its own name, and most other servers only the other. Azure
  // and gateways that pass a body on refuse it with "Use 'max_completion_tokens' instead".
  if (!serverOf(baseUrl).endsWith('.openai.com'))
    return [
      { fields: { max_tokens: tokens }, refusal: /\bmax_completion_tokens\b.*\binstead\b/, instead: newer },
    ];
  return [{ fields: newer }, ...(stops ? [effortOf({ reasoning_effort: 'none' })] : [])];
}

/** The least limit of an answer with a summary, and with the reasoning before it. */
export function leastRoom(model: string): number {
  return reasoningOf(model).reasons ? REASONING_ROOM : LEAST_ROOM;
}

/** The answer's limit for a summary of this many tokens. */
export function answerRoom({ model, window, longestAnswer }: SummarizerTarget, maxTokens: number): number {
  const least = leastRoom(model);
  const most = Math.max(1, Math.floor(window * ANSWER_SHARE));
  return Math.min(Math.max(least, ROOM * maxTokens), longestAnswer ?? most, most);
}

/** The most tokens of a whole prompt that asks for a summary of this many tokens. */
export function promptRoom(target: SummarizerTarget, maxTokens: number): number {
  return Math.floor((target.window - answerRoom(target, maxTokens)) * USABLE_SHARE);
}

/** Asks with some settings, and anew where one is refused. */
async function askWith<Answer>(
  settings: readonly Setting[],
  ask: (more: object) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(Object.assign({}, ...settings.map(({ fields }) => fields)));
  } catch (error) {
    const refused = settings.find((setting) => isRefused(setting, error));
    if (!refused) throw error;
    const { instead = {} } = refused;
    return askWith(
      settings.map((setting) => (setting === refused ? { fields: instead } : setting)),
      ask,
    );
  }
}

function isRefused({ refusal }: Setting, error: unknown): boolean {
  return error instanceof APIError && error.status === 400 && refusal?.test(error.message) === true;
}

/** Other servers than OpenAI's leave out fields that the types require. */
function readAnswer(
  completion: Partial<OpenAI.ChatCompletion>,
  schedule: Schedule | undefined,
): SummarizerAnswer {
  const choice = completion.choices?.[0];
  const { usage } = completion;
  const { prompt_tokens = 0, total_tokens = 0, prompt_tokens_details } = usage ?? {};
  // Some servers have reasoning in the total alone (`protocol/answers/usage-tail.ts`).
  const completion_tokens = Math.max(usage?.completion_tokens ?? 0, total_tokens - prompt_tokens);
  const { cached_tokens = 0, cache_write_tokens = 0 } = prompt_tokens_details ?? {};
  return {
    // Mistral's models that reason answer in parts.
    text: textIn(choice?.message?.content),
    finishReason: choice?.finish_reason ?? null,
    toolCalls: (choice?.message?.tool_calls?.length ?? 0) + (choice?.message?.function_call ? 1 : 0),
    usage: billed(
      {
        prompt_tokens,
        completion_tokens,
        ...(cached_tokens > 0 ? { cached_tokens } : {}),
        ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
      },
      schedule,
    ),
  };
}

/** The same over Messages (https://platform.claude.com/docs/en/api/messages). */
function readMessage(message: unknown, schedule: Schedule | undefined): SummarizerAnswer {
  const { content, stop_reason, usage } = asObject(message);
  const isWhole = stop_reason === 'end_turn' || stop_reason === 'stop_sequence';
  const counted = countedUsage({ input_tokens: 0, ...asObject(usage) });
  const finishReason = isWhole ? 'stop' : asString(stop_reason);
  return { text: textIn(content), finishReason, toolCalls: 0, usage: billed(counted, schedule) };
}

/** The usage of one call, with its price. */
export function billed(
  usage: Omit<TokenUsage, 'total_tokens' | 'cost'>,
  schedule: Schedule | undefined,
): TokenUsage {
  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return { ...usage, total_tokens, cost: summarizerAmount(usage, schedule) };
}
