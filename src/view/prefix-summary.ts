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

export class PrefixSummary {
  readonly warnings: Warning[] = [];
  private readonly summaries: RequestSummaries;
  private readonly strategy: SummarizeStrategy | AutoStrategy;
  private readonly plan: Plan;
  private readonly call: ViewCall;
  private readonly held: PrefixNeed['held'];
  private readonly shown: () => readonly Removal[];

  /**
   * @param shown the removals in the view, as the model reads them
   */
  constructor(
    strategy: SummarizeStrategy | AutoStrategy,
    plan: Plan,
    call: ViewCall,
    summaries: RequestSummaries,
    shown: () => readonly Removal[],
  ) {
    this.strategy = strategy;
    this.plan = plan;
    this.call = call;
    this.shown = shown;
    this.summaries = summaries;
    const { held } = summaries;
    // A summary that reaches into the tail belongs to another strategy.
    const tooLong = typeof held === 'object' && plan.prefix !== undefined && held.end > plan.prefix.end;
    if (held === 'stale' || tooLong) this.warnings.push('stale_summary');
    else this.held = held;
  }

  /**
   * The summary of the plan's prefix. Undefined without a prefix, or if no text would be shorter.
   */
  async serve(): Promise<NamedSummary | undefined> {
    const { prefix } = this.plan;
    if (!prefix) return undefined;
    const { scope, options } = this.call;
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
      const { summary, warnings } = await serveSummary(need, this.summaries.ports);
      this.warnings.push(...warnings);
      const refused = tenant !== undefined && !accepted && !options.dryRun && summary?.status === 'pending';
      if (refused) this.warnings.push('store_failed');
      if (!summary) return undefined;
      const { prefixHash } = this.summaries.boundaries.at(prefix.end);
      if (summary.signed !== undefined) return { ...summary, prefixHash };
      const text = await provenText(summary.text, need, this.summaries.ports);
      return { ...summary, text, prefixHash };
    });
  }

  /** Requests the summary that the next move will need, if that is known. Never throws. */
  async prepareNext(): Promise<void> {
    const next = this.plan.ahead?.().next;
    if (!next || this.call.options.dryRun) return;
    try {
      await prepareSummary(this.need(next, 0, 'make'), this.summaries.ports);
    } catch (error) {
      logCaught(this.call.scope.services.log, 'warn', 'a summary could not be prepared', error);
    }
  }

  private need(prefix: SummarizedPrefix, late: number, how: PrefixNeed['how']): PrefixNeed {
    const { history, replay } = this.plan;
    const { strategy, held, summaries } = this;
    return {
      history,
      prefix,
      boundaries: summaries.boundaries,
      late,
      moves: replay.moves.map(({ cuts }) => frontierUnit(cuts)),
      strategy,
      removals: this.shown(),
      held,
      how,
    };
  }
}
