/**
 * `GET /v1/stats`: how long a caller's summaries take, how large their windows are, and what its
 * conversations have cost (docs/conversations.md#all-conversations).
 */
import { plus } from '../../lib/sums.ts';
import { dateOfDay } from '../../lib/utc-time.ts';
import { billSumsJson, joinSums, NO_SUMS } from '../../memory/money/bill-sums.ts';
import { type TriedSide, trialsIn } from '../../memory/run/trial-report.ts';
import type { TrialTotals } from '../../memory/run/trials.ts';
import type { ShownSide, StatsComparison } from '../../reference/schemas/conversations.ts';
import type { GenerationTimes } from '../../storage/conversation/memories.ts';
import { tenantsOf } from '../../tenant/identity.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { stored } from '../stored.ts';
import { askEach, daysIn, getDays, rangeOf } from './days.ts';
import { listedOf, STATUSES, standingsOf } from './standings.ts';

/** How many conversations are read, the newest ones. */
const MOST_READ = 100;

const NEWEST = { sort: 'created', order: 'desc', text: '' } as const;

/** With `days`, only what was sent and cost by day, for which no conversation's object is asked. */
export async function getStats(c: RouteContext): Promise<Response> {
  return c.req.query('days') === undefined ? getNewest(c) : getDays(c);
}

async function getNewest(c: RouteContext): Promise<Response> {
  const services = c.get('services');
  const tenants = tenantsOf(await verifiedTenant(c, 'read'));
  const all = await stored(c, async () => {
    const each = Math.floor(MOST_READ / tenants.length);
    const lists = await Promise.all(
      tenants.map((tenant) => listedOf([tenant], NEWEST, null, each, services)),
    );
    return standingsOf(
      lists.flatMap(({ found }) => found),
      services,
    );
  });
  const days = all.flatMap(({ standing }) => standing.days);
  const byDay = new Map<number, GenerationTimes[]>();
  for (const one of days) byDay.set(one.day, [...(byDay.get(one.day) ?? []), one]);
  return c.json({
    object: 'memory.stats',
    conversations: all.length,
    by_status: Object.fromEntries(
      STATUSES.map((status) => [status, all.filter((one) => one.status === status).length]),
    ),
    bill: billSumsJson(all.map(({ standing }) => standing.bills).reduce(joinSums, NO_SUMS)),
    ...timesJson(days),
    windows: windowsJson(days),
    progression: [...byDay]
      .sort(([a], [b]) => a - b)
      .map(([day, times]) => ({
        date: dateOfDay(day),
        ...timesJson(times),
        windows: windowsJson(times),
      })),
  });
}

/** As in a conversation's own `stats`. */
function timesJson(times: readonly GenerationTimes[]): object {
  const count = times.reduce((sum, one) => sum + one.count, 0);
  const total = times.reduce((sum, one) => sum + one.total_ms, 0);
  return {
    avg_ms: count === 0 ? null : Math.round(total / count),
    max_ms: count === 0 ? null : Math.max(...times.map(({ max_ms }) => max_ms)),
    total_summaries: count,
  };
}

/** The windows of rolling memories, in sequence numbers. */
function windowsJson(times: readonly GenerationTimes[]): object {
  const count = times.reduce((sum, { windows }) => sum + windows, 0);
  const total = times.reduce((sum, { total_window }) => sum + total_window, 0);
  return {
    avg_size: count === 0 ? null : Math.round(total / count),
    max_size: count === 0 ? null : Math.max(...times.map(({ max_window }) => max_window ?? 0)),
    count,
  };
}

/**
 * `GET /v1/stats/comparison`: what a strategy on trial has saved in some days, or would have
 * (docs/answers-and-errors.md#on-trial).
 */
export async function getComparison(c: RouteContext): Promise<Response> {
  const tenant = await verifiedTenant(c, 'read');
  const days = daysIn(c);
  const range = rangeOf(days);
  const totals = await askEach(c, tenant, (stub) => stub.trials(...range));
  const trials = trialsIn(totals.reduce<TrialTotals>(plus, {}));
  const answer: StatsComparison = {
    object: 'memory.stats.comparison',
    days,
    data: trials.map(({ mode, text, observed, sent, between }) => ({
      mode,
      text,
      observed: observed && sideJson(observed),
      sent: sent && sideJson(sent),
      between,
    })),
  };
  return c.json(answer);
}

function sideJson({ total, saving }: TriedSide): ShownSide {
  const { conversations, requests, before, after, billed, paid, compared, whole, saved } = total;
  const isKnown = total.summarizer !== null;
  return {
    conversations,
    requests,
    before,
    after,
    paid: isKnown && billed > 0 ? paid : null,
    compared,
    whole: compared > 0 ? whole : null,
    saved: isKnown && compared > 0 ? saved : null,
    saving,
    answers: total.answers,
    words: total.words,
    missed: total.missed,
  };
}
