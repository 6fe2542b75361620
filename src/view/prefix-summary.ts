/**
 * The summary of a plan's prefix: served to the request that needs it, and made ahead for the one
 * that will.
 */

import { logCaught } from '../log.ts';
import { Boundaries } from '../memory/conversation/boundaries.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { AutoStrategy } from '../memory/modes/auto.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { ReportedSummary, Warning } from '../memory/plan/report.ts';
import type { ShownSummary } from '../memory/plan/shown-summary.ts';
import { frontierUnit } from '../memory/replay/rule.ts';
import { encodingOf } from '../memory/strategy/models.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { conversationOf, type HeldSummary, heldSummary } from '../request/conversation.ts';
import { refWriterOf } from '../request/ref-writer.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import type { ServedSummary } from '../summary/conversation.ts';
import { prepareSummary, serveSummary } from '../summary/foreground.ts';
import { isThere } from '../summary/kept-transcript.ts';
import {
  type SummaryNeed,
  type SummaryPorts,
  WAIT_MS,
  WHOLE_CALL_MS,
  WHOLE_WAIT_MS,
} from '../summary/prefix.ts';
import type { SummarizerTarget } from '../summary/summarizer.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { Prepared } from './made-view.ts';

export class PrefixSummary {
  /** What the caller is to be told, beside what the view itself says. */
  readonly warnings: Warning[];
  private readonly strategy: SummarizeStrategy | AutoStrategy;
  private readonly prepared: Prepared;
  private readonly plan: Plan;
  private readonly counter: TokenCounter;
  private readonly boundaries: Boundaries;
  private readonly target: SummarizerTarget;
  private readonly held: HeldSummary | undefined;
  private readonly isWritten: (ref: string) => boolean;
  private madePorts: SummaryPorts | undefined;

  /**
   * @param isWritten whether a removal's ref is known to be written; what is not stands in full in
   *   the view
   * @throws ApiError when the summarizer's model, or the summary that the caller holds, is none
   */
  constructor(
    strategy: SummarizeStrategy | AutoStrategy,
    prepared: Prepared,
    plan: Plan,
    counter: TokenCounter,
    isWritten: (ref: string) => boolean,
  ) {
    this.isWritten = isWritten;
    this.strategy = strategy;
    this.prepared = prepared;
    this.plan = plan;
    this.counter = counter;
    this.boundaries = new Boundaries(plan.history, sha256Hex);
    const target = summarizerTarget(strategy, prepared.request, prepared.scope);
    const timeoutMs = Math.max(target.timeoutMs, prepared.options.whole ? WHOLE_CALL_MS : 0);
    this.target = { ...target, timeoutMs };
    const { held, stale } = heldIn(prepared, this.boundaries);
    // A summary that reaches into the tail is of another strategy.
    const tooLong = held !== undefined && plan.prefix !== undefined && held.end > plan.prefix.end;
    this.held = tooLong ? undefined : held;
    this.warnings = tooLong ? ['stale_summary'] : stale;
  }

  /** The summary of the plan's prefix; undefined without one, or where nothing would be shorter. */
  async serve(): Promise<ServedSummary | undefined> {
    const { prefix } = this.plan;
    if (!prefix) return undefined;
    const { scope, options } = this.prepared;
    const { tenant } = scope.caller;
    const late = Date.now() + (options.whole ? WHOLE_WAIT_MS : WAIT_MS);
    return scope.timings.measure('summary', async () => {
      // What is there may be read before the key is known to be good; nothing is made or written
      // before that.
      const accepted = tenant !== undefined && !options.dryRun && (await scope.mayStore(tenant)) === true;
      // A deployment's own summarizer works for its callers, not for whoever has no key.
      const once = options.expressly && !options.dryRun && !tenant && !scope.services.config.summarizer;
      const how = once ? 'once' : accepted || !tenant ? 'make' : 'find';
      const { summary, warnings } = await serveSummary(await this.need(prefix, late, how), this.ports());
      this.warnings.push(...warnings);
      const refused = tenant !== undefined && !accepted && !options.dryRun && summary?.status === 'pending';
      if (refused) this.warnings.push('store_failed');
      return summary;
    });
  }

  /** Has the summary made that the next move will need, where that is known. Never throws. */
  async prepareNext(): Promise<void> {
    const { next } = this.plan;
    if (!next || this.prepared.options.dryRun) return;
    try {
      await prepareSummary(await this.need(next, 0, 'make'), this.ports());
    } catch (error) {
      logCaught(this.prepared.scope.services.log, 'warn', 'a summary could not be prepared', error);
    }
  }

  reported(served: ServedSummary, { covers }: ShownSummary): ReportedSummary {
    return reportedSummary(served, covers, this.boundaries.at(this.plan.prefix?.end ?? 0).prefixHash);
  }

  private async need(prefix: SummarizedPrefix, late: number, how: SummaryNeed['how']): Promise<SummaryNeed> {
    const { history, replay } = this.plan;
    const { strategy, boundaries, held, prepared } = this;
    return {
      history,
      prefix,
      boundaries,
      late,
      moves: replay.moves.map(frontierUnit),
      strategy,
      removals: this.plan.segments.flat().filter(({ ref }) => ref === undefined || this.isWritten(ref)),
      held: held && { ...held, ref: await knownRef(held.ref, prepared) },
      how,
    };
  }

  /** Where summaries and transcripts of this request go. */
  ports(): SummaryPorts {
    this.madePorts ??= this.makePorts();
    return this.madePorts;
  }

  private makePorts(): SummaryPorts {
    const { scope, owner, request } = this.prepared;
    const { services, waitUntil, caller } = scope;
    const { tenant } = caller;
    const { history } = this.plan;
    return {
      conversation: tenant && conversationOf(owner, history, this.boundaries, tenant, services),
      refs: tenant && refWriterOf(tenant, this.prepared),
      target: this.target,
      counter: this.counter,
      encoding: encodingOf(request.model),
      waitUntil,
      digests: scope.learned.digests,
      prepared: scope.learned.prepared,
      openUser: services.user,
      failed: (message, error) => {
        logCaught(services.log, 'warn', message, error);
      },
    };
  }
}

/** The ref in a summary that the caller holds, when it is this tenant's and still there. */
export async function knownRef(ref: string | undefined, prepared: Prepared): Promise<string | undefined> {
  const { tenant } = prepared.scope.caller;
  if (ref === undefined || !tenant?.refs.owns(ref)) return undefined;
  return (await isThere(ref, refWriterOf(tenant, prepared))) ? ref : undefined;
}

/** The summary that the caller holds, when it is of this array. */
export function heldIn(
  { request }: Prepared,
  boundaries: Boundaries,
): { held: HeldSummary | undefined; stale: Warning[] } {
  const held = heldSummary(request, boundaries);
  return held === 'stale' ? { held: undefined, stale: ['stale_summary'] } : { held, stale: [] };
}

export function reportedSummary(
  { text, ref, status, memoryId, baseMemoryId, usage }: ServedSummary,
  covers: ReportedSummary['covers'],
  prefix_hash: string,
): ReportedSummary {
  return {
    text,
    covers,
    prefix_hash,
    ...(ref === undefined ? {} : { ref }),
    status,
    ...(memoryId === undefined ? {} : { memory_id: memoryId, base_memory_id: baseMemoryId ?? null }),
    usage,
  };
}
