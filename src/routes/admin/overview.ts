/**
 * `GET /v1/admin/overview`: what all callers together have sent and cost, who spends most, and what
 * an operator should look at. From the sums that tenants' objects have anyway: no content, no name
 * of a conversation, and a bounded number of storage calls, which the answer says.
 */
import type { Env } from '../../config.ts';
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import { DAY_MS, dateOfDay, dayOf, monthOf, RUNS_EVERY_MS, utcTimeOf } from '../../lib/utc-time.ts';
import { logCaught } from '../../log.ts';
import { alertsOf, type CountedCaller } from '../../memory/run/alerts.ts';
import {
  type DaySums,
  joinDaySums,
  joinDays,
  NO_DAY_SUMS,
  netOf,
  paidOf,
} from '../../memory/run/day-sums.ts';
import { type Period, summaryText, unbilledOf } from '../../memory/run/period-summary.ts';
import { byCost } from '../../memory/run/ranked-conversations.ts';
import type { ShownOverview } from '../../reference/schemas/admin.ts';
import { type Services, servicesOf } from '../../request/services.ts';
import { logNameOf } from '../../storage/conversation/names.ts';
import type { TenantOverview } from '../../storage/tenant/remote.ts';
import type { RouteContext } from '../context.ts';
import { type DayRange, daysIn, daysJson, rangeOf } from '../conversations/days.ts';
import { lossesJson, periodJson, periodOf } from '../conversations/summary.ts';
import { countIn, type PageSizes } from '../query.ts';
import { stored } from '../stored.ts';
import { type KnownCaller, KnownCallers } from './known-callers.ts';

/**
 * Tenants that are read. With the usual number and the register an invocation makes 42 calls, of 50
 * that each may (https://developers.cloudflare.com/workers/platform/limits/); the paid plan allows
 * many more.
 */
const TENANTS: PageSizes = { usual: 40, largest: 400 };

/** Calls of the register. */
const REGISTER_CALLS = 2;

/** Conversations that are shown. */
const SHOWN = 10;

/** A caller with what its tenants know. */
interface ReadCaller extends CountedCaller {
  readonly overviews: readonly TenantOverview[];
  readonly counted: { readonly requests: number; readonly amount: number };
}

/** What all callers together have sent and cost. */
interface ReadOverview {
  readonly period: Period;
  readonly byDay: readonly DaySums[];
  readonly callers: readonly ReadCaller[];
  /** Tenants that were active, were read, and could not be read. */
  readonly tenants: { readonly active: number; readonly read: number; readonly failed: number };
}

export async function getOverview(c: RouteContext): Promise<Response> {
  const range = rangeOf(daysIn(c));
  const most = countIn(c, 'most', TENANTS);
  const read = await stored(c, () => readOverview(c.get('services'), range, most));
  return c.json(overviewJson(read, range));
}

/** Reads the tenants that were seen last, up to a number. @throws StoreError of the register */
async function readOverview(services: Services, range: DayRange, most: number): Promise<ReadOverview> {
  const known = new KnownCallers(services);
  // A tenant is reported once a day, so one that is active now may have been seen yesterday.
  const { callers, active } = await known.recent((range[0] - 1) * DAY_MS, most);
  let failed = 0;
  const read = await fewAtOnce(AT_ONCE, callers, async (caller) => {
    const all = await Promise.all(
      caller.tenants.map((id) =>
        services
          .tenant(id)((stub) => stub.overview(...range, SHOWN))
          .catch((error: unknown) => {
            logCaught(services.log, 'warn', 'the sums of a caller could not be read', error);
            failed++;
            return undefined;
          }),
      ),
    );
    const overviews = all.filter((one) => one !== undefined);
    return readCaller(caller, overviews, range, known);
  });
  const count = callers.reduce((sum, { tenants }) => sum + tenants.length, 0);
  const overviews = read.flatMap((caller) => caller.overviews);
  return { ...periodOf(overviews, range), callers: read, tenants: { active, read: count, failed } };
}

function readCaller(
  caller: KnownCaller,
  overviews: readonly TenantOverview[],
  [first, last]: DayRange,
  known: KnownCallers,
): ReadCaller {
  const days = overviews.map((one) => one.days).reduce(joinDays, {});
  const spent = overviews.flatMap((one) => one.spent);
  const since = (from: number, of: 'requests' | 'amount') =>
    spent.reduce((sum, one) => (one.day >= from && one.day <= last ? sum + one[of] : sum), 0);
  const now = Date.now();
  return {
    name: caller.name,
    overviews,
    sums: Object.values(days).reduce(joinDaySums, NO_DAY_SUMS),
    limits: known.limitsOf(caller),
    spent: { day: since(dayOf(now), 'amount'), month: since(monthOf(now).first, 'amount') },
    counted: { requests: since(first, 'requests'), amount: since(first, 'amount') },
  };
}

function overviewJson({ period, byDay, callers, tenants }: ReadOverview, range: DayRange): ShownOverview {
  const { total, losses } = period;
  const conversations = callers
    .flatMap(({ name, overviews }) =>
      overviews.flatMap(({ ranked }) => ranked.dearest.map((one) => ({ caller: name, ...one }))),
    )
    .toSorted(byCost)
    .slice(0, SHOWN);
  return {
    object: 'memory.overview',
    ...periodJson(period),
    read: { ...tenants, storage_calls: REGISTER_CALLS + tenants.read },
    data: daysJson(byDay, range),
    losses: lossesJson(losses),
    alerts: [...alertsOf({ total, callers, now: Date.now() })],
    callers: callers.map(callerJson).toSorted((one, other) => (other.paid ?? -1) - (one.paid ?? -1)),
    conversations: conversations.map(({ caller, name, model, sums }) => ({
      caller,
      conversation: logNameOf(name),
      model,
      ...useJson(sums),
    })),
  };
}

/** By the larger count: of its conversations, or of its limits, which also count other requests. */
function callerJson({ name, sums, counted }: ReadCaller): ShownOverview['callers'][number] {
  const use = useJson(sums);
  const paid = counted.amount > (use.paid ?? 0) ? counted.amount : use.paid;
  return {
    name,
    ...use,
    requests: Math.max(use.requests, counted.requests),
    paid,
    unbilled: unbilledOf(sums),
  };
}

/** What is not known is null. */
function useJson(sums: DaySums) {
  const { requests, failed } = sums;
  return { requests, failed, paid: paidOf(sums), net: netOf(sums) };
}

/**
 * `week.ended` (docs/operating.md#callbacks): the sentences of a week for all callers.
 *
 * Sends the week that has ended on Sunday (UTC), in one run of the scheduled handler. Does nothing
 * without `ADMIN_TOKEN`, since nobody notes the callers then, and without a receiver. Never throws,
 * except for variables that are not valid.
 *
 * @param scheduledTime in milliseconds since 1970
 * @returns whether it was due, so that the run has used its calls
 */
export async function notifyWeek(env: Env, scheduledTime: number): Promise<boolean> {
  // Sums come up to five minutes late, so the second run of the day is taken.
  const isSecond = Math.floor((scheduledTime % DAY_MS) / RUNS_EVERY_MS) === 1;
  if (utcTimeOf(new Date(scheduledTime)).weekday !== 1 || !isSecond) return false;
  const services = servicesOf(env);
  const { config, log, webhooks } = services;
  if (!webhooks.isOn || config.adminToken === undefined) return false;
  const today = dayOf(scheduledTime);
  const range = [today - 7, today - 1] as const;
  try {
    const { period, tenants } = await readOverview(services, range, TENANTS.usual);
    const { requests } = period.total;
    const [from, to] = [dateOfDay(range[0]), dateOfDay(range[1])];
    const sums = { requests, actual: paidOf(period.total), net: netOf(period.total) };
    const sent: Promise<unknown>[] = [];
    const data = { from, to, text: summaryText(period), ...sums, active: tenants.active, read: tenants.read };
    webhooks.notify('week.ended', data, (work) => sent.push(work));
    await Promise.all(sent);
  } catch (error) {
    logCaught(log, 'warn', 'the summary of the week could not be sent', error);
  }
  return true;
}
