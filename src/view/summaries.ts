/** The ports of a request's summaries, and the summary in its report. */
import { once } from '../lib/once.ts';
import { Boundaries } from '../memory/conversation/boundaries.ts';
import type { ShownSummary } from '../memory/edits/shown-summary.ts';
import { tokenMeasure } from '../memory/modes/strategy.ts';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import { type ReportedSummary, reportedOutputs } from '../memory/plan/report.ts';
import { scheduleOfRequest } from '../request/callers/billing.ts';
import { conversationOfCall, heldSummary } from '../request/conversation.ts';
import { ownUpstream } from '../request/own-upstream.ts';
import { refWriterOf } from '../request/ref-writer.ts';
import { learnWindow, summarizerTarget } from '../request/summarizer-target.ts';
import type { ServedSummary, SummaryPorts } from '../summary/conversation.ts';
import type { OwnCompactions } from '../summary/own-compaction.ts';
import type { HeldSummary } from '../summary/writer.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { addToList } from '../upstream/request.ts';
import type { ViewCall } from './made-view.ts';

export interface RequestSummaries {
  readonly boundaries: Boundaries;
  /** The summary that the caller has sent with the request. `stale` if it covers other messages. */
  readonly held: HeldSummary | 'stale' | undefined;
  readonly ports: SummaryPorts;
}

/**
 * @throws ApiError if the summarizer's model is not offered, or the caller's summary is malformed
 */
export function summariesOf(strategy: SummarizingStrategy, call: ViewCall): RequestSummaries {
  const { request, chosen, scope, options, history } = call;
  const { services, caches, upkeep } = scope;
  const { tenant } = scope.caller;
  const boundaries = new Boundaries(history, sha256Hex);
  const measure = tokenMeasure(strategy, request.model, services.config.tokenFactors);
  const conversation = conversationOfCall(call);
  const at = Date.now();
  const targetOnce = once(() => {
    const target = summarizerTarget(strategy, request, scope);
    const timeoutMs = Math.max(target.timeoutMs, options.whole ? TIME_LIMITS.wholeSummaryCallMs : 0);
    return { ...target, timeoutMs };
  });
  return {
    boundaries,
    held: heldSummary(request, boundaries),
    ports: {
      tenant,
      conversation,
      since: scope.timings.startedAt,
      refs: tenant && refWriterOf(tenant, call),
      // Most views need no summary to be written.
      get target() {
        return targetOnce();
      },
      payer: async () => scope.spending?.handOver(),
      own: ownSummaries(call),
      encoding: measure,
      digests: caches.digests,
      prepared: (name) => services.memory.of('prepared').of(name),
      upkeep,
      learnWindow: (tokens) => learnWindow(targetOnce(), tokens, scope),
      counting: () => caches.counting(measure),
      openUser: services.user,
      publication: async () => {
        const { injection } = await chosen.injection;
        const publishes = injection === undefined || injection.publish === 'on_move';
        return publishes && conversation?.publishTo ? { ...conversation.publishTo, at } : undefined;
      },
      log: services.log,
    },
  };
}

/** A summary in a view, and the hash of the messages that it covers. */
export interface NamedSummary extends ServedSummary {
  readonly prefixHash: string;
}

export function reportedSummary(
  { text, ref, status, memoryId, baseMemoryId, usage, prefixHash }: NamedSummary,
  { covers, rehydrated, form }: ShownSummary,
): ReportedSummary {
  return {
    text,
    covers,
    prefix_hash: prefixHash,
    ...(form === 'signed' ? { signed: true } : {}),
    ...(ref === undefined ? {} : { ref }),
    status,
    ...(memoryId === undefined ? {} : { memory_id: memoryId, base_memory_id: baseMemoryId ?? null }),
    ...(rehydrated ? { rehydrated: reportedOutputs(rehydrated) } : {}),
    usage,
  };
}

/** Undefined if the view has none. */
function ownSummaries({ own, tools, request, scope }: ViewCall): OwnCompactions | undefined {
  const { caller, services, api } = scope;
  if (!own || !caller.tenant) return undefined;
  const { tenant } = caller;
  const { baseUrl, search, headers: forwarded } = ownUpstream(scope);
  const headers = new Headers(forwarded);
  addToList(headers, own.beta);
  const { model = '' } = request;
  return {
    timeoutMs: TIME_LIMITS.ownSummaryMs,
    // A key of the deployer's may change, and the caller's own is the tenant.
    account: tenant.seal(`own_compaction:${baseUrl} ${api.keyIn(headers) ?? ''}`),
    call: (range) => ({
      server: { baseUrl, search, headers: Object.fromEntries(headers) },
      model,
      path: own.path,
      body: own.body({ ...range, tools: tools?.definitions }),
      timeoutMs: TIME_LIMITS.ownSummaryMs,
      backoffMs: TIME_LIMITS.longestSummaryPauseMs,
      schedule: scheduleOfRequest(request, services),
    }),
  };
}
