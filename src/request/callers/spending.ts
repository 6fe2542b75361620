/**
 * What one request spends of its caller's limits (docs/operating.md#budgets-and-limits). Each call
 * of an upstream, for an answer or for a summary, is reserved before it is sent and settled when it
 * has ended, in the tenant's object. Nothing is asked for a caller without limits.
 */
import { bufferOf } from '../../lib/bytes.ts';
import { asObjects } from '../../lib/json.ts';
import { longestAnswerOf } from '../../memory/models/facts.ts';
import type { Schedule } from '../../memory/models/schedule.ts';
import { dollarsOf } from '../../memory/money/amounts.ts';
import {
  allowsModel,
  type CallerLimits,
  type CountedLimit,
  counts,
  hasBudget,
  modelFault,
} from '../../memory/money/caller-limits.ts';
import { dearestSpend, leftOf, NO_SPEND, type Spend, type Spent } from '../../memory/money/spending.ts';
import { BYTES_PER_TOKEN } from '../../protocol/answers/answer-size.ts';
import { foldedName, readingsOf, topNamesOf } from '../../protocol/top-fields.ts';
import type { WaitUntil } from '../../storage/refs/writer.ts';
import { Budget, type Payer } from '../../storage/tenant/budget.ts';
import type { Refused, Reserved } from '../../storage/tenant/spending.ts';
import type { Tenant } from '../../tenant/identity.ts';
import type { GuardedCall } from '../../upstream/call-guard.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { billingOf, HOUR, type PricedRequest, scheduleOfAnswers, scheduleOfRequest } from './billing.ts';
import { checkState } from './caller.ts';
import { EMBEDDINGS, MESSAGES, mostOutput, OUTPUT_FIELDS } from './most-output.ts';
import { modelsIn, OTHER_MODELS } from './other-models.ts';
import { type SentCall, SpendingCall } from './spending-call.ts';

/** They count the tokens of a request, and answer with their number. */
const COUNTING: ReadonlySet<string> = new Set(['/responses/input_tokens', '/messages/count_tokens']);

/** What decides about the price of a call. */
const PRICED = ['model', 'service_tier', 'speed', 'prompt_cache_options'] as const;

const FIELDS = [...PRICED, ...OUTPUT_FIELDS, ...OTHER_MODELS];

type Fields = ReadonlyMap<string, unknown>;
type Field = (name: string) => unknown;

/** A model that may be asked, as a server may read its request. */
interface PricedModel {
  readonly name: string;
  readonly priced: PricedRequest;
  readonly schedule: Schedule | null;
  /** What the call costs with it at most; 0 without a price. */
  readonly amount: number;
}

/** A reservation's end, to be called once. Resolves when it is counted; never rejects. */
type Settle = (spent: Spend) => Promise<void>;

/** A model that the summarizer's work asks. */
type AskedModel = Pick<GuardedCall, 'model' | 'schedule' | 'isDeployers'>;

export class Spending {
  private readonly payer: Payer;
  private readonly limits: CallerLimits;
  private readonly services: Services;
  private readonly waitUntil: WaitUntil;
  private readonly budget: Budget;
  /** Whether a call of this request has been sent. */
  private hasGone = false;
  private spent: Spent | undefined;
  private checked: Promise<void> | undefined;
  /** What is reserved for summaries before the first of them is asked for. */
  private ahead: Settle | undefined;

  constructor(limits: CallerLimits, tenant: Tenant, services: Services, waitUntil: WaitUntil) {
    this.limits = limits;
    this.payer = { tenant: tenant.id, limits };
    this.services = services;
    this.waitUntil = waitUntil;
    const { config, log, unreported } = services;
    const { allowsUnknown } = config;
    this.budget = new Budget(this.payer, {
      ask: (call) => services.tenant(tenant.id)(call),
      allowsUnknown,
      unreported,
      waitUntil,
      log,
    });
  }

  /**
   * Reserves a call before it is sent.
   *
   * @returns undefined if nothing is counted for it
   * @throws ApiError `model_not_allowed`, `budget_exceeded`, `rate_limited`; `store_failed` if that
   *   can't be known
   */
  async begin(call: SentCall): Promise<SpendingCall | undefined> {
    const readings = readingsOf(call.body, FIELDS).map((fields) => ({
      field: ((name) => fields.get(name)) as Field,
      names: this.modelNames(call.body, fields),
    }));
    if (COUNTING.has(call.path) || !counts(this.limits)) return undefined;
    const { services } = this;
    const input = call.tokens ?? Math.ceil(call.body.length / BYTES_PER_TOKEN);
    const asked = readings.flatMap(({ field, names }) => [
      ...names.map((name) => ({ name, field })),
      ...ownFieldsOf(field),
    ]);
    // What a gateway asks instead of a model may write longer answers.
    const outputs = asked.map(({ name, field }) =>
      mostOutput(call.path, name, field, longestAnswerOf(name, services.config.modelWindows)),
    );
    const [usual, most, hidden] = (['usual', 'most', 'hidden'] as const).map((of) =>
      Math.max(...outputs.map((output) => output[of])),
    ) as [number, number, number];
    const models = asked
      .map(({ name, field }) => this.pricedModel(name, call, field, { input, output: most }))
      .sort((one, other) => other.amount - one.amount) as [PricedModel, ...PricedModel[]];
    const [dearest] = models;
    const isOneOfMany = readings.some(({ names }) => names.length > 1);
    const over = await this.reserved({ tokens: input + usual, amount: dearest.amount });
    return new SpendingCall({
      scheduleOf: (answer, answered) => {
        const known = longestNameOf(answered, models);
        if (isOneOfMany && !known) return dearest.schedule;
        const { priced, schedule } = known ?? dearest;
        return answer ? (scheduleOfAnswers(priced, [answer], services) ?? schedule) : schedule;
      },
      estimated: { input, usual, most, isAsked: outputs.every(({ isAsked }) => isAsked), hidden },
      writes: call.writes,
      isVector: call.path === EMBEDDINGS,
      isOneOfMany,
      over: (spend) => void over(spend),
    });
  }

  /**
   * Does the summarizer's work that a request asks for by itself, with an estimate reserved until
   * the conversation's object takes it over.
   *
   * @throws ApiError like `begin`
   */
  async summarizing<Result>(estimated: Spend, work: () => Promise<Result>): Promise<Result> {
    if (!counts(this.limits)) return work();
    this.ahead = await this.reserved(estimated, true);
    try {
      return await work();
    } finally {
      await this.handOver();
    }
  }

  /**
   * Leaves the summarizer's work to a conversation's object, which reserves each of its calls: what
   * is reserved ahead must not be in their way.
   */
  async handOver(): Promise<Payer> {
    const { ahead, payer } = this;
    this.ahead = undefined;
    await ahead?.(NO_SPEND);
    return payer;
  }

  /**
   * Whether the caller may spend anything: work of the summarizer is paid by the deployer, too.
   *
   * @throws ApiError like `begin`
   */
  check(): Promise<void> {
    // What belongs to a request that has been sent continues.
    this.checked ??= this.hasGone ? Promise.resolve() : this.checkOnce();
    return this.checked;
  }

  /** @throws ApiError `model_not_allowed` for a model that the caller may not ask */
  checkModel(model: string): void {
    if (allowsModel(this.limits, model)) return;
    throw this.notAllowed(model, 'model');
  }

  /** A dollar can't be counted without a price. @throws ApiError `model_not_allowed` */
  checkPrice(request: PricedRequest): Schedule | null {
    const { model = '' } = request;
    const schedule = scheduleOfRequest(request, this.services) ?? null;
    if (modelFault(this.limits, model, schedule !== null) === 'price') throw unpriced(model, 'model');
    return schedule;
  }

  /** @throws ApiError `model_not_allowed` for a summarizer's model that the caller may not use */
  checkSummarizer({ model, schedule, isDeployers }: AskedModel): void {
    if (isDeployers) return;
    const fault = modelFault(this.limits, model, schedule !== undefined);
    if (fault === 'model') throw this.notAllowed(model, 'memory_strategy.summarizer_model');
    if (fault === 'price') throw unpriced(model, 'memory_strategy.summarizer_model');
  }

  allows(model: string): boolean {
    return allowsModel(this.limits, model);
  }

  /**
   * The models that the upstream may ask, the request's own first.
   *
   * @throws ApiError `model_not_allowed`
   */
  private modelNames(body: Uint8Array, fields: Fields): readonly string[] {
    const model = fields.get('model');
    const name = typeof model === 'string' ? model : '';
    this.checkModel(name);
    return [name, ...this.otherModels(body, fields)];
  }

  /**
   * The models beside `model` that the upstream may ask. An allowed model is no cover for others,
   * and a cheap one for none that is dear.
   *
   * @throws ApiError `model_not_allowed`
   */
  private otherModels(body: Uint8Array, fields: Fields): readonly string[] {
    if (this.limits.models === undefined && !hasBudget(this.limits)) return [];
    const misspelt = topNamesOf(body).filter((name) => name !== 'model' && foldedName(name) === 'model');
    const lists = OTHER_MODELS.map((name) => ({ name, models: modelsIn(fields.get(name)) }));
    const closed = lists.filter(({ models }) => !models?.every((model) => this.allows(model)));
    const [field] = [...misspelt, ...closed.map(({ name }) => name)];
    if (field === undefined) return lists.flatMap(({ models }) => models ?? []);
    throw new ApiError(
      'model_not_allowed',
      `This API key may only be used with certain models, or with models of a known price, but '${field}' could name others: name one in 'model'.`,
      field,
    );
  }

  /** @throws ApiError `model_not_allowed` without a price, under a budget in dollars */
  private pricedModel(
    name: string,
    { path, body }: SentCall,
    field: Field,
    most: { readonly input: number; readonly output: number },
  ): PricedModel {
    const priced = { model: name, field };
    const schedule = this.checkPrice(priced);
    const dearest = asksForHour(path, body) ? (billingOf(name, this.services, HOUR) ?? schedule) : schedule;
    return { name, priced, schedule, amount: dearestSpend(most, dearest ?? undefined).amount };
  }

  /** Reports what is left, as far as it is known by now. */
  setHeaders(headers: Headers): void {
    if (!this.spent) return;
    for (const [name, value] of Object.entries(headersOf(this.limits, this.spent))) headers.set(name, value);
  }

  private async checkOnce(): Promise<void> {
    if (!counts(this.limits)) return;
    const refused = await this.budget.check().catch(unknown);
    if (refused && refused !== 'unknown') throw this.refusal(refused);
  }

  /** @throws ApiError like `begin` */
  private async reserved(estimated: Spend, isSummary = false): Promise<Settle> {
    const isFurther = this.hasGone;
    this.hasGone = true;
    const order = { id: crypto.randomUUID(), at: Date.now(), isFurther, ...(isSummary ? { isSummary } : {}) };
    const reserved: Reserved | 'unknown' = await this.budget
      .reserve({ ...order, ...estimated })
      .catch(unknown);
    if (reserved !== 'unknown') {
      if (reserved.state !== 'reserved') throw this.refusal(reserved);
      this.spent = reserved.spent;
    }
    const over = Promise.withResolvers<Spend>();
    const settled = over.promise.then((spend) => this.budget.settle({ ...order, ...spend }));
    // Called now, because after the caller leaves it would be too late.
    this.waitUntil(settled);
    return (spend) => {
      over.resolve(spend);
      return settled;
    };
  }

  private notAllowed(model: string, param: string): ApiError {
    return new ApiError(
      'model_not_allowed',
      `This API key may not be used with the model '${model}', but with these: ${this.limits.models?.join(', ') || 'none'}.`,
      param,
    );
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
    const message = `This API key has reached its limit of ${this.limits[limit]} ${of}, set by the operator of this deployment.${again} Please try again in ${seconds}s.`;
    return new ApiError(code, message, null, undefined, headers);
  }
}

/** The object does not answer. @throws ApiError `store_failed` */
function unknown(): never {
  throw new ApiError('store_failed', 'What this API key may spend could not be checked; try again.');
}

/** Models that are asked instead, with fields of their own that replace the request's. */
function ownFieldsOf(field: Field): readonly { readonly name: string; readonly field: Field }[] {
  return asObjects(field('fallbacks')).flatMap((other) =>
    typeof other.model === 'string'
      ? [{ name: other.model, field: (name: string) => other[name] ?? field(name) }]
      : [],
  );
}

function unpriced(model: string, param: string): ApiError {
  return new ApiError(
    'model_not_allowed',
    `This API key has a budget in dollars, but this deployment does not know the price of the model '${model}' in this service tier.`,
    param,
  );
}

/** The model that has answered, whose name may have a vendor before it, or a date after it. */
function longestNameOf<Model extends { readonly name: string }>(
  answered: string | undefined,
  models: readonly Model[],
): Model | undefined {
  const bare = (name = ''): string => name.toLowerCase().split('/').at(-1) ?? '';
  const fitting = models.filter(({ name }) => name !== '' && bare(answered).startsWith(bare(name)));
  return fitting.toSorted((one, other) => bare(other.name).length - bare(one.name).length)[0];
}

const REACHED: Readonly<
  Record<
    CountedLimit,
    { readonly code: 'budget_exceeded' | 'rate_limited'; readonly of: string; readonly again: string }
  >
> = {
  usd_per_day: { code: 'budget_exceeded', of: 'dollars per day', again: ' The next day begins at 0:00 UTC.' },
  usd_per_month: {
    code: 'budget_exceeded',
    of: 'dollars per month',
    again: ' The next month begins at 0:00 UTC of its first day.',
  },
  tokens_per_minute: { code: 'rate_limited', of: 'tokens per minute', again: '' },
  requests_per_minute: { code: 'rate_limited', of: 'requests per minute', again: '' },
};

/** What is left of the limits: those per minute as OpenAI names them, budgets in dollars. */
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

/** Whether a mark in Messages may have its input kept for an hour. */
function asksForHour(path: string, body: Uint8Array): boolean {
  return path === MESSAGES && bufferOf(body).includes(`"${HOUR}"`);
}
