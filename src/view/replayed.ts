/**
 * The view of every mode that is planned by replay: plan, write what the view will name, serve its
 * summary, render.
 */
import type { ReplayedStrategy } from '../memory/modes/table.ts';
import { planView } from '../memory/plan/plan-view.ts';
import { reportOf } from '../memory/plan/report.ts';
import { render } from '../memory/plan/view.ts';
import { summarizes } from '../memory/strategy/strategy.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { MadeView, Prepared } from './made-view.ts';
import { PlanStorage } from './plan-storage.ts';
import { PrefixSummary } from './prefix-summary.ts';
import { keepTrimmed } from './trimmed-messages.ts';

export async function replayedView(strategy: ReplayedStrategy, prepared: Prepared): Promise<MadeView> {
  const { history, outline, scope, options, chosen } = prepared;
  const { caller, services } = scope;
  const counting = await prepared.counting();
  const { counter } = counting;
  const { modelPrices } = services.config;
  const isolate = { ...counting, refs: caller.tenant?.refs, digest: sha256Hex, modelPrices };
  const planned = planView(strategy, outline, prepared.allTools, isolate);
  const storage =
    caller.tenant && !options.dryRun ? new PlanStorage(planned, caller.tenant, prepared) : undefined;
  const isWritten = (ref: string): boolean => storage?.isWritten(ref) ?? true;
  const summary = summarizes(strategy)
    ? new PrefixSummary(strategy, prepared, planned, counter, isWritten)
    : undefined;
  // The summarizer reads what the model reads: it must be known before what is a placeholder.
  await storage?.write();
  const [served, line] = await Promise.all([
    summary?.serve(),
    planned.trimmed && summary && keepTrimmed(planned, prepared, summary.ports()),
  ]);
  const view = render(planned, { isWritten, summary: served, line }, counter);
  const warnings = [...prepared.warnings, ...(summary?.warnings ?? [])];
  const reported = served && view.summary && summary?.reported(served, view.summary);
  return {
    view,
    history,
    report: reportOf(planned, view, chosen.source, warnings, reported),
    prepareNext: async () => {
      await Promise.all([storage?.prepareNext(), summary?.prepareNext()]);
    },
  };
}
