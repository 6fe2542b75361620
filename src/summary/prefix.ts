/** The prefix of an array, as a request needs its summary. */

import type { Cache } from '../lib/lru.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Removal } from '../memory/edits/removal.ts';
import type { SummarizedPrefix } from '../memory/edits/summarize.ts';
import type { AutoStrategy } from '../memory/modes/auto.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import type { UserMemoryStub } from '../storage/conversation/key.ts';
import type { WaitUntil } from '../storage/refs/writer.ts';
import type { MaterialPorts, SummaryRange } from './material.ts';
import type { SummarizerTarget } from './summarizer.ts';
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
export const RETRIES = { attempts: 3, backoffMs: 500, longestPauseMs: 4_000, withinMs: WAIT_MS };

/** What is to be served. */
export interface SummaryNeed {
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
   * `make`: as above. `find`: nothing is made or stored. `once`: made for this request alone, by
   * whoever asks for it expressly.
   */
  readonly how: 'make' | 'find' | 'once';
}

export interface SummaryPorts extends MaterialPorts {
  readonly target: SummarizerTarget;
  readonly waitUntil: WaitUntil;
  /**
   * When a summary was last handed over to be made ahead, by what it is, in milliseconds since the
   * epoch.
   */
  readonly prepared: Cache<number>;
  openUser(name: string): UserMemoryStub;
  /** Takes a failure that the request survives, for the log. */
  failed(message: string, error: unknown): void;
}

/** What the summary of a prefix is made of. */
export function prefixRange(need: SummaryNeed): SummaryRange {
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
    ...(strategy.summary_focus === undefined ? {} : { focus: strategy.summary_focus }),
    includeTrajectory: true,
    retries: RETRIES,
  };
}

/** The summary that the caller holds, where the next one is built upon it. */
export function heldBase(need: SummaryNeed): KnownSummary | undefined {
  const { held } = need;
  return held !== undefined && priorOf(need) === held ? held : undefined;
}

/** What the caller brings along: a summary that it holds, or one that stands in the array. */
function priorOf({ history, held, strategy, prefix }: SummaryNeed): KnownSummary | undefined {
  const echoed = echoOf(history);
  if (!strategy.incremental) return echoed;
  return newest(held && held.end < prefix.end ? held : undefined, echoed);
}
