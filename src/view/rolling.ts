/**
 * The view of `rolling_summary`: the memory that is ready, and everything after it; nothing waits
 * for a model.
 */

import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { Boundaries } from '../memory/conversation/boundaries.ts';
import type { RollingStrategy } from '../memory/modes/rolling-summary.ts';
import { planView } from '../memory/plan/plan-view.ts';
import { idleReport, reportOf, type Warning } from '../memory/plan/report.ts';
import { render } from '../memory/plan/view.ts';
import { answerIdentity } from '../protocol/message-names.ts';
import { conversationOf } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { refWriterOf } from '../request/ref-writer.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import { DIGEST_MODEL, type Found } from '../storage/conversation/memories.ts';
import type { ServedSummary } from '../summary/conversation.ts';
import { RollingMemory } from '../summary/rolling-memory.ts';
import { NO_USAGE } from '../summary/summarizer.ts';
import { sha256Hex, type Tenant } from '../tenant/identity.ts';
import type { MadeView, Prepared } from './made-view.ts';
import { heldIn, knownRef, reportedSummary } from './prefix-summary.ts';

const NOTHING: Found = {
  memory: null,
  moved: false,
  health: 'healthy',
  digest: { here: null, before: null },
  known: false,
};

export async function rollingView(strategy: RollingStrategy, prepared: Prepared): Promise<MadeView> {
  return new RollingRequest(strategy, prepared).make();
}

/** A memory in use, before it is known how much of it is shown. */
interface Used extends ServedSummary {
  readonly end: number;
  readonly moved: boolean;
  /** The first message that it stands for. */
  readonly from: number;
}

class RollingRequest {
  private readonly strategy: RollingStrategy;
  private readonly prepared: Prepared;
  private readonly boundaries: Boundaries;
  private readonly target: ReturnType<typeof summarizerTarget>;
  private readonly warnings: Warning[];
  /** Undefined when the conversation could not be asked. */
  private found: Found | undefined = NOTHING;

  constructor(strategy: RollingStrategy, prepared: Prepared) {
    this.strategy = strategy;
    this.prepared = prepared;
    this.boundaries = new Boundaries(prepared.history, sha256Hex);
    this.target = summarizerTarget(strategy, prepared.request, prepared.scope);
    this.warnings = [...prepared.warnings];
  }

  async make(): Promise<MadeView> {
    const { history, outline, scope, options } = this.prepared;
    const { source } = this.prepared.chosen;
    const memory = await scope.timings.measure('summary', () => this.find());
    const used = await this.used(memory);
    if (!used && !options.count && outline.limit === undefined)
      return {
        view: undefined,
        report: idleReport(this.strategy.mode, source, this.warnings),
        remember: (answer) => this.remember(answer),
      };
    const counting = await this.prepared.counting();
    const planned = planView(this.strategy, { ...outline, memory: used }, this.prepared.allTools, {
      ...counting,
      refs: undefined,
      digest: sha256Hex,
    });
    const { exceeded } = planned;
    if (exceeded)
      throw new ApiError(
        'memory_budget_exceeded',
        `Memory and verbatim messages have ${exceeded.tokens} tokens, over the ${exceeded.budget} that total_max_tokens and the budget leave them; raise total_max_tokens, or choose another overflow_policy than 'error'.`,
        'memory_strategy.total_max_tokens',
      );
    const view = render(planned, { isWritten: () => true }, counting.counter);
    const { summary: shown } = view;
    const summary =
      shown && used && reportedSummary(used, shown.covers, this.boundaries.at(used.end).prefixHash);
    const report = reportOf(planned, view, source, this.warnings, summary);
    return { view, history, report, remember: (answer) => this.remember(answer) };
  }

  private async find(): Promise<RollingMemory | undefined> {
    const memory = this.memory(this.prepared.scope.caller.tenant);
    if (!memory) return undefined;
    try {
      this.found = await memory.find(!this.prepared.options.dryRun);
      return memory;
    } catch (error) {
      this.found = undefined;
      this.warnings.push('store_failed');
      const { log } = this.prepared.scope.services;
      logCaught(log, 'warn', 'a conversation could not be asked for its memory', error);
      return undefined;
    }
  }

  private memory(tenant: Tenant | undefined): RollingMemory | undefined {
    const { history, owner, scope } = this.prepared;
    const conversation = tenant && conversationOf(owner, history, this.boundaries, tenant, scope.services);
    if (!tenant || !conversation) return undefined;
    const refs = refWriterOf(tenant, this.prepared);
    const { target } = this;
    return new RollingMemory(this.strategy, history, this.boundaries, {
      conversation,
      refs,
      target,
      counting: () => this.prepared.counting(),
      model: this.prepared.request.model,
      digest: sha256Hex,
      digests: scope.learned.digests,
      failed: (message, error) => {
        logCaught(scope.services.log, 'warn', message, error);
      },
    });
  }

  /**
   * Whichever covers most: what is stored, what the caller holds, or the digest while the
   * summarizer is down.
   */
  private async used(rolling: RollingMemory | undefined): Promise<Used | undefined> {
    const { held, stale } = heldIn(this.prepared, this.boundaries);
    this.warnings.push(...stale);
    const found = this.found ?? NOTHING;
    const { memory } = found;
    // The frontier moves with the first request of a round; the others go on from there.
    const moved = found.moved && this.beginsRound;
    const usage = NO_USAGE;
    const backlog = await rolling?.backlog(found, this.prepared.options.dryRun);
    if (backlog || found.health === 'degraded') this.warnings.push('summary_degraded');
    if (backlog && backlog.end >= (held?.end ?? 0)) {
      const { text, end, ref } = backlog;
      this.warnIfLost(ref);
      return { text, end, ref, status: 'degraded', moved: this.beginsRound && backlog.moved, from: 0, usage };
    }
    if (held && held.end > (memory?.covers_end ?? 0)) {
      if (this.boundaries.betweenRounds().some(({ end }) => end === held.end)) {
        const ref = await knownRef(held.ref, this.prepared);
        return { ...held, ref, status: 'completed', moved: false, usage };
      }
      this.warnings.push('stale_summary');
    }
    if (!memory) {
      if (rolling?.isDue && found.health !== 'degraded') this.warnings.push('summary_pending');
      return undefined;
    }
    const ref = await rolling?.refOf(memory, this.prepared.options.dryRun);
    this.warnIfLost(ref);
    return {
      text: memory.memory_text ?? '',
      end: memory.covers_end,
      ref,
      status: memory.model === DIGEST_MODEL ? 'degraded' : 'completed',
      memoryId: memory.memory_id,
      baseMemoryId: memory.base_memory_id,
      moved,
      from: this.boundaries.rounds[memory.start_sequence / 2]?.first ?? 0,
      usage,
    };
  }

  /** Whether nothing but preamble stands behind the last question. */
  private get beginsRound(): boolean {
    const { messages, turns, units } = this.prepared.history;
    const question = units[turns.at(-1) ?? -1]?.first ?? -1;
    return messages.slice(question + 1).every(({ role }) => role === 'preamble');
  }

  private warnIfLost(ref: string | undefined): void {
    if (ref === undefined && !this.prepared.options.dryRun) this.warnings.push('store_failed');
  }

  /** After an answered round; what fails here is tried again after the next one. */
  private async remember(text: string | undefined): Promise<void> {
    // The answer's last bytes go out first: what follows takes time.
    await pause(0);
    const { scope, options } = this.prepared;
    const { tenant } = scope.caller;
    const { found } = this;
    if (!tenant || !found || !(await scope.mayStore(tenant))) return;
    const rolling = this.memory(tenant);
    if (!rolling) return;
    const answer = text === undefined ? undefined : { text, identity: answerIdentity(text) };
    try {
      await rolling.roll(answer, found, options.force);
    } catch (error) {
      logCaught(scope.services.log, 'warn', 'a round could not be remembered', error);
    }
  }
}
