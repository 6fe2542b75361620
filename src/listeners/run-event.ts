/**
 * Records the run of one request, and hands its event over when the answer has ended
 * (docs/design.md#run-events). Nothing is stored before that, and nothing waits for it.
 *
 * The run has the usage of the upstream's answers (`protocol/answers/usage-tail.ts`).
 * `memory/run/build-event.ts` makes the event from plan, view and report,
 * `storage/conversation/run-outboxes.ts` sends it to the object of its conversation, where
 * `run-events.ts` keeps it. `routes/conversations/requests.ts` reads it, and `memory/run/event.ts`
 * outlines a view from it.
 */
import { plus } from '../lib/sums.ts';
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { firstAnswer } from '../memory/conversation/first-requests.ts';
import { arrayName, prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { edits, passesThrough } from '../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import type { RunUsage } from '../memory/money/bill-schema.ts';
import { idleReport } from '../memory/plan/report.ts';
import { buildEvent, type RunPlan, type UnbilledRun } from '../memory/run/build-event.ts';
import type { RunEvent } from '../memory/run/event.ts';
import { missedWords } from '../memory/run/missed-words.ts';
import { isUnsent } from '../memory/run/unsent.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import { isArchived } from '../request/archive.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall, isOvertaken } from '../request/conversation.ts';
import { isAccepted } from '../request/known-key.ts';
import { actingOn } from '../request/native-compaction.ts';
import { observedShare } from '../request/observation.ts';
import type { EndedRun } from '../storage/conversation/run-batch.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex, type Tenant } from '../tenant/identity.ts';
import { hasFilledWindow } from '../view/learned.ts';
import { termsFor } from '../view/made-before.ts';
import { billOrderOf, potentialBillOf, unchangedOrderOf } from './bill-order.ts';
import { requestIdIn } from './headers.ts';
import type {
  AnsweredModel,
  CallEnd,
  CallFeature,
  CallForm,
  CallListener,
  Head,
  SentBody,
  SettledCall,
} from './listener.ts';
import { comparedRequest } from './request-prefix.ts';

/**
 * Off if the request has no tenant, no conversation, or memory is off for it. A request that passes
 * through unchanged has an event only if it names its conversation, since most requests of that
 * kind are not even read.
 */
export const runEvent: CallFeature = (call, form) => {
  const { tenant } = call.scope.caller;
  return tenant && hasEvent(call) ? new EventRecorder(call, form, tenant) : undefined;
};

/** Whether a request has an event (see `runEvent`). */
export function hasEvent({ request, chosen, owner, scope }: Call): boolean {
  if (!scope.services.config.keepsEvents || !scope.caller.tenant || owner.off.length > 0) return false;
  const isNamed = owner.conversation !== undefined;
  return isNamed || !(passesThrough(chosen.strategy) || firstAnswer(request.messages) < 0);
}

class EventRecorder implements CallListener {
  readonly readsUsage = true;
  private readonly call: Call;
  private readonly form: CallForm;
  private readonly tenant: Tenant;
  private usages: readonly UsageTail[] = [];
  private plan: RunPlan | undefined;
  private asked: AnsweredModel | undefined;
  private head: { readonly status: number; readonly id: string | null; readonly at: number } | undefined;
  private spent: Readonly<Record<string, number>> = {};
  private mayKeep = false;

  constructor(call: Call, form: CallForm, tenant: Tenant) {
    this.call = call;
    this.form = form;
    this.tenant = tenant;
  }

  sent({ usages, plan = this.plan }: SentBody): void {
    this.usages = usages;
    this.plan = plan;
  }

  settled({ plan, asked }: SettledCall): void {
    this.plan = plan;
    if (asked) this.sent(asked);
  }

  begins({ status, headers }: Head): void {
    const { timings, services } = this.call.scope;
    this.head = { status, id: requestIdIn(headers), at: timings.elapsed };
    this.spent = timings.fields();
    // A verdict may no longer hold when a long answer ends.
    this.mayKeep = isAccepted(this.tenant, services);
  }

  async ended(end: CallEnd): Promise<void> {
    this.asked = end.asked;
    if (end.refusal !== undefined && end.head) this.begins(end.head);
    const conversation = this.mayKeep ? conversationOfCall(this.call) : undefined;
    if (!conversation || isOvertaken(this.call)) return;
    // All texts are read for it, and the answer's last bytes go out first.
    if (this.isMeasured) await pause(0);
    this.gather(conversation, end);
  }

  /** Hands the event over. Never throws. */
  private gather({ tenant, name }: StoredConversation, end: CallEnd): void {
    const { services, waitUntil } = this.call.scope;
    const { runOutboxes, log } = services;
    try {
      const event = this.event(end);
      const run = { event, ...this.named(), ...this.billing(), ...this.compared(event), ...this.trial() };
      runOutboxes.add(tenant, name, run, waitUntil);
    } catch (error) {
      logCaught(log, 'warn', 'the event of a request could not be made', error);
      runOutboxes.lose(1, waitUntil);
    }
  }

  /** Made after the answer, so that no request waits for its hashes. */
  private named(): Pick<EndedRun, 'array'> {
    const { request } = this.call;
    if (!edits(actingOn(this.call))) return {};
    return { array: arrayName(prefixHashes(request.messages, sha256Hex).at(-1) ?? '') };
  }

  /** The order for the bill. Refusals cost nothing, and have none. */
  private billing(): Pick<EndedRun, 'billing' | 'potential_bill'> {
    const { usages, asked, call } = this;
    const [first] = usages;
    if (!first) return {};
    const isViewed = asked && !asked.observed;
    const billing = isViewed ? billOrderOf(asked.made, usages, call) : unchangedOrderOf(usages, call);
    const potential = asked?.observed ? this.plan?.report : undefined;
    return potential ? { billing, potential_bill: potentialBillOf(potential, first, call) } : { billing };
  }

  /** What the next request is compared with. Refusals have nothing. */
  private compared({ created_at, ms, dropped_thinking_blocks }: UnbilledRun): Pick<EndedRun, 'compared'> {
    const { usages, asked, call } = this;
    const { request, chosen, scope } = call;
    const [first] = usages;
    const made = asked && !asked.observed ? { ...asked.made, added: asked.added } : undefined;
    if (!first || !(edits(actingOn(call)) || made?.reasoning)) return {};
    const { marks } = termsFor(request, chosen.strategy, scope.services.config);
    const verdict = first.verdict();
    return {
      compared: {
        ...comparedRequest(call, made, { ...made?.report, dropped_thinking_blocks }),
        ready: created_at + (ms.first_byte ?? 0),
        isFar: !(marks && made) && request.isFarFromBefore,
        ...(verdict ? { verdict } : {}),
      },
    };
  }

  /** Where a share of the conversations is observed, each request belongs to a side of a trial. */
  private trial(): Pick<EndedRun, 'trial'> {
    const { call, plan } = this;
    if (!edits(actingOn(call)) || observedShare(call) === 0) return {};
    if (!plan || !this.isMeasured) return { trial: {} };
    try {
      return { trial: missedWords(call.request.messages, plan.view, plan.movedAt) ?? {} };
    } catch (error) {
      const { log } = call.scope.services;
      logCaught(log, 'warn', 'what a view would have lacked could not be found', error);
      return { trial: {} };
    }
  }

  /** Whether it is looked at what the view would have lacked: the caller keeps the texts, too. */
  private get isMeasured(): boolean {
    return this.asked?.observed !== undefined && isArchived(this.call);
  }

  private event({ how, refusal }: CallEnd): UnbilledRun {
    const { request, chosen, scope, agent } = this.call;
    const { timings } = scope;
    const { strategy, source, warnings } = chosen;
    const { observed } = this.asked ?? {};
    const error = refusal ?? observed?.error ?? null;
    const unplanned: RunPlan = {
      report: idleReport(strategy.mode, source, warnings),
      view: undefined,
      refused: [],
    };
    const { plan_ms = null, store_ms = null, summary_ms = null } = this.spent;
    const { upstream_ms = null } = timings.fields();
    const usages = this.usages.map((tail) => tail.usage());
    const last = this.usages.at(-1);
    const status = this.head?.status ?? 500;
    const isSent = !isUnsent({ status, error, observed: observed !== undefined });
    return buildEvent((isSent && this.plan) || unplanned, {
      request_id: this.head?.id ?? null,
      created_at: timings.startedAt,
      ...this.form,
      ...(agent === undefined ? {} : { agent }),
      model: request.model,
      stream: request.field('stream') === true,
      observed: observed !== undefined,
      placeholders: placeholdersOf(actingOn(this.call)),
      messages: request.messages.length,
      retrieval_rounds: this.asked?.rounds?.count ?? 0,
      ms: {
        plan: plan_ms,
        store: store_ms,
        summary: summary_ms,
        upstream: upstream_ms,
        first_byte: error === null || observed ? (this.head?.at ?? null) : null,
        total: timings.elapsed,
      },
      usage: sumOf(usages),
      view_cached: usages[0]?.cached ?? null,
      status,
      ended: how === 'complete' && last && hasFilledWindow(last, this.call) ? 'window_full' : how,
      error,
    });
  }
}

/** The settings of placeholders. */
function placeholdersOf(strategy: MemoryStrategy): RunEvent['placeholders'] {
  if (!edits(strategy)) return null;
  const previews = 'compact_preview_tokens' in strategy ? strategy.compact_preview_tokens : undefined;
  return { preview_tokens: previews ?? null, token_estimator: strategy.token_estimator ?? null };
}

/** A count that one of the answers does not report is not known of all. */
function sumOf(usages: readonly (RunUsage | undefined)[]): RunUsage | null {
  if (usages.every((usage) => usage === undefined)) return null;
  return usages.map((usage) => usage ?? NOTHING_REPORTED).reduce(plus);
}

const NOTHING_REPORTED: RunUsage = { input: null, cached: null, cache_writes: null, output: null };
