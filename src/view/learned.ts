/**
 * What earlier requests have shown, as far as this isolate knows: what a conversation's upstream
 * refuses, whether its cache holds the instructions, and how long a context may be.
 */
import { baseUrlOf } from '../config.ts';
import { serverOf } from '../lib/request-url.ts';
import { budgetsOf, edits } from '../memory/modes/strategy.ts';
import type { EditingStrategy } from '../memory/modes/table.ts';
import { areUncached } from '../memory/money/uncached-instructions.ts';
import type { Warning } from '../memory/plan/report.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import { HOSTED } from '../protocol/responses/hosted-output.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { actingOn } from '../request/native-compaction.ts';
import { LEAST_LIMITED, limitOfHost, noteBytes } from '../upstream/body-limits.ts';
import { type LearnedLimit, noteLimit } from '../upstream/learned-limits.ts';
import type { TooLong } from '../upstream/too-long.ts';
import { termsFor } from './made-before.ts';
import type { MadeView, MakeViewOptions } from './made-view.ts';

/** How a view is made because of it. */
interface Learned extends Pick<MadeView, 'unedited' | 'movesInstructions'> {
  readonly warnings: Warning[];
}

export function learnedOf(call: Call, strategy: EditingStrategy, options: MakeViewOptions): Learned {
  const known = options.unedited ?? uneditedKinds(call);
  const unedited = known?.size ? known : undefined;
  const movesInstructions = strategy.move_instructions && call.request.instructions !== undefined;
  return {
    unedited,
    movesInstructions,
    warnings: [
      ...(unedited ? ['outputs_whole' as const] : []),
      ...(!movesInstructions && areLeftOut(call) ? ['instructions_uncached' as const] : []),
    ],
  };
}

/** Kinds of elements whose outputs stay whole, since the upstream has refused them edited. */
function uneditedKinds(call: Call): ReadonlySet<string> | undefined {
  const refusals = call.scope.services.memory.of('refusals');
  const conversation = refusals.isEmpty ? undefined : conversationOfCall(call);
  if (!conversation) return undefined;
  const kinds = HOSTED.filter((kind) => refusals.get(conversation.name, kind) !== undefined);
  return kinds.length === 0 ? undefined : new Set(kinds);
}

/** Whether the upstream's cache leaves the instructions out. */
function areLeftOut(call: Call): boolean {
  const conversation = call.request.instructions && conversationOfCall(call);
  const known = conversation && call.scope.services.memory.of('instructions').get(conversation.name, '');
  return known !== undefined && areUncached(known);
}

/** Windows of llama.cpp, which Ollama and LM Studio run, are multiples of this. */
const WINDOW_STEP = 256;

/** Remembers how many bytes a body may have for the upstream of a request. */
export function learnBytes(limit: number, { scope }: Call): void {
  const { services, caller, api } = scope;
  if (!caller.tenant) return;
  noteBytes(services.memory.of('learnedSizes'), caller.tenant.id, baseUrlOf(api, services.config), limit);
}

/** A body with less than this share of a limit is far below it. */
const NEAR = 0.9;

/** See `PlanRequest`. */
export function byteLimitOf(
  { request, scope }: Call,
  { byteLimit }: MakeViewOptions,
): { readonly limit: number; readonly isLearned: boolean } | undefined {
  const { services, caller, api } = scope;
  const size = request.bytes.length;
  if (byteLimit === 'none' || size < LEAST_LIMITED) return undefined;
  const url = baseUrlOf(api, services.config);
  const learned =
    byteLimit ?? (caller.tenant && services.memory.of('learnedSizes').get(caller.tenant.id, url)?.value);
  const limit = limitOfHost(serverOf(url), learned);
  return limit !== undefined && size > NEAR * limit ? { limit, isLearned: limit === learned } : undefined;
}

/** The least share of such a window that is left for an answer. */
const ANSWER_SHARE = 0.2;

/**
 * Whether an answer was cut short since prompt and answer have filled the model's window, and so by
 * no limit of the caller.
 *
 * Local servers give no other reason for it than for a limit: llama.cpp, and so Ollama, stops at
 * the end of the window (https://github.com/ggml-org/llama.cpp/pull/13577). It rounds windows up to
 * a multiple of 256 (https://github.com/withcatai/node-llama-cpp/pull/522), so a sum of tokens that
 * is one, or the window that is known, is no coincidence. Vendors limit an answer by themselves, so
 * for their models that reason says nothing.
 */
export function hasFilledWindow(tail: UsageTail, call: Call): boolean {
  const { request, scope } = call;
  const { config } = scope.services;
  const strategy = actingOn(call);
  const cut = tail.cutBy();
  if (cut !== 'length' || !edits(strategy)) return cut === 'window';
  const terms = termsFor(request, strategy, config);
  const { input, output } = tail.usage() ?? {};
  if (!terms.prices.free || typeof input !== 'number' || typeof output !== 'number') return false;
  if (request.answerTokens > 0 && output >= request.answerTokens) return false;
  const filled = input + output;
  // The last token is not always counted.
  const isNear = (tokens: number): boolean => Math.abs(filled - tokens) <= 1;
  return isNear(budgetsOf(strategy, terms).window) || isNear(Math.round(filled / WINDOW_STEP) * WINDOW_STEP);
}

/**
 * The window that an answer has filled (see `hasFilledWindow`). Undefined if it does not say its
 * tokens.
 *
 * @param first the usage of the answer to the view alone, before Precis's rounds
 */
export function fullWindow(tail: UsageTail, first: UsageTail | undefined): TooLong | undefined {
  const { input, output } = tail.usage() ?? {};
  const prompt = first?.usage()?.input;
  if (typeof input !== 'number' || typeof output !== 'number' || !prompt) return undefined;
  const limit = input + output;
  if (tail.cutBy() === 'window') return { limit, prompt, withAnswer: true };
  // Callers of local servers seldom limit an answer, and a whole one is longer than this one.
  const answer = Math.floor(Math.min(Math.max(2 * output, limit * ANSWER_SHARE), limit / 2));
  return { limit, prompt, mayBeCut: true, answer, withAnswer: true };
}

/**
 * Remembers how long a context may be, and reports it to the deployer.
 *
 * @param limit undefined if nothing was learned
 * @param stated the upstream's own number of tokens, which the limit was made from
 */
export function learnLimit(
  limit: LearnedLimit | undefined,
  stated: number | undefined,
  { request, scope: { services, caller, waitUntil } }: Call,
): void {
  if (!limit || !caller.tenant) return;
  const { id: tenant } = caller.tenant;
  noteLimit(services.memory.of('learnedLimits'), tenant, request.model, limit, request.answerTokens);
  const data = { tenant, model: request.model ?? null, tokens: limit.tokens, stated: stated ?? null };
  services.webhooks.notify('limit.learned', data, waitUntil);
}
