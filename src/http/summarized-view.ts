/** The view of `summarize`: plan, serve the summary of the plan's prefix, render. */
import { Boundaries } from '../memory/boundaries.ts';
import { frontierUnit } from '../memory/frontier.ts';
import { encodingOf } from '../memory/models.ts';
import { type Plan, plan } from '../memory/plan.ts';
import { type ReportedSummary, reportOf, type Warning } from '../memory/report.ts';
import type { SummarizeStrategy } from '../memory/strategy.ts';
import type { TokenCounter } from '../memory/tokens.ts';
import { render, type ShownSummary, showSummary } from '../memory/view.ts';
import { labelDigest } from '../storage/tenant.ts';
import type { ServedSummary } from '../summary/conversation.ts';
import { type Served, serveSummary } from '../summary/foreground.ts';
import { isThere } from '../summary/kept-transcript.ts';
import { WAIT_MS } from '../summary/material.ts';
import { conversationOf, type HeldSummary, heldSummary } from './conversation.ts';
import { type MadeView, type Prepared, refWriterOf } from './make-view.ts';
import { summarizerTarget } from './summarizer-target.ts';

export async function summarizedView(strategy: SummarizeStrategy, prepared: Prepared): Promise<MadeView> {
  const { history, scope, source } = prepared;
  const counting = await prepared.counting();
  const { counter } = counting;
  const planned = plan(
    strategy,
    { ...prepared.outline, toolTokens: prepared.toolTokens(counter) },
    { ...counting, refs: scope.caller.tenant?.refs, digest: labelDigest },
  );
  const boundaries = new Boundaries(history, labelDigest);
  const { held, stale } = heldIn(prepared, boundaries);
  const warnings = [...prepared.warnings, ...stale];
  const target = summarizerTarget(strategy, prepared.request, scope);
  if (!planned.prefix) {
    const view = render(planned, () => true);
    return { view, history, report: reportOf(planned, view, source, warnings) };
  }
  // A summary that reaches into the tail is of another strategy.
  const fits = held && held.end <= planned.prefix.end;
  if (held && !fits) warnings.push('stale_summary');
  const served = await serve(
    strategy,
    prepared,
    planned,
    boundaries,
    fits ? held : undefined,
    counter,
    target,
  );
  const shown = served.summary && shownIn(planned, served.summary, counter);
  const view = render(planned, () => true, shown);
  const hash = boundaries.at(planned.prefix.end).prefixHash;
  const summary = shown && served.summary ? reportedSummary(served.summary, shown, hash) : undefined;
  return {
    view,
    history,
    report: reportOf(planned, view, source, [...warnings, ...served.warnings], { summary }),
  };
}

async function serve(
  strategy: SummarizeStrategy,
  prepared: Prepared,
  { prefix, replay }: Plan,
  boundaries: Boundaries,
  held: HeldSummary | undefined,
  counter: TokenCounter,
  target: ReturnType<typeof summarizerTarget>,
): Promise<Served> {
  if (!prefix) throw new Error('a summary was to be served for nothing');
  const { history, place, scope, options } = prepared;
  const { caller, services, timings, waitUntil } = scope;
  const { tenant } = caller;
  const late = Date.now() + WAIT_MS;
  return timings.measure('summary', async () => {
    // What is there may be read before the key is known to be good; nothing is made or written before that.
    const accepted = tenant !== undefined && !options.dryRun && (await scope.mayStore(tenant)) === true;
    // A deployment's own summarizer works for its callers, not for whoever has no key.
    const once = options.expressly && !options.dryRun && !tenant && !services.config.summarizer;
    const need = {
      history,
      prefix,
      boundaries,
      late,
      moves: replay.moves.map(frontierUnit),
      strategy,
      held: held && { ...held, ref: await knownRef(held.ref, prepared) },
      how: once ? 'once' : accepted || !tenant ? 'make' : 'find',
    } as const;
    const served = await serveSummary(need, {
      conversation: tenant && conversationOf(place, history, boundaries, tenant, services),
      refs: tenant && refWriterOf(tenant, scope),
      target,
      counter,
      encoding: encodingOf(prepared.request.model),
      waitUntil,
      digests: services.digests,
      openUser: services.user,
    });
    const refused =
      tenant !== undefined && !accepted && !options.dryRun && served.summary?.status === 'pending';
    return refused ? { ...served, warnings: [...served.warnings, 'store_failed'] } : served;
  });
}

/** The ref in a summary that the caller holds, when it is this tenant's and still there. */
export async function knownRef(ref: string | undefined, { scope }: Prepared): Promise<string | undefined> {
  const { tenant } = scope.caller;
  if (ref === undefined || !tenant?.refs.owns(ref)) return undefined;
  return (await isThere(ref, refWriterOf(tenant, scope))) ? ref : undefined;
}

/** The summary that the caller holds, when it is of this array. */
export function heldIn(
  { request }: Prepared,
  boundaries: Boundaries,
): { held: HeldSummary | undefined; stale: Warning[] } {
  const held = heldSummary(request, boundaries);
  return held === 'stale' ? { held: undefined, stale: ['stale_summary'] } : { held, stale: [] };
}

/** Nothing is ever replaced by something longer. */
export function shownIn(
  { history, prefix }: Plan,
  { text, ref }: Pick<ServedSummary, 'text' | 'ref'>,
  counter: TokenCounter,
  from = 0,
): ShownSummary | undefined {
  if (!prefix) return undefined;
  const shown = showSummary(history, prefix, { text, ref, from }, counter);
  return shown.tokens < prefix.covered ? shown : undefined;
}

export function reportedSummary(
  { text, ref, status, memoryId, baseMemoryId, usage }: ServedSummary,
  { covers }: ShownSummary,
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
