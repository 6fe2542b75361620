/** The summary of a plan's prefix: served to the current request, or prepared for a later one. */
import { logCaught } from '../log.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { AutoStrategy } from '../memory/modes/auto-settings.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { Warning } from '../memory/plan/report.ts';
import { frontierUnit } from '../memory/replay/rule.ts';
import { prepareSummary, serveSummary } from '../summary/foreground.ts';
import { type PrefixNeed, provenText } from '../summary/prefix.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { ViewCall } from './made-view.ts';
import type { NamedSummary, RequestSummaries } from './summaries.ts';

/** What the summary of a view is made for and with. */
interface SummaryWork {
  readonly strategy: SummarizeStrategy | AutoStrategy;
  readonly plan: Plan;
  readonly call: ViewCall;
  readonly summaries: RequestSummaries;
  /** The removals in the view, as the model reads them. */
  shown(): readonly Removal[];
}

export class PrefixSummary {
  readonly warnings: Warning[] = [];
  private readonly work: SummaryWork;
  private readonly held: PrefixNeed['held'];

  constructor(work: SummaryWork) {
    this.work = work;
    const { plan, summaries } = work;
    const { held } = summaries;
    // A summary that reaches into the tail belongs to another strategy.
    const tooLong = typeof held === 'object' && plan.prefix !== undefined && held.end > plan.prefix.end;
    if (held === 'stale' || tooLong) this.warnings.push('stale_summary');
    else this.held = held;
  }

  /** Undefined without a prefix, or if no text would be shorter. */
  async serve(): Promise<NamedSummary | undefined> {
    const { plan, call, summaries } = this.work;
    const { prefix } = plan;
    if (!prefix) return undefined;
    const { scope, options } = call;
    const { tenant } = scope.caller;
    const late = Date.now() + (options.whole ? TIME_LIMITS.wholeSummaryMs : TIME_LIMITS.summaryMs);
    return scope.timings.measure('summary', async () => {
      // A stored summary may be read before the key is accepted. Nothing is made or written before
      // that.
      const accepted = tenant !== undefined && !options.dryRun && (await scope.mayStore(tenant)) === true;
      // A deployment's own summarizer works for its callers, not for a request without a key.
      const once = options.viewOnly && !options.dryRun && !tenant && !scope.services.config.summarizer;
      const how = once ? 'once' : accepted || !tenant ? 'make' : 'find';
      const need = this.need(prefix, late, how);
      const { summary, warnings } = await serveSummary(need, summaries.ports);
      this.warnings.push(...warnings);
      const refused = tenant !== undefined && !accepted && !options.dryRun && summary?.status === 'pending';
      if (refused) this.warnings.push('store_failed');
      if (!summary) return undefined;
      const { prefixHash } = summaries.boundaries.at(prefix.end);
      if (summary.signed !== undefined) return { ...summary, prefixHash };
      const text = await provenText(summary.text, need, summaries.ports);
      return { ...summary, text, prefixHash };
    });
  }

  /** Requests the summary that the next move will need, if that is known. Never throws. */
  async prepareNext(): Promise<void> {
    const { plan, call, summaries } = this.work;
    const next = plan.ahead?.().next;
    if (!next || call.options.dryRun) return;
    try {
      await prepareSummary(this.need(next, 0, 'make'), summaries.ports);
    } catch (error) {
      logCaught(call.scope.services.log, 'warn', 'a summary could not be prepared', error);
    }
  }

  private need(prefix: SummarizedPrefix, late: number, how: PrefixNeed['how']): PrefixNeed {
    const { strategy, plan, summaries, shown } = this.work;
    const { history, replay } = plan;
    return {
      history,
      prefix,
      boundaries: summaries.boundaries,
      late,
      moves: replay.moves.map(({ cuts }) => frontierUnit(cuts)),
      strategy,
      removals: shown(),
      held: this.held,
      how,
    };
  }
}
