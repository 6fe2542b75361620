/** `GET /v1/stats?days=`: what a caller's requests have sent and cost, by day. */
import { dateOfDay, dayOf } from '../../lib/utc-time.ts';
import {
  type DaySums,
  joinDaySums,
  joinDays,
  NO_DAY_SUMS,
  netOf,
  paidOf,
  type SumsByDay,
} from '../../memory/run/day-sums.ts';
import type { FailureSums, MissSums, ModelSums } from '../../memory/run/named-sums.ts';
import { aboutOf } from '../../memory/run/period-summary.ts';
import type { StatsByDay, SumsOfDays } from '../../reference/schemas/conversations.ts';
import type { TenantMemoryStub } from '../../storage/objects.ts';
import { KEPT_DAYS } from '../../storage/tenant/usage.ts';
import { type Tenant, tenantsOf } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { countIn } from '../query.ts';
import { stored } from '../stored.ts';

/** In models, of those that have cost most. */
const SHOWN_MODELS = 20;

/** Days are in UTC, the last one being today. */
export async function getDays(c: RouteContext): Promise<Response> {
  const tenant = await verifiedTenant(c, 'read');
  const range = rangeOf(daysIn(c));
  const known = await askEach(c, tenant, (stub) => stub.days(...range));
  const sums = eachDay(known.reduce(joinDays, {}), range);
  return c.json({
    object: 'memory.stats.days',
    days: sums.length,
    behind_ms: TIME_LIMITS.sumsMs,
    total: sumsJson(sums.reduce(joinDaySums, NO_DAY_SUMS)),
    data: daysJson(sums, range),
  });
}

/**
 * Asks the objects of a caller's tenants, once they have the events of requests that have ended.
 *
 * @throws ApiError `store_failed`
 */
export function askEach<Answer>(
  c: RouteContext,
  tenant: Tenant,
  ask: (stub: TenantMemoryStub) => Promise<Answer>,
): Promise<Answer[]> {
  const { runOutboxes, tenant: open } = c.get('services');
  const askOne = async ({ id }: Tenant): Promise<Answer> => {
    await runOutboxes.settled(id);
    return open(id)(ask);
  };
  return stored(c, () => Promise.all(tenantsOf(tenant).map(askOne)));
}

/** The first and the last of some days until today. */
export type DayRange = readonly [first: number, last: number];

export function rangeOf(count: number): DayRange {
  const last = dayOf(Date.now());
  return [last - count + 1, last];
}

/** The sums of each day of a range, the oldest first. */
export function eachDay(known: SumsByDay, [first, last]: DayRange): readonly DaySums[] {
  return Array.from({ length: last - first + 1 }, (_, at) => known[first + at] ?? NO_DAY_SUMS);
}

export function daysJson(sums: readonly DaySums[], [first]: DayRange): StatsByDay['data'] {
  return sums.map((one, at) => ({ date: dateOfDay(first + at), ...sumsJson(one) }));
}

/** Sums as they are answered. What is not known is null, never 0. */
export function sumsJson(sums: DaySums): SumsOfDays {
  const { requests, failed, billed, would_be, observed, potential_billed } = sums;
  const isKnown = billed > 0;
  const summarizer = sums.unpriced > 0 ? null : sums.summarizer;
  return {
    requests,
    failed,
    tokens: { before: sums.tokens_before, sent: sums.tokens_sent },
    bill: {
      unit: 'nanodollars',
      billed,
      about: aboutOf(sums),
      would_be: isKnown ? would_be : null,
      actual: paidOf(sums),
      net: netOf(sums),
      debits: {
        summarizer: isKnown || sums.summarizer > 0 ? summarizer : null,
        fetch_rounds: isKnown ? sums.fetch_rounds : null,
        broken_cache: isKnown ? sums.broken_cache : null,
      },
    },
    missed: missedJson(sums.missed ?? {}),
    failures: failuresJson(sums.failures ?? {}),
    models: modelsJson(sums.models ?? {}),
    observed: {
      requests: observed,
      tokens: { before: sums.observed_before, would_be: sums.observed_would_be },
      billed: potential_billed,
      net: potential_billed > 0 ? sums.potential_net : null,
    },
  };
}

/** The dearest first; causes of unknown cost last. */
function missedJson(missed: MissSums): SumsOfDays['missed'] {
  return (
    Object.entries(missed) as [SumsOfDays['missed'][number]['cause'], MissSums[keyof MissSums] & object][]
  )
    .map(([cause, sum]) => ({ cause, ...sum }))
    .toSorted((one, other) => (other.amount ?? -1) - (one.amount ?? -1) || other.tokens - one.tokens);
}

/** The most frequent first. */
function failuresJson(failures: FailureSums): SumsOfDays['failures'] {
  return Object.entries(failures)
    .map(([status, { requests }]) => ({ status, requests }))
    .toSorted((one, other) => other.requests - one.requests);
}

/** The dearest first. */
function modelsJson(models: ModelSums): SumsOfDays['models'] {
  return Object.entries(models)
    .map(([model, sum]) => ({ model: model === '' ? null : model, ...sum }))
    .toSorted((one, other) => other.sent - one.sent || other.requests - one.requests)
    .slice(0, SHOWN_MODELS);
}

/** How many days are asked for; without the parameter a week. @throws ApiError */
export function daysIn(c: RouteContext): number {
  return countIn(c, 'days', { usual: 7, largest: KEPT_DAYS });
}
