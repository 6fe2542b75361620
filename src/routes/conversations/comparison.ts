/**
 * `GET /v1/stats/comparison`: what a strategy on trial has saved in some days, or would have
 * (docs/answers-and-errors.md#on-trial).
 */
import { plus } from '../../lib/sums.ts';
import { type TriedSide, trialsIn } from '../../memory/run/trial-report.ts';
import type { TrialTotals } from '../../memory/run/trials.ts';
import type { ShownSide, StatsComparison } from '../../reference/schemas/comparison.ts';
import type { RouteContext } from '../context.ts';
import { verifiedTenant } from '../verified-tenant.ts';
import { askEach, daysIn, rangeOf } from './days.ts';

/** Days are in UTC, the last one being today. */
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
