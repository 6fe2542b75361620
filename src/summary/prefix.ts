/** The summary of a prefix, as a request needs it. */
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { AutoStrategy } from '../memory/modes/auto.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import type { SummaryOrder } from './claim.ts';
import { strategyHash } from './strategy-hash.ts';
import { echoOf } from './text/entries.ts';
import { type KnownSummary, newest } from './writer.ts';

/**
 * How long a request waits for a summary, its own or another's, in milliseconds
 * (docs/design.md#7-storage).
 */
export const WAIT_MS = 20_000;

/**
 * The same for a conversation that is put away: its digest would stay for good. And how long each
 * call may take then, at the least.
 */
export const WHOLE_WAIT_MS = 120_000;
export const WHOLE_CALL_MS = 60_000;

/** Of a request that waits: quick attempts, and none after the wait is over. */
const RETRIES = { attempts: 3, backoffMs: 500, longestPauseMs: 4_000, withinMs: WAIT_MS };

/** How long a conversation whose summarizer has failed rests at first, in milliseconds. */
const REST_MS = 30_000;

/** What is to be served. */
export interface PrefixNeed {
  readonly history: History;
  readonly prefix: SummarizedPrefix;
  readonly boundaries: Boundaries;
  /** The first unit that stayed, for each move of the frontier. */
  readonly moves: readonly number[];
  readonly strategy: SummarizeStrategy | AutoStrategy;
  /** What the summarizer reads as a placeholder, as the model did. */
  readonly removals: readonly Removal[];
  /** A summary that the caller holds and has sent along; its hash has been checked. */
  readonly held: (KnownSummary & { readonly ref: string | undefined }) | undefined;
  /** When the request has waited long enough, in milliseconds since the epoch. */
  readonly late: number;
  /**
   * `make`: it is made where it is not there. `find`: nothing is made or stored. `once`: made for
   * this request alone, which asks for it expressly.
   */
  readonly how: 'make' | 'find' | 'once';
}

/** @param model the summarizer's */
export function prefixOrder(need: PrefixNeed, model: string): SummaryOrder {
  const { history, prefix, boundaries, strategy, removals, moves, held } = need;
  const prior = priorOf(need);
  // A summary that is built upon the caller's own text is found by that caller alone.
  const base = held !== undefined && prior === held ? held.text : undefined;
  return {
    range: {
      history,
      boundaries,
      pieceEnds: () => boundaries.upTo(prefix.end),
      boundary: boundaries.at(prefix.end),
      removals,
      ...(prior ? { prior } : {}),
      limit: prefix.limit,
      ...(strategy.summary_focus === undefined ? {} : { focus: strategy.summary_focus }),
      includeTrajectory: true,
      retries: RETRIES,
    },
    terms: {
      strategyHash: strategyHash(strategy, model, base),
      bases: strategy.incremental ? boundaries.basesBefore(prefix.end, moves) : [],
      windowSize: null,
      retryIntervalMs: REST_MS,
      exclusive: 'boundary',
    },
  };
}

/** What the caller brings along: a summary that it holds, or one that stands in the array. */
function priorOf({ history, held, strategy, prefix }: PrefixNeed): KnownSummary | undefined {
  const echoed = echoOf(history);
  if (!strategy.incremental) return echoed;
  return newest(held && held.end < prefix.end ? held : undefined, echoed);
}
