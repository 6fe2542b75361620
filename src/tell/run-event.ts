/**
 * Records the run of one request, and keeps its event in its conversation's object when the answer
 * has ended (docs/design.md#run-events). Nothing is stored before that, and nothing waits for it.
 */
import { pause, within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { firstAnswer } from '../memory/conversation/first-requests.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import { idleReport } from '../memory/plan/report.ts';
import { buildEvent, type RunPlan, type UnbilledRun } from '../memory/run/build-event.ts';
import type { RunEnd, RunEvent, RunUsage } from '../memory/run/event.ts';
import { edits, passesThrough } from '../memory/strategy/strategy.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { isAccepted } from '../request/known-key.ts';
import type { Rounds } from '../retrieval/rounds.ts';
import type { NewRun } from '../storage/conversation/run-events.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import type { Tenant } from '../tenant/identity.ts';
import { type BilledView, billOrderOf, potentialBillOf, unchangedOrderOf } from './bill-order.ts';
import { Capture } from './capture.ts';
import { requestIdIn } from './request-id.ts';

/** How long the object may take to keep an event, in milliseconds. */
const KEEP_LIMIT_MS = 10_000;

/** How the model is asked, or that it is not. */
type RunForm = Pick<RunEvent, 'protocol' | 'kind'>;

/** The beginning of an answer to the caller. */
interface Head {
  readonly status: number;
  readonly headers: Headers;
}

/**
 * Undefined if the request has no event: they are off, the request has no tenant, no conversation,
 * or memory is off for it. A request that passes through unchanged has one only if it names its
 * conversation, since most requests of that kind are not even read.
 *
 * @param signal aborts when the caller leaves
 */
export function startRun(call: Call, form: RunForm, signal: AbortSignal): Run | undefined {
  const { tenant } = call.scope.caller;
  return tenant && hasEvent(call) ? new Run(call, form, tenant, signal) : undefined;
}

/** Whether a request has an event (see `startRun`). */
export function hasEvent({ request, chosen, owner, scope }: Call): boolean {
  if (!scope.services.config.keepsEvents || !scope.caller.tenant || owner.off.length > 0) return false;
  const isNamed = owner.conversation !== undefined;
  return isNamed || !(passesThrough(chosen.strategy) || firstAnswer(request.messages) < 0);
}

/** Does the work of a request. One that fails is recorded with its error. */
export async function recorded<Result>(run: Run | undefined, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    run?.failed(error);
    throw error;
  }
}

export class Run {
  private readonly call: Call;
  private readonly form: RunForm;
  private readonly tenant: Tenant;
  private readonly signal: AbortSignal;
  private readonly kept = Promise.withResolvers<void>();
  /** The usage of the answers to one attempt. */
  private tails: UsageTail[] = [];
  private plan: RunPlan | undefined;
  /** The view that went up. */
  private made: BilledView | undefined;
  private observed = false;
  private rounds: Pick<Rounds, 'count'> | undefined;
  private head: { readonly status: number; readonly id: string | null; readonly at: number } | undefined;
  private spent: Readonly<Record<string, number>> = {};
  private mayKeep = false;
  private error: string | null = null;
  private hasEnded = false;
  /** Names the event. */
  private readonly key = crypto.randomUUID();
  private readonly capture: Capture | undefined;

  constructor(call: Call, form: RunForm, tenant: Tenant, signal: AbortSignal) {
    this.call = call;
    this.form = form;
    this.tenant = tenant;
    this.signal = signal;
    const { chosen, scope } = call;
    const conversation =
      chosen.capture && scope.services.config.captures ? conversationOfCall(this.call) : undefined;
    this.capture = conversation && new Capture(this.key, conversation, scope);
    // Called now, because after the caller leaves it would be too late.
    call.scope.waitUntil(this.kept.promise);
  }

  /** A body goes up with the view. */
  sends(body: Uint8Array): void {
    this.capture?.sends(body);
  }

  /** The upstream has answered. @param usage absent for an error */
  hears(usage: UsageTail | undefined): void {
    if (usage) this.tails.push(usage);
  }

  /** The upstream is asked for the caller's answer: from now on, usage is of this attempt. */
  attempts(): UsageTail[] {
    this.tails = [];
    return this.tails;
  }

  /** The attempt whose answer the caller gets, which need not be the last. */
  settles({ sent, tails }: { readonly sent: Uint8Array; readonly tails: UsageTail[] | undefined }): void {
    this.capture?.sends(sent);
    if (tails) this.tails = tails;
  }

  /**
   * @param made the view that goes up, if the model is asked
   * @param rounds of the model's own tools
   */
  planned(plan: RunPlan, made?: BilledView, rounds?: Pick<Rounds, 'count'>): void {
    this.plan = plan;
    this.made = made;
    this.rounds = rounds;
  }

  /** The body goes up as it came. @param error why nothing could be planned beside it */
  observes(plan: RunPlan, error: string | undefined): void {
    this.plan = plan;
    this.observed = true;
    this.error = error ?? null;
  }

  /** The answer to the caller begins. */
  began({ status, headers }: Head): void {
    const { timings, services } = this.call.scope;
    this.head = { status, id: requestIdIn(headers), at: timings.elapsed };
    this.spent = timings.fields();
    // A verdict may no longer hold when a long answer ends.
    this.mayKeep = isAccepted(this.tenant, services);
    if (this.mayKeep) this.capture?.start();
  }

  /** The caller has got its whole answer at once. */
  answered(head: Head): void {
    this.began(head);
    this.ended('complete');
  }

  /** The request was refused, or has failed. */
  failed(error: unknown): void {
    if (this.hasEnded) return;
    const refusal = error instanceof ApiError ? error : undefined;
    this.began({ status: refusal?.toResponse().status ?? 500, headers: new Headers() });
    this.error = refusal?.code ?? 'internal_error';
    this.ended('error');
  }

  /** The answer has ended. Only the first call counts. */
  ended(how: RunEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const isError = how === 'complete' && (this.head?.status ?? 0) >= 400;
    // The connection to the upstream is closed for a caller who has left.
    const hasLeft = this.signal.aborted && how !== 'complete';
    this.kept.resolve(this.keep(hasLeft ? 'caller_left' : isError ? 'error' : how));
  }

  /** Never throws. */
  private async keep(how: RunEnd): Promise<void> {
    const { services, waitUntil } = this.call.scope;
    if (!this.mayKeep) return;
    try {
      const conversation = conversationOfCall(this.call);
      if (!conversation) return;
      const work = this.store(conversation, how);
      services.keptRuns.track(this.tenant.id, services.keptRuns.track(conversation.name, work));
      await work;
    } catch (error) {
      await this.capture?.forget([], true);
      logCaught(services.log, 'warn', 'the event of a request could not be kept', error);
      services.metrics.count('precis_events_lost_total', {});
      services.metrics.sendLater(waitUntil);
    }
  }

  private async store(conversation: StoredConversation, how: RunEnd): Promise<void> {
    const { elapsed } = this.call.scope.timings;
    // Send the answer's last bytes first, since the rest takes time.
    await pause(0);
    const captured = (await this.capture?.isKept()) ?? false;
    const event = { ...this.event(how, elapsed, captured), ...this.billing() };
    const gone = await within(
      KEEP_LIMIT_MS,
      conversation.memory((stub) => stub.keepRun(this.key, event)),
    );
    if (gone.length > 0) await new Capture(this.key, conversation, this.call.scope).forget(gone);
  }

  /** The order for the bill. Refusals cost nothing, and have none. */
  private billing(): Pick<NewRun, 'billing' | 'potential_bill'> {
    const { tails, made, call } = this;
    const [first] = tails;
    if (!first) return {};
    const billing = made ? billOrderOf(made, tails, call) : unchangedOrderOf(tails, call);
    const potential = this.observed ? this.plan?.report : undefined;
    return potential ? { billing, potential_bill: potentialBillOf(potential, first, call) } : { billing };
  }

  /** @param total milliseconds since the request came */
  private event(ended: RunEnd, total: number, captured: boolean): UnbilledRun {
    const { request, chosen, scope } = this.call;
    const { timings } = scope;
    const { strategy, source, warnings } = chosen;
    const unplanned: RunPlan = {
      report: idleReport(strategy.mode, source, warnings),
      view: undefined,
      refused: [],
    };
    const { plan_ms = null, store_ms = null, summary_ms = null } = this.spent;
    const { upstream_ms = null } = timings.fields();
    const usages = this.tails.map((tail) => tail.usage());
    return buildEvent(this.plan ?? unplanned, {
      request_id: this.head?.id ?? null,
      created_at: timings.startedAt,
      ...this.form,
      model: request.model,
      stream: request.field('stream') === true,
      observed: this.observed,
      placeholders: placeholdersOf(strategy),
      messages: request.messages.length,
      retrieval_rounds: this.rounds?.count ?? 0,
      ms: {
        plan: plan_ms,
        store: store_ms,
        summary: summary_ms,
        upstream: upstream_ms,
        first_byte: this.error === null || this.observed ? (this.head?.at ?? null) : null,
        total,
      },
      usage: sumOf(usages),
      view_cached: usages[0]?.cached ?? null,
      status: this.head?.status ?? 500,
      ended,
      captured,
      error: this.error,
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
  const sum = (name: keyof RunUsage): number | null =>
    usages.reduce<number | null>((all, usage) => {
      const one = usage?.[name] ?? null;
      return all === null || one === null ? null : all + one;
    }, 0);
  return {
    input: sum('input'),
    cached: sum('cached'),
    cache_writes: sum('cache_writes'),
    output: sum('output'),
  };
}
