/** The input and the result of a plan. */
import type { History } from '../conversation/history.ts';
import type { KeptReasonings } from '../conversation/kept-reasoning.ts';
import type { Digest, RefNamer } from '../conversation/refs.ts';
import type { ContentFacts } from '../edits/compact.ts';
import type { WrittenPreviews } from '../edits/preview.ts';
import type { Removal } from '../edits/removal.ts';
import type { ShownSummary, SummaryWords } from '../edits/shown-summary.ts';
import type { SummarizedPrefix, TrimmedSpan } from '../edits/summarize.ts';
import type { TokenMeasure } from '../models/facts.ts';
import type { ModelTerms } from '../models/terms.ts';
import type { Replay } from '../replay/frontier.ts';
import type { KeptRounds } from '../replay/kept-rounds.ts';
import type { Miss } from '../replay/misses.ts';
import type { TokenCounter } from '../tokens/tokens.ts';

/** The part of a request that a plan needs. */
export interface PlanRequest {
  readonly history: History;
  /** Of the model that the request names. */
  readonly terms: ModelTerms;
  /** How tokens are counted. Absent: a count is at most the number of bytes. */
  readonly measure?: TokenMeasure;
  /** The caller's limit for the answer in tokens, or 0 without one. */
  readonly answerTokens: number;
  /** All triggers count as met. */
  readonly force: boolean;
  /** Whether the whole conversation is compacted, including its last turn. */
  readonly whole?: boolean;
  /** The most tokens that the upstream accepts, if it has stated that by refusing a request. */
  readonly limit?: number | undefined;
  /**
   * The most bytes of a body that the upstream takes. Absent: no limit is known, or the request is
   * far below it.
   */
  readonly byteLimit?: number | undefined;
  /** Bytes of the tool definitions. */
  readonly toolBytes?: number;
  /** Whether the model can fetch removed contents. */
  readonly retrieval?: boolean;
  /**
   * The requests at which the caller's choice of tools kept the model from fetching all the same,
   * as the lengths of their arrays, ascending. Absent: none.
   */
  readonly closed?: readonly number[] | undefined;
  /**
   * The requests that came when the upstream's cache was cold, likewise. Absent: no move is made
   * for that.
   */
  readonly cold?: readonly number[] | undefined;
  /** The memory in use, for a mode that is planned around it. */
  readonly memory?: UsedMemory | undefined;
  /**
   * Precis's rounds that are kept of its answers, in the array's order. `absent`: it is not known
   * which there are.
   */
  readonly rounds?: readonly KeptRounds[] | 'absent' | undefined;
  /** The reasoning that is kept of answers in the array. Absent: none is. */
  readonly reasoning?: KeptReasonings | undefined;
}

/**
 * A memory that replaces the beginning of a conversation. It must be known before the plan, since
 * the array does not determine which memory is ready.
 */
export interface UsedMemory extends SummaryWords {
  /** The messages before this index are covered. */
  readonly end: number;
  /** Whether the previous request used another memory. */
  readonly moved: boolean;
}

/** Budgets in tokens for a model. */
export interface Budgets {
  /** Over this, all phases may run. Absent if only a soft budget is set. */
  readonly hard?: number;
  /** Over this, only the reversible phases run. */
  readonly soft?: number;
  /** See `ModelTerms`. Absent if the strategy says its own budget. */
  readonly goal?: number;
  readonly window: number;
  /**
   * Over this, all of a request costs more. Absent if the price has no step, or if the strategy
   * says its own budget.
   */
  readonly step?: number;
}

/** What a plan takes from its isolate: functions and caches, never state. */
export interface PlanContext {
  readonly counter: TokenCounter;
  /** The tenant's refs. Absent if nothing can be stored. */
  readonly refs: RefNamer | undefined;
  readonly digest: Digest;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
  /** Kinds of elements whose outputs stay whole, since the upstream has refused them edited. */
  readonly unedited?: ReadonlySet<string> | undefined;
}

/** A plan, with what it needs from storage for its view, and for the next move. */
export interface Planned {
  readonly replay: Replay;
  /**
   * Contents to be written, since placeholders replace them. Grouped by segment: the units between
   * two frontiers.
   */
  readonly segments: readonly (readonly Removal[])[];
  /**
   * The messages whose outputs no earlier request can have offloaded, where a digest may replace
   * them. Only these get one: any other shows what it has shown before. Absent: none has a digest.
   */
  readonly newlyOffloaded?: ReadonlySet<number>;
  /** The messages to be summarized. */
  readonly prefix?: SummarizedPrefix;
  /** The messages to be trimmed. They stay if their transcript is not known to be written. */
  readonly trimmed?: TrimmedSpan;
  /**
   * What the next move will need. No view depends on it, so it is computed when it is first asked
   * for, after the answer. Absent in modes that prepare nothing.
   */
  readonly ahead?: () => NextNeeds;
  /** Messages that leave the view, ascending. */
  readonly dropped: readonly number[];
  /** Contents that were asked for again after they had left the view. Absent if there are none. */
  readonly misses?: readonly Miss[];
  /** Thinking that is bound to what has changed. Absent if none has left. */
  readonly thinking?: LeftThinking;
  /** Absent where no limit of bytes has shaped the view. */
  readonly bytes?: PlannedBytes;
  /** The summary of the prefix, if its text was known before the plan. */
  readonly shown?: ShownSummary | undefined;
  /** Whether the moves so far cost more than they save. Absent: not asked, or they don't. */
  readonly isDearer?: boolean;
  /** Present if the view exceeds its budget and the strategy asks for an error. */
  readonly exceeded?: BudgetExceeded | undefined;
}

/** The bytes of messages and tools, where the upstream's limit has shaped the view. */
interface PlannedBytes {
  /** Of the caller's array, and of the view. */
  readonly before: number;
  readonly after: number;
  readonly limit: number;
  /** How many messages the array had each time when media left for it. */
  readonly moves: readonly number[];
}

interface LeftThinking {
  /** Of the messages before this one. */
  readonly from: number;
  /** With the blocks of messages that have left it too. */
  readonly blocks: number;
  /** Those that had left before the newest move. */
  readonly blocksBefore: number;
  readonly removals: readonly Removal[];
}

/** The size of a view that exceeds its budget, in tokens. */
export interface BudgetExceeded {
  readonly tokens: number;
  readonly budget: number;
}

/** What may be stored and made ahead of the next move. */
export interface NextNeeds {
  /** Contents that it would replace; empty if it is not near. */
  readonly upcoming: readonly Removal[];
  /** The messages that it would summarize, if they are known and likely to be needed. */
  readonly next?: SummarizedPrefix;
}
