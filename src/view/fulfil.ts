/**
 * The I/O for the plan of a view: the memory that it may need, the contents and summaries that
 * rendering needs, and the preparation of the next requests. The messages that are added to a view
 * are read in `inject.ts` and `memory-blocks.ts`.
 */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { History } from '../memory/conversation/history.ts';
import { shownWith } from '../memory/edits/output-digest.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { TrimmedSpan } from '../memory/edits/summarize.ts';
import { recalls, summarizes } from '../memory/modes/strategy.ts';
import type { RecallingStrategy } from '../memory/modes/table.ts';
import type { Plan } from '../memory/plan/plan.ts';
import type { TokenUsage, Warning } from '../memory/plan/report.ts';
import { droppedBy, type ShownTrim, type ViewWords } from '../memory/plan/view.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { answerIdentity } from '../protocol/message-names.ts';
import type { Found, TextState } from '../storage/conversation/memories.ts';
import type { SummaryPorts } from '../summary/conversation.ts';
import { keepContent } from '../summary/kept-transcript.ts';
import { type MemoryNeed, type RecalledMemory, recallMemory, rollMemory } from '../summary/rolling-memory.ts';
import { trimmedTranscript } from '../summary/text/trimmed-transcript.ts';
import type { MadeView, ViewCall } from './made-view.ts';
import { outputDigests, type ShownDigests } from './output-digests.ts';
import { PlanStorage } from './plan-storage.ts';
import { PrefixSummary } from './prefix-summary.ts';
import { type NamedSummary, summariesOf } from './summaries.ts';

/** The memory for a mode that is planned around one. It is recalled before the plan. */
export interface Recalled {
  /** Undefined if none is ready. */
  readonly memory: (RecalledMemory & NamedSummary) | undefined;
  readonly warnings: readonly Warning[];
  remember: NonNullable<MadeView['remember']>;
}

/** @throws see `summariesOf` */
export async function recall(strategy: RecallingStrategy, call: ViewCall): Promise<Recalled> {
  const { scope, options, history } = call;
  const { boundaries, held, ports } = summariesOf(strategy, call);
  const { dryRun, viewOnly, anew = false } = options;
  const need = { strategy, history, boundaries, held, dryRun, viewOnly, anew };
  const recalled = await scope.timings.measure('summary', () => recallMemory(need, ports));
  const { memory, found, warnings } = recalled;
  return {
    memory: memory && { ...memory, prefixHash: boundaries.at(memory.end).prefixHash },
    warnings,
    remember: (answer) => remember(answer, need, found, call, ports),
  };
}

/** The answer to the needs of a plan. */
export interface Fulfilled {
  readonly words: ViewWords & { readonly summary: NamedSummary | undefined };
  /** The summarizer's usage for digests of outputs. Undefined if it was not called. */
  readonly digestUsage: TokenUsage | undefined;
  readonly warnings: readonly Warning[];
  prepareNext(): Promise<void>;
}

/** @throws see `summariesOf` */
export async function fulfil(plan: Plan, call: ViewCall, counter: TokenCounter): Promise<Fulfilled> {
  const { strategy, trimmed } = plan;
  const { tenant } = call.scope.caller;
  const storage = tenant && !call.options.dryRun ? new PlanStorage(plan, tenant, call) : undefined;
  const isWritten = (ref: string): boolean => storage?.isWritten(ref) ?? true;
  const summarizing = summarizes(strategy) && !recalls(strategy) ? strategy : undefined;
  const summaries = summarizing && summariesOf(summarizing, call);
  // The summarizer reads what the model reads, so placeholders must be final first.
  await storage?.write();
  const digests =
    summaries && outputDigests({ strategy: summarizing, plan, call, counter, ...summaries }, isWritten);
  await digests?.serve();
  const shown = () => shownRemovals(plan, isWritten, digests, counter);
  const prefix = summaries && new PrefixSummary({ strategy: summarizing, plan, call, summaries, shown });
  const { ports } = (trimmed && summarizes(strategy) && (summaries ?? summariesOf(strategy, call))) || {};
  const [summary, line] = await Promise.all([
    prefix?.serve(),
    ports && trimmed && keepTrimmed(plan.history, trimmed, call, ports, counter),
  ]);
  const words = { isWritten, summary, line, ...(digests ? { digestOf: digests.textOf } : {}) };
  if (digests) await digests.serveStaying(droppedBy(plan, words, counter));
  return {
    words,
    digestUsage: digests?.usage,
    warnings: [...(digests?.warnings ?? []), ...(prefix?.warnings ?? [])],
    prepareNext: async () => {
      await Promise.all([storage?.prepareNext(), prefix?.prepareNext(), digests?.keep()]);
    },
  };
}

/** The removals of a plan whose contents are stored, as the model reads them. */
function shownRemovals(
  { segments }: Plan,
  isWritten: (ref: string) => boolean,
  digests: ShownDigests | undefined,
  counter: TokenCounter,
): Removal[] {
  const written = segments.flat().filter(({ ref }) => ref === undefined || isWritten(ref));
  return digests ? written.map((removal) => shownWith(removal, digests.textOf(removal), counter)) : written;
}

/** Remembers answered rounds. On failure, the next round includes them. */
async function remember(
  text: string | undefined,
  need: MemoryNeed,
  found: Found | undefined,
  { scope, options }: ViewCall,
  ports: SummaryPorts,
): Promise<TextState | undefined> {
  // Send the answer's last bytes first, since the rest takes time.
  await pause(0);
  const { tenant } = scope.caller;
  if (!tenant || !found || !(await scope.mayStore(tenant))) return undefined;
  const answer = text === undefined ? undefined : { text, identity: answerIdentity(text) };
  try {
    return await rollMemory(need, answer, found, options.force || need.anew, ports);
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'a round could not be remembered', error);
    return undefined;
  }
}

/** The line for trimmed messages. Undefined if they are not known to be stored. */
async function keepTrimmed(
  history: History,
  trimmed: TrimmedSpan,
  { scope, options }: ViewCall,
  { tenant, conversation, refs }: SummaryPorts,
  counter: TokenCounter,
): Promise<ShownTrim | undefined> {
  const { segments, shown } = trimmedTranscript(history, trimmed, tenant, conversation?.label, counter);
  if (!tenant || !refs || options.dryRun) return shown;
  const isKept = segments.every(({ ref }) => refs.isKnown(ref));
  if (!isKept && !(await scope.mayStore(tenant))) return undefined;
  const kept = await Promise.all(segments.map((segment) => keepContent(segment, refs)));
  return kept.includes(false) ? undefined : shown;
}
