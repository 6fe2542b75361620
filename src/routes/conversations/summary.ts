/**
 * `GET /v1/stats/summary`: what a caller's requests of some days have saved, as sentences that can
 * be forwarded: JSON, text or a picture (docs/money.md#in-a-sentence).
 */
import { plus } from '../../lib/sums.ts';
import { dateOfDay } from '../../lib/utc-time.ts';
import { joinDaySums, joinDays, NO_DAY_SUMS } from '../../memory/run/day-sums.ts';
import { lostOf, type Period, summaryText, unbilledOf } from '../../memory/run/period-summary.ts';
import {
  byLoss,
  type LosingConversation,
  type Losses,
  lossReasons,
  NO_LOSSES,
} from '../../memory/run/ranked-conversations.ts';
import type { PeriodSummary } from '../../reference/schemas/conversations.ts';
import { idsIn, openingIn } from '../../storage/conversation/names.ts';
import type { TenantOverview } from '../../storage/tenant/remote.ts';
import type { UsedConversation } from '../../storage/tenant/usage.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { type RouteContext, verifiedTenant } from '../context.ts';
import { askEach, type DayRange, daysIn, eachDay, rangeOf, sumsJson } from './days.ts';
import { summaryPicture } from './summary-picture.ts';

/** How many of the conversations that have cost more are named. */
const NAMED = 10;

const SVG = 'image/svg+xml';

/** A picture loads nothing and runs nothing, wherever it is opened. */
const PICTURE_HEADERS = {
  'content-type': SVG,
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
};

/** What tenants know of some days. */
export function periodOf(overviews: readonly Pick<TenantOverview, 'days' | 'ranked'>[], range: DayRange) {
  const byDay = eachDay(overviews.map(({ days }) => days).reduce(joinDays, {}), range);
  const period: Period = {
    days: byDay.length,
    from: dateOfDay(range[0]),
    to: dateOfDay(range[1]),
    total: byDay.reduce(joinDaySums, NO_DAY_SUMS),
    losses: overviews.map(({ ranked }) => ranked.losses).reduce<Losses>(plus, NO_LOSSES),
  };
  return { period, byDay };
}

export async function getSummary(c: RouteContext): Promise<Response> {
  const tenant = await verifiedTenant(c, 'read');
  const range = rangeOf(daysIn(c));
  const overviews = await askEach(c, tenant, (stub) => stub.overview(...range, NAMED));
  const { period, byDay } = periodOf(overviews, range);
  const text = summaryText(period);
  c.header('vary', 'accept');
  const accept = c.req.header('accept') ?? '';
  if (c.req.path.endsWith('.svg') || accept.includes(SVG))
    return c.body(summaryPicture(text, byDay), 200, PICTURE_HEADERS);
  if (accept.includes('text/plain')) return c.text(`${text}\n`);
  const losing = overviews.flatMap(({ ranked }) => ranked.losing);
  const answer: PeriodSummary = {
    object: 'memory.stats.summary',
    ...periodJson(period),
    losses: {
      ...lossesJson(period.losses),
      largest: losing.toSorted(byLoss).slice(0, NAMED).map(losingJson),
    },
  };
  return c.json(answer);
}

/** What the summaries of a caller and of a deployment share. */
export function periodJson(period: Period) {
  const { total, days, from, to } = period;
  const sums = { lost: lostOf(total), unbilled: unbilledOf(total), total: sumsJson(total) };
  return { days, from, to, behind_ms: TIME_LIMITS.sumsMs, text: summaryText(period), ...sums };
}

export function lossesJson(losses: Losses) {
  return { conversations: losses.conversations, amount: losses.amount, causes: lossReasons(losses) };
}

function losingJson({ conversation: { name }, amount, cause }: LosingConversation<UsedConversation>) {
  const { user, conversation } = idsIn(name);
  return { id: conversation ?? null, user: user ?? null, opening: openingIn(name) ?? null, amount, cause };
}
