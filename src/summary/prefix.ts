/** What is ordered for the summary of a prefix. */
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { AutoStrategy } from '../memory/modes/auto-settings.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { Retries } from './attempts.ts';
import type { SummaryPorts } from './conversation.ts';
import type { SummaryRange } from './material.ts';
import { type TextTerms, termsOfAll } from './order.ts';
import { hintsOf, strategyHash } from './strategy-hash.ts';
import { echoOf, entriesOf } from './text/entries.ts';
import { withProven } from './text/proven.ts';
import { type KnownSummary, newest } from './writer.ts';

/** For a request that waits: quick retries, and none after the wait. */
export const quickRetries = (): Retries => ({
  attempts: 3,
  backoffMs: TIME_LIMITS.summaryBackoffMs,
  longestPauseMs: TIME_LIMITS.longestSummaryPauseMs,
  withinMs: TIME_LIMITS.summaryMs,
});

/** A request for the summary of a prefix. */
export interface PrefixNeed {
  readonly history: History;
  readonly prefix: SummarizedPrefix;
  readonly boundaries: Boundaries;
  /** The first unit that stayed at each move of the frontier. */
  readonly moves: readonly number[];
  readonly strategy: SummarizeStrategy | AutoStrategy;
  /** Contents that the summarizer reads as placeholders, like the model. */
  readonly removals: readonly Removal[];
  /** A summary from the caller, with a checked hash. */
  readonly held: (KnownSummary & { readonly ref: string | undefined }) | undefined;
  /** The end of the wait, in milliseconds since the epoch. */
  readonly late: number;
  /**
   * `make`: makes a missing summary. `find`: makes and stores nothing. `once`: makes it for this
   * request alone, and stores nothing.
   */
  readonly how: 'make' | 'find' | 'once';
}

export function prefixRange(need: PrefixNeed): SummaryRange {
  const { history, prefix, boundaries, strategy, removals } = need;
  const prior = priorOf(need);
  return {
    history,
    boundaries,
    pieceEnds: () => boundaries.upTo(prefix.end),
    boundary: boundaries.at(prefix.end),
    removals,
    ...(prior ? { prior } : {}),
    limit: prefix.limit,
    hints: hintsOf(strategy),
    includeTrajectory: true,
    retries: quickRetries(),
  };
}

export function prefixTerms(need: PrefixNeed, model: string): TextTerms {
  const { prefix, boundaries, strategy, moves, held } = need;
  // Only a caller who sends the same text finds a summary that is built on it.
  const base = held !== undefined && priorOf(need) === held ? held.text : undefined;
  const bases = strategy.incremental ? boundaries.basesBefore(prefix.end, moves) : [];
  return termsOfAll(strategyHash(strategy, model, base), boundaries.at(prefix.end), bases);
}

/** A summary from the caller: sent next to the array, or as a part of it. */
function priorOf({ history, held, strategy, prefix }: PrefixNeed): KnownSummary | undefined {
  const echoed = echoOf(history);
  if (!strategy.incremental) return echoed;
  return newest(held && held.end < prefix.end ? held : undefined, echoed);
}

/**
 * The text of a summary as it is shown instead of a prefix. A function of the text and of the array
 * up to the request that showed it first.
 */
export async function provenText(
  text: string,
  { history, prefix, boundaries }: PrefixNeed,
  { digests, encoding, counting }: SummaryPorts,
): Promise<string> {
  const { end, since, limit } = prefix;
  if (since === undefined || since <= end) return text;
  // The hash leaves out the preamble, which shifts the indices.
  const { prefixHash } = boundaries.at(since);
  const key = `proven ${prefixHash} ${since} ${end} ${limit} ${encoding} ${sha256Hex(text)}`;
  const known = digests.get(key);
  if (known !== undefined) return known;
  const { counter } = await counting();
  const shown = withProven({
    text,
    covered: entriesOf(history, 0, end, 'readable'),
    later: entriesOf(history, end, since, 'readable'),
    maxTokens: limit,
    counter,
  });
  digests.set(key, shown);
  return shown;
}
