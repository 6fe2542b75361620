/** What a plan is made of, and what it says. */
import type { History } from '../conversation/history.ts';
import type { ContentFacts } from '../edits/compact.ts';
import type { Digest, RefNamer } from '../edits/placeholder.ts';
import type { WrittenPreviews } from '../edits/preview.ts';
import type { Removal } from '../edits/removal.ts';
import type { SummarizedPrefix } from '../edits/summarize.ts';
import type { TrimmedSpan } from '../edits/trim.ts';
import type { Replay } from '../replay/frontier.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { ShownSummary, SummaryWords } from './shown-summary.ts';

/** The request, as far as the plan sees it. */
export interface PlanRequest {
  readonly history: History;
  readonly model: string | undefined;
  /** Tokens of the tools. */
  readonly toolTokens: number;
  /** Tokens that the answer may take, as the caller limits them; 0 when it doesn't. */
  readonly answerTokens: number;
  /** Triggers count as met. */
  readonly force: boolean;
  /**
   * Whether no turn stays, not even the one that is worked on: the conversation is put away, and
   * nothing is asked.
   */
  readonly whole?: boolean;
  /** Tokens that the upstream takes at the most, where it has said so by refusing a request. */
  readonly limit?: number | undefined;
  /** Whether the model can fetch what is removed. */
  readonly retrieval?: boolean;
  /** The price of cached input relative to fresh, in (0, 1]. */
  readonly cachedShare?: number;
  /** The memory in use, for a mode that is planned around it. */
  readonly memory?: UsedMemory | undefined;
}

/**
 * A memory that stands for the beginning of a conversation. It is known before the plan: which one
 * is ready is the one thing that the array does not tell.
 */
export interface UsedMemory extends SummaryWords {
  /** The messages before this index are covered. */
  readonly end: number;
  /** Whether another memory was in use at the request before. */
  readonly moved: boolean;
}

/** Budgets in tokens for a model. */
export interface Budgets {
  /** Over this, all phases may run. Absent if only a soft budget is set. */
  readonly hard?: number;
  /** Over this, only the reversible phases run. */
  readonly soft?: number;
  readonly window: number;
}

/** What the plan takes from its isolate: functions and memories, never state. */
export interface PlanContext {
  readonly counter: TokenCounter;
  /** The tenant's refs; absent when there is no place to keep anything. */
  readonly refs: RefNamer | undefined;
  readonly digest: Digest;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
}

/** What becomes of a request. */
export interface Planned extends ViewNeeds {
  readonly replay: Replay;
  /** Messages that leave the view, ascending. */
  readonly dropped: readonly number[];
  /** The summary that stands for the prefix, where its text was known before the plan. */
  readonly shown?: ShownSummary | undefined;
  /** Present where the view is over its budget and the strategy wants that to be refused. */
  readonly exceeded?: BudgetExceeded | undefined;
}

/** A view that its strategy wants to be refused. In tokens. */
export interface BudgetExceeded {
  readonly tokens: number;
  readonly budget: number;
}

/** What a plan needs of storage: for its view, and ready for the next move. */
interface ViewNeeds {
  /**
   * Contents to be written: what becomes a placeholder, by segment, the units between two
   * frontiers.
   */
  readonly segments: readonly (readonly Removal[])[];
  /** What a summary is to stand for. */
  readonly prefix?: SummarizedPrefix;
  /**
   * What leaves the view beside that. It stays where its transcript is not known to be written.
   */
  readonly trimmed?: TrimmedSpan;
  /** What the next move would make a placeholder; it may be stored ahead. */
  readonly upcoming: readonly Removal[];
  /**
   * What the next move would have a summary stand for, where that is known already and likely to be
   * needed.
   */
  readonly next?: SummarizedPrefix;
}
