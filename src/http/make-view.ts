/**
 * From a request and its strategy to the view that goes upstream: plan, write what the view will name, render.
 */
import type { Removal } from '../memory/edits/removal.ts';
import { readHistory } from '../memory/history.ts';
import { mayAct, type Plan, type PlanRequest, plan } from '../memory/plan.ts';
import { idleReport, type Report, reportOf, type Warning } from '../memory/report.ts';
import type { EditingStrategy } from '../memory/strategy.ts';
import { toolTokens } from '../memory/tokens.ts';
import { render, type View } from '../memory/view.ts';
import type { ChatRequest } from '../protocol/chat.ts';
import { RefStore, type StoredContent } from '../storage/refs.ts';
import { labelDigest, type Tenant } from '../storage/tenant.ts';
import { RefWriter, type WaitUntil, WRITE_LIMIT_MS } from '../storage/writer.ts';
import type { Caller } from './caller.ts';
import type { ChosenStrategy } from './choose-strategy.ts';
import { ApiError } from './errors.ts';
import type { Services } from './services.ts';
import type { Timings } from './timings.ts';

/** The largest body that is edited (design §9). */
const LARGEST_BODY = 16 * 1024 * 1024;

/** A session's name is kept up to this length, in characters. */
const LONGEST_SESSION = 256;

export interface MadeView {
  /** Absent when the request goes up as it came. */
  readonly view: View | undefined;
  readonly report: Report;
  /** Writes what the next move would remove. To be called when the upstream has accepted the caller's key. */
  prepareNext(): Promise<void>;
}

export interface MakeViewOptions {
  /** Triggers count as met. */
  readonly force: boolean;
  /** Nothing is stored: refs are named as if they were written. */
  readonly dryRun: boolean;
  /** Tokens are counted even where nothing will be done. */
  readonly count: boolean;
}

/** What one request brings along. */
export interface RequestScope {
  readonly services: Services;
  readonly caller: Caller;
  readonly waitUntil: WaitUntil;
  readonly timings: Timings;
  /** The session that the caller's headers name; it groups refs, and nothing else. */
  readonly session: string | undefined;
  /** Whether the upstream accepts the caller's key, so that its contents may be stored. */
  mayStore(tenant: Tenant): Promise<boolean>;
}

/** @throws ApiError `body_too_large` */
export async function makeView(
  request: ChatRequest,
  { strategy, source }: ChosenStrategy,
  scope: RequestScope,
  options: MakeViewOptions,
): Promise<MadeView> {
  const idle = (...warnings: Warning[]): MadeView => ({
    view: undefined,
    report: idleReport(strategy.mode, source, warnings),
    prepareNext: async () => undefined,
  });
  if (strategy.mode === 'none') return idle();
  if (request.bytes.length > LARGEST_BODY)
    throw new ApiError(
      'body_too_large',
      `The request body has ${request.bytes.length} bytes; with a memory_strategy other than none at most ${LARGEST_BODY} are edited.`,
      'messages',
    );
  if (request.tooManyMessages) return idle('too_many_messages');

  const { caller, services } = scope;
  const history = readHistory(request.messages, strategy.text_observation_prefixes);
  const outline: PlanRequest = {
    history,
    model: request.model,
    toolTokens: 0,
    answerTokens: request.answerTokens,
    force: options.force,
  };
  const warnings = warningsOf(strategy, caller);
  if (!options.count && !mayAct(strategy, outline, request.tools?.bytes ?? 0)) return idle(...warnings);

  const counting = await services.counting(request.model);
  const { counter } = counting;
  const planned = plan(
    strategy,
    { ...outline, toolTokens: toolTokens(request.tools, counter) },
    { ...counting, refs: caller.tenant?.refs, digest: labelDigest },
  );
  const storage =
    caller.tenant && !options.dryRun ? new PlanStorage(planned, caller.tenant, request, scope) : undefined;
  await storage?.write();
  const view = render(planned, (ref) => storage?.isWritten(ref) ?? true);
  const report = reportOf(planned, view, source, warnings);
  return {
    view,
    report,
    prepareNext: async () => storage?.prepareNext(),
  };
}

/** A caller without a tenant gets placeholders that name no ref. */
function warningsOf(strategy: EditingStrategy, caller: Caller): Warning[] {
  return strategy.mode === 'compact' && strategy.compact_offload && !caller.tenant ? ['no_tenant'] : [];
}

/** The storing of one plan's removals. */
class PlanStorage {
  private readonly plan: Plan;
  private readonly tenant: Tenant;
  private readonly scope: RequestScope;
  private readonly writer: RefWriter;
  private readonly conversation: string | undefined;

  constructor(plan: Plan, tenant: Tenant, request: ChatRequest, scope: RequestScope) {
    this.plan = plan;
    this.tenant = tenant;
    this.scope = scope;
    const { services, waitUntil } = scope;
    this.writer = new RefWriter(new RefStore(services.bucket, tenant), tenant.id, services.known, waitUntil);
    const conversation = request.own('conversation_id') ?? scope.session;
    this.conversation = typeof conversation === 'string' ? conversation.slice(0, LONGEST_SESSION) : undefined;
  }

  isWritten(ref: string): boolean {
    return this.writer.isKnown(ref);
  }

  /** Writes what the view is to name, as far as the time allows. */
  async write(): Promise<void> {
    const segments = this.plan.segments.map((segment) => this.contents(segment));
    if (!segments.some((segment) => segment.length > 0)) return;
    await this.scope.timings.measure('store', async () => {
      const limit = timeLimit(WRITE_LIMIT_MS);
      const unproven = segments.flat().some(({ ref }) => !this.writer.isKnown(ref));
      if (!unproven || (await Promise.race([this.scope.mayStore(this.tenant), limit.over.then(() => false)])))
        await this.writer.ensure(segments, limit.over);
      limit.clear();
    });
    if (segments.flat().some(({ ref }) => !this.writer.isKnown(ref)))
      this.scope.services.log('warn', 'some contents are not known to be stored', { code: 'store_failed' });
  }

  async prepareNext(): Promise<void> {
    await this.writer.prepare(this.contents(this.plan.upcoming));
  }

  private contents(removals: readonly Removal[]): StoredContent[] {
    return removals.flatMap((removal) => {
      const { ref, content } = removal;
      if (ref === undefined) return [];
      return [
        {
          ref,
          text: () => content().text,
          metadata: () => ({
            tool_name: removal.tool,
            tool_call_id: removal.callId,
            content_type: content().type,
            tokens: removal.tokens,
            bytes: removal.bytes,
            created: Math.floor(Date.now() / 1000),
            ...(this.conversation === undefined ? {} : { conversation: this.conversation }),
          }),
        },
      ];
    });
  }
}

function timeLimit(milliseconds: number): { over: Promise<void>; clear: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return { over, clear: () => clearTimeout(timer) };
}
