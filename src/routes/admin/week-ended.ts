/** `week.ended`: the sentences of a week for all callers (docs/operating.md#callbacks). */
import type { Env } from '../../config.ts';
import { DAY_MS, dateOfDay, dayOf, RUNS_EVERY_MS, utcTimeOf } from '../../lib/utc-time.ts';
import { logCaught } from '../../log.ts';
import { netOf, paidOf } from '../../memory/run/day-sums.ts';
import { summaryText } from '../../memory/run/period-summary.ts';
import { servicesOf } from '../../request/services.ts';
import { readOverview, TENANTS } from './overview.ts';

/**
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
