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
export interface Planned {
  readonly replay: Replay;
  /** What becomes a placeholder, by segment: the units between two frontiers. */
  readonly segments: readonly (readonly Removal[])[];
  /** What the next move would make a placeholder; it may be stored ahead. */
  readonly upcoming: readonly Removal[];
  /** Messages that leave the view, ascending. */
  readonly dropped: readonly number[];
  /** What a summary is to stand for. */
  readonly prefix?: SummarizedPrefix;
  /** What leaves the view beside that; it stays where it is not known to be kept. */
  readonly trimmed?: TrimmedSpan;
  /**
   * What the next move would have a summary stand for, where that is known already and likely to be
   * needed.
   */
  readonly next?: SummarizedPrefix;
}
