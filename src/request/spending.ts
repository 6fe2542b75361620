/**
 * What one request spends of its caller's limits (docs/operating.md#budgets-and-limits). Each call
 * of the upstream is reserved before it goes up and counted when it has ended, in the tenant's
 * object. Nothing is asked for a caller without limits.
 */
import { bufferOf } from '../lib/bytes.ts';
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { longestAnswerOf } from '../memory/models/facts.ts';
import { reasoningOf } from '../memory/models/reasoning-effort.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import {
  allowsModel,
  type CallerLimits,
  type CountedLimit,
  counts,
  dollarsOf,
  hasBudget,
} from '../memory/money/caller-limits.ts';
import {
  type EstimatedTokens,
  estimatedSpend,
  leftOf,
  mostAmount,
  NO_SPEND,
  type Spend,
  type Spent,
} from '../memory/money/spending.ts';
import { BYTES_PER_TOKEN } from '../protocol/answers/answer-size.ts';
import { topFieldsOf, topNamesOf } from '../protocol/top-fields.ts';
import type { TenantMemoryStub } from '../storage/objects.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import type { EndedCall, Refused } from '../storage/tenant/spending.ts';
import type { Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { billingOf, HOUR, scheduleOfAnswers, scheduleOfRequest } from './billing.ts';
import { checkState } from './caller.ts';
import { ApiError } from './errors.ts';
import type { Services } from './services.ts';
import { SpendingCall } from './spending-call.ts';

/** A call of the upstream with a body. */
interface SentCall {
  /** Below the upstream's base URL. */
  readonly path: string;
  readonly body: Uint8Array;
  /** The tokens of its body, if they were counted. */
  readonly tokens?: number | undefined;
}

/** They count the tokens of a request, and answer with their number. */
const COUNTING: ReadonlySet<string> = new Set(['/responses/input_tokens', '/messages/count_tokens']);

/** Its answers are vectors. */
const EMBEDDINGS = '/embeddings';

/** Its answers may come without usage, and without the reasoning that is billed. */
const CHAT = '/chat/completions';

const MESSAGES = '/messages';

/** Tokens that are expected of an answer without a limit of its own. */
const USUAL_OUTPUT = 4_096;

/** The most output of a call, by how the caller names it. */
const MOST_OUTPUT = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'] as const;

/** What decides about the price of a call, and the most that it can cost. */
const PRICED = ['model', 'service_tier', 'speed', 'prompt_cache_options', 'reasoning_effort', 'n'] as const;

/** Lists of models that a gateway may ask in the place of the one that is named. */
const OTHER_MODELS = ['models', 'fallbacks'] as const;

const FIELDS = [...PRICED, ...MOST_OUTPUT, ...OTHER_MODELS] as const;

export class Spending {
  private readonly limits: CallerLimits;
  private readonly tenant: Tenant;
  private readonly services: Services;
  private readonly waitUntil: WaitUntil;
  /** Whether a call of this request has gone up. */
  private hasGone = false;
  private spent: Spent | undefined;
  private checked: Promise<void> | undefined;

  constructor(limits: CallerLimits, tenant: Tenant, services: Services, waitUntil: WaitUntil) {
    this.limits = limits;
    this.tenant = tenant;
    this.services = services;
    this.waitUntil = waitUntil;
  }

  /**
   * Reserves a call before it goes up.
   *
   * @returns undefined if nothing is counted for it
   * @throws ApiError `model_not_allowed`, `budget_exceeded`, `rate_limited`; `store_failed` if that
   *   can't be known
   */
  async begin(call: SentCall): Promise<SpendingCall | undefined> {
    const fields = topFieldsOf(call.body, FIELDS);
    const model = fields?.get('model');
    const name = typeof model === 'string' ? model : '';
    this.checkModel(name);
    this.checkOtherModels(call.body, fields);
    if (COUNTING.has(call.path) || !counts(this.limits)) return undefined;
    const priced = { model: name, field: (field: string): unknown => fields?.get(field) };
    const schedule = scheduleOfRequest(priced, this.services) ?? null;
    this.checkPrice(name, schedule);
    const { services } = this;
    const estimated = estimateOf(call, fields, longestAnswerOf(name, services.config.modelWindows));
    const { tokens } = estimatedSpend(estimated, null);
    const dearest = asksForHour(call) ? (billingOf(name, services, HOUR) ?? schedule) : schedule;
    const most = { ...estimated, output: estimated.mostOutput };
    const amount = schedule && dearest ? mostAmount(most, dearest) : 0;
    const over = await this.reserved({ tokens, amount });
    return new SpendingCall({
      schedule,
      scheduleOf: (answer) => scheduleOfAnswers(priced, [answer], services) ?? schedule,
      estimated,
      isVector: call.path === EMBEDDINGS,
      reasons: call.path === CHAT && fields?.get('reasoning_effort') !== 'none' && reasoningOf(name).reasons,
      over,
    });
  }

  /**
   * Does the summarizer's work that a request asks for by itself, with an estimate reserved. Its
   * tokens count when it has ended. What it has cost counts with the conversation's sums.
   *
   * @param tokensOf all tokens that the summarizer reports
   * @throws ApiError like `begin`
   */
  async summarizing<Result>(
    estimated: Spend,
    work: () => Promise<Result>,
    tokensOf: (result: Result) => number,
  ): Promise<Result> {
    if (!counts(this.limits)) return work();
    const over = await this.reserved(estimated);
    let tokens = 0;
    try {
      const result = await work();
      tokens = tokensOf(result);
      return result;
    } finally {
      over({ tokens, amount: 0 });
    }
  }

  /**
   * Whether the caller may spend anything: work of the summarizer is paid by the deployer, too.
   *
   * @throws ApiError like `begin`
   */
  check(): Promise<void> {
    // What belongs to a request that has gone up goes on.
    this.checked ??= this.hasGone ? Promise.resolve() : this.checkOnce();
    return this.checked;
  }

  /** @throws ApiError `model_not_allowed` for a model that the caller may not ask */
  checkModel(model: string): void {
    if (allowsModel(this.limits, model)) return;
    throw new ApiError(
      'model_not_allowed',
      `This API key may not be used with the model '${model}', but with these: ${this.limits.models?.join(', ') || 'none'}.`,
      'model',
    );
  }

  /**
   * An allowed model is no cover for others.
   *
   * @throws ApiError `model_not_allowed`
   */
  private checkOtherModels(body: Uint8Array, fields: ReadonlyMap<string, unknown> | undefined): void {
    if (this.limits.models === undefined) return;
    const misspelt = topNamesOf(body).filter((name) => name !== 'model' && name.toLowerCase() === 'model');
    const listed = OTHER_MODELS.filter((name) => !this.allowsAll(fields?.get(name) ?? []));
    const [field] = [...misspelt, ...listed];
    if (field === undefined) return;
    throw new ApiError(
      'model_not_allowed',
      `This API key may be used with certain models alone, and '${field}' could name others: name one in 'model'.`,
      field,
    );
  }

  private allowsAll(models: unknown): boolean {
    if (!Array.isArray(models)) return false;
    return models.every((model) => typeof model === 'string' && allowsModel(this.limits, model));
  }

  /** Tells what is left, as far as it is known by now. */
  setHeaders(headers: Headers): void {
    if (!this.spent) return;
    for (const [name, value] of Object.entries(headersOf(this.limits, this.spent))) headers.set(name, value);
  }

  /** A dollar can't be counted without a price. @throws ApiError `model_not_allowed` */
  private checkPrice(model: string, schedule: Schedule | null): void {
    if (schedule || !hasBudget(this.limits) || this.limits.unpriced_models === 'allow') return;
    throw new ApiError(
      'model_not_allowed',
      `This API key has a budget in dollars, and the price of the model '${model}' in this service tier is not known to this deployment.`,
      'model',
    );
  }

  private async checkOnce(): Promise<void> {
    if (!counts(this.limits)) return;
    const asked = this.ask((stub) => stub.check(this.limits));
    const refused = await asked.catch((error: unknown) => this.unknown(error));
    if (refused) throw this.refusal(refused);
  }

  /** @returns to be called once, when the call has ended */
  private async reserved(estimated: Spend): Promise<(spent: Spend) => void> {
    const isFurther = this.hasGone;
    this.hasGone = true;
    const id = crypto.randomUUID();
    const at = Date.now();
    await this.reserve({ id, at, isFurther, ...estimated });
    const over = Promise.withResolvers<Spend>();
    // Called now, because after the caller leaves it would be too late.
    this.waitUntil(over.promise.then((spend) => this.settle({ id, at, isFurther, ...spend })));
    return over.resolve;
  }

  private async reserve(call: EndedCall): Promise<void> {
    const { limits } = this;
    try {
      const reserved = await this.ask((stub) => stub.reserve({ ...call, limits }));
      if (reserved.state !== 'reserved') throw this.refusal(reserved);
      this.spent = reserved.spent;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      try {
        this.unknown(error);
      } catch (refusal) {
        // It may have been reserved all the same.
        this.waitUntil(this.settle({ ...call, ...NO_SPEND, isFurther: true }));
        throw refusal;
      }
    }
  }

  /** Never rejects: what is lost counts as spent after a while. */
  private async settle(call: EndedCall): Promise<void> {
    try {
      await this.ask((stub) => stub.settle(call));
    } catch (error) {
      const { log } = this.services;
      logCaught(log, 'error', 'what a call has spent could not be counted; it counts as estimated', error);
    }
  }

  private ask<Result>(call: (stub: TenantMemoryStub) => Promise<Result>): Promise<Result> {
    return within(TIME_LIMITS.limitsMs, this.services.tenant(this.tenant.id)(call));
  }

  /** The object does not answer. @throws ApiError `store_failed`, unless the deployment goes on */
  private unknown(error: unknown): undefined {
    const { log, config } = this.services;
    const then = config.allowsUnknown ? 'the request goes up' : 'the request is refused';
    logCaught(log, 'error', `the limits of a caller could not be looked up: ${then}`, error);
    if (config.allowsUnknown) return undefined;
    throw new ApiError('store_failed', 'It could not be looked up what this API key may spend; try again.');
  }

  private refusal(refused: Refused): ApiError {
    if (refused.state !== 'reached') {
      checkState(refused.state);
      throw new TypeError('a closed caller was not refused');
    }
    const { limit, retryMs, spent } = refused;
    const seconds = Math.max(1, Math.ceil(retryMs / 1_000));
    const { code, of, again } = REACHED[limit];
    const headers = {
      'retry-after': String(seconds),
      ...headersOf(this.limits, spent),
      // Clients try again by themselves, which can't help before tomorrow.
      ...(code === 'budget_exceeded' ? { 'x-should-retry': 'false' } : {}),
    };
    const message = `This API key has reached its limit of ${this.limits[limit]} ${of}, set by the operator of this deployment. ${again} Please try again in ${seconds}s.`;
    return new ApiError(code, message, null, undefined, headers);
  }
}

const REACHED: Readonly<
  Record<
    CountedLimit,
    { readonly code: 'budget_exceeded' | 'rate_limited'; readonly of: string; readonly again: string }
  >
> = {
  usd_per_day: { code: 'budget_exceeded', of: 'dollars per day', again: 'The next day begins at 0:00 UTC.' },
  usd_per_month: {
    code: 'budget_exceeded',
    of: 'dollars per month',
    again: 'The next month begins at 0:00 UTC of its first day.',
  },
  tokens_per_minute: { code: 'rate_limited', of: 'tokens per minute', again: '' },
  requests_per_minute: { code: 'rate_limited', of: 'requests per minute', again: '' },
};

/** What is left of the limits: those by the minute as OpenAI names them, budgets in dollars. */
function headersOf(limits: CallerLimits, spent: Spent): Record<string, string> {
  const left = (limit: CountedLimit) => leftOf(limit, limits, spent);
  const dollars = (limit: CountedLimit) => {
    const amount = left(limit);
    return amount === undefined ? undefined : String(dollarsOf(amount));
  };
  const named = {
    'x-ratelimit-limit-requests': limits.requests_per_minute,
    'x-ratelimit-remaining-requests': left('requests_per_minute'),
    'x-ratelimit-limit-tokens': limits.tokens_per_minute,
    'x-ratelimit-remaining-tokens': left('tokens_per_minute'),
    'x-memory-budget-day': dollars('usd_per_day'),
    'x-memory-budget-month': dollars('usd_per_month'),
  };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

/** What a call is expected to use, and may use. */
interface Estimate extends EstimatedTokens {
  readonly mostOutput: number;
}

/**
 * @param fields undefined if its body is no JSON object
 * @param longest the longest answer of its model in tokens, if that is known
 */
function estimateOf(
  { path, body, tokens }: SentCall,
  fields: ReadonlyMap<string, unknown> | undefined,
  longest = USUAL_OUTPUT,
): Estimate {
  const input = tokens ?? Math.ceil(body.length / BYTES_PER_TOKEN);
  if (path === EMBEDDINGS) return { input, output: 0, mostOutput: 0 };
  // An upstream may know any of them.
  const named = MOST_OUTPUT.map((name) => fields?.get(name)).filter(isCount);
  const asked = named.length > 0 ? Math.max(...named) : undefined;
  const n = fields?.get('n');
  const choices = isCount(n) ? n : 1;
  const [usual, most] = [asked ?? USUAL_OUTPUT, asked ?? Math.max(USUAL_OUTPUT, longest)];
  return { input, output: usual * choices, mostOutput: most * choices };
}

/** Whether a mark in Messages may have its input kept for an hour. */
function asksForHour({ path, body }: SentCall): boolean {
  return path === MESSAGES && bufferOf(body).includes(`"${HOUR}"`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
