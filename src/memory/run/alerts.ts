/**
 * What an operator should look at, in words, from counters alone (docs/operating.md#the-overview):
 * no alert without the number that it names. Pure.
 */
import { dateOfDay, dayOf, dayOfDate, timeOfDay } from '../../lib/utc-time.ts';
import { retirementOf } from '../models/retirements.ts';
import { dollarsIn, dollarsOf, nanodollarsOf } from '../money/amounts.ts';
import type { CallerLimits } from '../money/caller-limits.ts';
import { type DaySums, netOf } from './day-sums.ts';
import { many, percent, unbilledOf } from './period-summary.ts';

export interface Alert {
  readonly code: 'upstream' | 'failing' | 'budget' | 'unpriced' | 'misses' | 'losing' | 'retiring';
  /** `act`: something does not work, or soon will not. */
  readonly level: 'act' | 'watch';
  /** Whom it is about; null: all. */
  readonly caller: string | null;
  readonly model: string | null;
  readonly message: string;
}

/** From when on something is named. Shares are of 1. */
export const THRESHOLDS = {
  /** Failed requests of a caller, of all of them. */
  failing: { share: 0.05, requests: 5, act: 0.2 },
  /** What is spent of a limit in dollars. */
  budget: { share: 0.8, act: 1 },
  /** What cache misses have cost, of all that was paid. */
  misses: 0.05,
  /** What a caller has lost, of what it would have paid. */
  losing: 0.01,
  /** In days until a model is switched off. */
  retiring: { days: 60, act: 14 },
} as const;

export interface CountedCaller {
  readonly name: string;
  /** Of the days that are looked at. */
  readonly sums: DaySums;
  readonly limits: CallerLimits | undefined;
  /** Under limits, in nanodollars. */
  readonly spent: { readonly day: number; readonly month: number };
}

interface Counters {
  readonly total: DaySums;
  readonly callers: readonly CountedCaller[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What does not work comes first. */
export function alertsOf({ total, callers, now }: Counters): readonly Alert[] {
  const alerts = [
    ...upstream(total, now),
    ...callers.flatMap(failing),
    ...callers.flatMap(budgets),
    ...unpriced(total),
    ...misses(total),
    ...callers.flatMap(losing),
    ...retiring(total, dayOf(now)),
  ];
  return alerts.toSorted((one, other) => Number(other.level === 'act') - Number(one.level === 'act'));
}

function upstream({ answered_at: answered = 0, unanswered_at: failed = 0 }: DaySums, now: number): Alert[] {
  if (failed <= answered) return [];
  const since =
    answered === 0 ? 'has answered no request' : `has not answered since ${timeWords(answered, now)}`;
  const message = `The upstream ${since}; the last one failed at ${timeWords(failed, now)} (UTC).`;
  return [alert('upstream', 'act', message)];
}

/** `14:02`, with the date if it is another day than the reference's. */
function timeWords(at: number, reference: number): string {
  const [day, time] = [dayOf(at), timeOfDay(at)];
  return day === dayOf(reference) ? time : `${dateOfDay(day)}, ${time}`;
}

function failing({ name, sums }: CountedCaller): Alert[] {
  const { failed, requests, failures = {} } = sums;
  const { share, requests: least, act } = THRESHOLDS.failing;
  if (failed < least || failed < share * requests) return [];
  const statuses = Object.entries(failures).filter(([status]) => status !== 'broken');
  const [[status] = ['']] = statuses.toSorted(([, one], [, other]) => other.requests - one.requests);
  const why = status === '' ? '' : `${statuses.length > 1 ? ', mostly' : ''} with ${status}`;
  const message = `${name}: ${percent(failed / requests)} of requests fail${why} (${failed.toLocaleString('en')} of ${requests.toLocaleString('en')}).`;
  return [alert('failing', failed >= act * requests ? 'act' : 'watch', message, { caller: name })];
}

function budgets({ name, limits, spent }: CountedCaller): Alert[] {
  return (['day', 'month'] as const).flatMap((of) => {
    const most = limits?.[`usd_per_${of}`];
    if (most === undefined || spent[of] <= 0) return [];
    const share = most === 0 ? 1 : dollarsOf(spent[of]) / most;
    if (share < THRESHOLDS.budget.share) return [];
    const message = `${name} is at ${percent(share)} of the limit of the ${of} (${dollarsIn(spent[of])} of ${dollarsIn(nanodollarsOf(most))}).`;
    return [alert('budget', share >= THRESHOLDS.budget.act ? 'act' : 'watch', message, { caller: name })];
  });
}

function unpriced(total: DaySums): Alert[] {
  const unbilled = unbilledOf(total);
  if (unbilled === 0) return [];
  const models = Object.entries(total.models ?? {}).filter(([, one]) => one.unbilled > 0);
  const [[model] = ['']] = models.toSorted(([, one], [, other]) => other.unbilled - one.unbilled);
  const whose = model === '' ? '' : `, ${models.length > 1 ? 'mostly ' : ''}of ${model}`;
  return [
    alert('unpriced', 'watch', `${many(unbilled, 'request')} without a known cost${whose}.`, { model }),
  ];
}

function misses({ missed = {}, sent, summarizer }: DaySums): Alert[] {
  const all = Object.values(missed);
  const amount = all.reduce((sum, one) => sum + (one.amount ?? 0), 0);
  const paid = sent + summarizer;
  if (amount === 0 || amount < THRESHOLDS.misses * paid) return [];
  const requests = all.reduce((sum, one) => sum + one.requests, 0);
  const message = `Cache misses cost ${dollarsIn(amount)}, ${percent(amount / paid)} of what was paid (${many(requests, 'request')}).`;
  return [alert('misses', 'watch', message)];
}

function losing({ name, sums }: CountedCaller): Alert[] {
  const net = netOf(sums);
  if (net === null || net >= 0 || -net < THRESHOLDS.losing * sums.would_be) return [];
  const message = `${name} has paid ${dollarsIn(net)} more than without Precis (${dollarsIn(sums.would_be)}).`;
  return [alert('losing', 'watch', message, { caller: name })];
}

function retiring({ models = {} }: DaySums, today: number): Alert[] {
  return Object.keys(models).flatMap((model) => {
    const retirement = retirementOf(model);
    if (!retirement) return [];
    const last = dayOfDate(retirement.on);
    const left = last - today;
    if (left > THRESHOLDS.retiring.days) return [];
    const when = left > 0 ? `retires in ${many(left, 'day')}` : 'was switched off';
    const instead =
      retirement.replacement === undefined ? '' : `; its vendor recommends ${retirement.replacement}`;
    const message = `${model} ${when} (${dateOfDay(last)})${instead}.`;
    return [alert('retiring', left <= THRESHOLDS.retiring.act ? 'act' : 'watch', message, { model })];
  });
}

function alert(
  code: Alert['code'],
  level: Alert['level'],
  message: string,
  { caller = '', model = '' }: { readonly caller?: string; readonly model?: string } = {},
): Alert {
  return { code, level, caller: caller || null, model: model || null, message };
}
