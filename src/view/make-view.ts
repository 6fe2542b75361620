/** From a request and its strategy to the view that goes upstream: what all modes have in common. */
import { type History, readHistory } from '../memory/conversation/history.ts';
import { findEcho } from '../memory/conversation/session-summary.ts';
import { mayAct, type PlanRequest } from '../memory/plan/plan.ts';
import { idleReport, type Report, type StrategySource, type Warning } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import {
  actingStrategy,
  budgetsOf,
  type EditingStrategy,
  type SummarizingStrategy,
} from '../memory/strategy/strategy.ts';
import { type TokenCounter, toolTokens } from '../memory/tokens/tokens.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { toolsWith } from '../protocol/tools.ts';
import { LARGEST_BODY } from '../request/body.ts';
import type { Caller } from '../request/caller.ts';
import type { ChosenStrategy } from '../request/choose-strategy.ts';
import { groupOf, sentSummary } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { mayPlan } from '../request/known-key.ts';
import type { Counting, Learned } from '../request/learned.ts';
import { upstreamCompacts } from '../request/native-compaction.ts';
import type { Place } from '../request/owner.ts';
import type { Services } from '../request/services.ts';
import { summarizerTarget } from '../request/summarizer-target.ts';
import type { Timings } from '../request/timings.ts';
import { conversationName } from '../storage/conversation/key.ts';
import { RefStore } from '../storage/refs/store.ts';
import { RefUses } from '../storage/refs/uses.ts';
import { RefWriter, type WaitUntil } from '../storage/refs/writer.ts';
import type { Tenant } from '../tenant/identity.ts';
import { type LearnedLimit, roomIn } from '../upstream/learned-limits.ts';
import { type OfferedTools, offerTools } from './offer-tools.ts';
import { replayedView } from './replayed.ts';
import { rollingView } from './rolling.ts';

export interface MadeView {
  /** Absent when the request goes up as it came. */
  readonly view: View | undefined;
  /** The tools of ours that go up with the request, whatever the view; absent where the model fetches nothing. */
  readonly tools?: OfferedTools | undefined;
  /** The shape of the caller's array, as far as it was read. */
  readonly history?: History;
  readonly report: Report;
  /** Writes what the next move would remove. To be called when the upstream has accepted the caller's key. */
  prepareNext?(): Promise<void>;
  /**
   * Remembers the round that an answer has closed. To be called with the text of a whole answer that calls no tool, or without one for
   * what the array alone holds.
   */
  remember?(answer: string | undefined): Promise<void>;
}

export interface MakeViewOptions {
  /** Triggers count as met. */
  readonly force: boolean;
  /** Nothing is stored: refs are named as if they were written. */
  readonly dryRun: boolean;
  /** Tokens are counted even where nothing will be done. */
  readonly count: boolean;
  /** Whether the view is all that the caller wants: then a summary is made also where it can't be kept. */
  readonly expressly: boolean;
  /** See `PlanRequest`. */
  readonly whole?: boolean;
  /** Whether the upstream has just judged the request, and so accepted its key. */
  readonly isAnswered?: boolean;
  /** What the upstream has just said that it takes; absent: what it is known to take. */
  readonly limit?: LearnedLimit;
}

/** What one request brings along. */
export interface RequestScope {
  readonly services: Services;
  readonly caller: Caller;
  /** What was learned from the caller's contents. */
  readonly learned: Learned;
  readonly headers: Headers;
  readonly waitUntil: WaitUntil;
  readonly timings: Timings;
  /** Of which conversations uses are told, by name. */
  readonly uses: Map<string, RefUses>;
  /** The session that the caller's headers name; it groups refs, and nothing else. */
  readonly session: string | undefined;
  /** Whether the upstream accepts the caller's key, so that its contents may be stored. */
  mayStore(tenant: Tenant): Promise<boolean>;
}

/** A request that is about to be planned. */
export interface Prepared {
  readonly request: ModelRequest;
  readonly place: Place;
  readonly history: History;
  /** Without the tokens of the tools, which cost a tokenizer. */
  readonly outline: PlanRequest;
  readonly scope: RequestScope;
  readonly options: MakeViewOptions;
  readonly source: StrategySource;
  readonly warnings: readonly Warning[];
  counting(): Promise<Counting>;
  toolTokens(counter: TokenCounter): number;
}

/** Checks that a body is not too large to be edited, or put away. @throws ApiError `body_too_large` */
export function checkSize({ bytes, conversationField }: ModelRequest): void {
  if (bytes.length <= LARGEST_BODY) return;
  throw new ApiError(
    'body_too_large',
    `The request body has ${bytes.length} bytes; with a memory_strategy other than none, or into a compaction item, at most ${LARGEST_BODY} are taken.`,
    conversationField,
  );
}

/** @throws ApiError `body_too_large`, and what the mode itself refuses */
export async function makeView(
  request: ModelRequest,
  chosen: ChosenStrategy,
  place: Place,
  scope: RequestScope,
  options: MakeViewOptions,
): Promise<MadeView> {
  const { source } = chosen;
  const { mode } = chosen.strategy;
  const strategy = actingStrategy(chosen.strategy, upstreamCompacts(request, scope.services.config));
  const untouched = (...warnings: Warning[]): MadeView => ({
    view: undefined,
    report: idleReport(mode, source, [...chosen.warnings, ...warnings]),
  });
  if (place.off.length > 0) return untouched(...place.off);
  if (strategy.mode === 'none') return untouched();
  checkSize(request);
  if (request.tooManyMessages) return untouched('too_many_messages');
  if (request.upstreamState !== undefined) return untouched('upstream_state');
  if (!options.isAnswered && !(await mayPlan(request, scope))) return untouched('unverified_key');
  const offered = offerTools(request, strategy, scope.caller.tenant);
  const tools = offered === 'off' ? undefined : offered;
  if (summarizes(strategy)) {
    // What is wrong is told at the first request, not when the conversation has grown.
    summarizerTarget(strategy, request, scope);
    sentSummary(request);
  }

  const { caller, services } = scope;
  const echo = summarizes(strategy) ? findEcho(request.messages, caller.tenant?.refs) : undefined;
  const history = readHistory(request.messages, strategy.text_observation_prefixes, echo);
  const { model, answerTokens } = request;
  const limit = options.limit ?? (caller.tenant && services.limits.of(caller.tenant.id, model));
  const asked: PlanRequest = {
    history,
    model,
    toolTokens: 0,
    answerTokens,
    force: options.force,
    whole: options.whole ?? false,
    retrieval: tools !== undefined,
  };
  const outline = limit ? withinLimit(strategy, asked, limit) : asked;
  const warnings = warningsOf(strategy, caller);
  if (offered === 'off') warnings.push('retrieval_off');
  const allTools = tools ? toolsWith(request.tools, tools.definitions) : request.tools;
  if (!options.count && !mayAct(strategy, outline, allTools?.bytes ?? 0))
    return { ...untouched(...warnings), tools };

  const prepared: Prepared = {
    request,
    place,
    history,
    outline,
    scope,
    options,
    source,
    warnings: [...chosen.warnings, ...warnings],
    counting: () => scope.learned.counting(model),
    toolTokens: (counter) => toolTokens(allTools, counter),
  };
  const made =
    strategy.mode === 'rolling_summary'
      ? await rollingView(strategy, prepared)
      : await replayedView(strategy, prepared);
  return { ...made, tools, report: { ...withLimit(made.report, outline.limit), mode } };
}

/**
 * A request within what the upstream takes, where that is less than the strategy counts on. What it leaves to the prompt holds at every
 * request point: an answer's room that were looked at in the end alone would move the frontier at every request.
 */
function withinLimit(strategy: EditingStrategy, asked: PlanRequest, learned: LearnedLimit): PlanRequest {
  const { window } = budgetsOf(strategy, asked.model);
  const limit = roomIn(learned, asked.answerTokens);
  if (limit >= roomIn({ tokens: window, withAnswer: true }, asked.answerTokens)) return asked;
  return { ...asked, limit, answerTokens: 0 };
}

/** Says so where a learned limit, and not the strategy alone, has decided what goes up: it was the window of an array that exceeds it. */
function withLimit(report: Report, limit: number | undefined): Report {
  const { before = 0, window } = report.tokens ?? {};
  if (window !== limit || limit === undefined || before <= limit) return report;
  return { ...report, warnings: [...new Set([...report.warnings, 'limit_learned' as const])] };
}

/** Writes refs for one request. */
export function refWriterOf(
  tenant: Tenant,
  { scope, place, request }: Pick<Prepared, 'scope' | 'place' | 'request'>,
): RefWriter {
  const { services, waitUntil } = scope;
  const group = groupOf(request.messages, place, scope);
  const uses = group && usesOf(conversationName(tenant.id, place.user, group), tenant, scope);
  return new RefWriter({
    store: new RefStore(services.bucket, tenant),
    tenant: tenant.id,
    known: services.known,
    waitUntil,
    uses,
    retention: services.retention,
    log: services.log,
  });
}

/** One for all writers of a request. */
function usesOf(conversation: string, tenant: Tenant, { uses, services }: RequestScope): RefUses {
  const known =
    uses.get(conversation) ?? new RefUses(conversation, () => services.tenant(tenant.id), services.told);
  uses.set(conversation, known);
  return known;
}

/** Without a tenant, placeholders name no ref, and no summary is kept. */
function warningsOf(strategy: EditingStrategy, { tenant }: Caller): Warning[] {
  const keeps = strategy.mode === 'compact' ? strategy.compact_offload : summarizes(strategy);
  return keeps && !tenant ? ['no_tenant'] : [];
}

function summarizes(strategy: EditingStrategy): strategy is SummarizingStrategy {
  return ['summarize', 'rolling_summary', 'auto'].includes(strategy.mode);
}
