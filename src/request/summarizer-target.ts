/**
 * The summarizer for a request: the deployment's own, else the request's upstream with its key
 * (docs/design.md#8-summaries).
 */
import { baseUrlOf } from '../config.ts';
import { longestAnswerOf, windowOf } from '../memory/models/facts.ts';
import { baseName } from '../memory/models/families.ts';
import type { MemoryStrategy, SummarizingStrategy } from '../memory/modes/table.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { SummarizerTarget } from '../summary/summarizer.ts';
import { isAnthropic, isOpenAi } from '../upstream/api.ts';
import { noteLimit, roomIn } from '../upstream/learned-limits.ts';
import { billingOf } from './callers/billing.ts';
import { ApiError } from './errors.ts';
import { ownScope, ownUpstream } from './own-upstream.ts';
import type { RequestScope } from './scope.ts';
import type { Services } from './services.ts';

/** The default on OpenAI's own server: the smallest of its newest generation. */
const OPENAI_MODEL = 'gpt-6-luna';

/**
 * Checks the names in a strategy that only the deployment knows.
 *
 * @throws ApiError `invalid_memory_strategy`
 */
export function checkSummarizer(strategy: MemoryStrategy, services: Services): void {
  checkModel(strategy, services);
  withPrompt(strategy, services);
}

/**
 * The strategy with the deployer's instructions that it names before its own.
 *
 * @throws ApiError `invalid_memory_strategy` for instructions that the deployment does not have
 */
export function withPrompt(strategy: MemoryStrategy, { prompts }: Services): MemoryStrategy {
  if (!('summary_prompt' in strategy) || strategy.summary_prompt === undefined) return strategy;
  const { summary_prompt, summary_instructions: own, ...rest } = strategy;
  const named = prompts.get(summary_prompt);
  if (named === undefined)
    throw new ApiError(
      'invalid_memory_strategy',
      `memory_strategy.summary_prompt is not one of this deployment's: ${[...prompts.keys()].join(', ')}.`,
      'memory_strategy.summary_prompt',
    );
  return { ...rest, summary_instructions: own === undefined ? named : `${named}\n\n${own}` };
}

/** @throws ApiError `invalid_memory_strategy` for a model that the deployment does not offer */
function checkModel(strategy: MemoryStrategy, { config }: Services): void {
  const models = config.summarizer?.models;
  const model = 'summarizer_model' in strategy ? strategy.summarizer_model : undefined;
  if (!models || model === undefined || models.includes(model)) return;
  throw new ApiError(
    'invalid_memory_strategy',
    `memory_strategy.summarizer_model is not one of this deployment's: ${models.join(', ')}.`,
    'memory_strategy.summarizer_model',
  );
}

/**
 * Checks that there is a summarizer for a request.
 *
 * @throws ApiError `invalid_memory_strategy` for a model that the deployment does not offer;
 *   `model_not_allowed` for one that the caller's limits don't
 */
export function checkTarget(strategy: SummarizingStrategy, { services, spending }: RequestScope): void {
  const { summarizer, ownSummarizer } = services.config;
  if (summarizer) checkModel(strategy, services);
  const { summarizer_model: model } = strategy;
  if (model === undefined || !spending) return;
  const isDeployers = model === (summarizer ?? ownSummarizer)?.model;
  spending.checkSummarizer({ model, schedule: billingOf(model, services), isDeployers });
}

/** @throws see `checkTarget` */
export function summarizerTarget(
  strategy: SummarizingStrategy,
  request: ModelRequest,
  scope: RequestScope,
): SummarizerTarget {
  checkTarget(strategy, scope);
  const { services, spending } = scope;
  const { summarizer, ownSummarizer, summarizerTimeoutMs: timeoutMs } = services.config;
  if (summarizer) {
    const { baseUrl, apiKey } = summarizer;
    const model = strategy.summarizer_model ?? summarizer.model;
    const { modelWindows } = services.config;
    const server = { baseUrl, apiKey, headers: {}, model, timeoutMs };
    const window = learnedWindow(server, summarizer.window ?? windowOf(model, modelWindows), scope);
    const longestAnswer = longestAnswerOf(model, modelWindows);
    const schedule = billingOf(model, services);
    const isDeployers = model === summarizer.model;
    return { ...server, window, longestAnswer, schedule, isDeployers };
  }
  const asked = ownScope(scope);
  const { api, caller } = asked;
  const baseUrl = baseUrlOf(api, services.config);
  const takesOurs = isOpenAi(baseUrl) && spending?.allows(OPENAI_MODEL) !== false;
  const own = takesOurs ? OPENAI_MODEL : request.model;
  const named = ownSummarizer && isServed(ownSummarizer.model, baseUrl) ? ownSummarizer : undefined;
  const model = strategy.summarizer_model ?? named?.model ?? own ?? OPENAI_MODEL;
  const stated =
    model === named?.model
      ? named.window
      : model === request.model
        ? strategy.context_window_tokens
        : undefined;
  const window = stated ?? windowOf(model, services.config.modelWindows);
  if (caller.isClosed) return { baseUrl, headers: {}, model, window, timeoutMs, isClosed: true };
  return {
    ...ownUpstream(asked),
    ...(api.name === 'anthropic' ? { speaks: 'messages' as const } : {}),
    model,
    window: learnedWindow({ model, baseUrl }, window, scope),
    longestAnswer: longestAnswerOf(model, services.config.modelWindows),
    timeoutMs,
    schedule: billingOf(model, services),
    ...(model === named?.model ? { isDeployers: true } : {}),
  };
}

/**
 * Whether a server can have a model: the vendors' own have their own models alone, and any other
 * may have each.
 */
function isServed(model: string, baseUrl: string): boolean {
  const isAnthropics = baseName(model).startsWith('claude');
  return isOpenAi(baseUrl) ? !isAnthropics : !isAnthropic(baseUrl) || isAnthropics;
}

/** @param window the model's, as far as it is known without having asked it */
function learnedWindow(
  target: Pick<SummarizerTarget, 'model' | 'baseUrl'>,
  window: number,
  { services, caller }: RequestScope,
): number {
  const limits = services.memory.of('learnedLimits');
  const learned = caller.tenant && limits.get(caller.tenant.id, learnedName(target, services))?.value;
  return learned ? Math.min(window, roomIn(learned, 0)) : window;
}

/** Remembers the window that a summarizer's refusal has shown, in tokens. */
export function learnWindow(
  target: Pick<SummarizerTarget, 'model' | 'baseUrl'>,
  tokens: number,
  { services, caller }: RequestScope,
): void {
  const limit = { tokens, withAnswer: true };
  const limits = services.memory.of('learnedLimits');
  if (caller.tenant) noteLimit(limits, caller.tenant.id, learnedName(target, services), limit, 0);
}

/** A server of the deployer's may have another model of the same name. */
function learnedName(
  { model, baseUrl }: Pick<SummarizerTarget, 'model' | 'baseUrl'>,
  { config }: Services,
): string {
  return config.summarizer ? `${baseUrl} ${model}` : model;
}
