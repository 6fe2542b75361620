/** The input and the result of making a view. */

import type { History } from '../memory/conversation/history.ts';
import type { KeptReasonings } from '../memory/conversation/kept-reasoning.ts';
import type { BudgetExceeded, PlanRequest } from '../memory/modes/planned.ts';
import type { Explanation } from '../memory/plan/explanation-schema.ts';
import type { Report } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import type { Refusal } from '../memory/replay/reasons.ts';
import type { OwnCompaction } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import type { TextState } from '../storage/conversation/memories.ts';
import type { LearnedLimit } from '../upstream/learned-limits.ts';
import type { SentBefore } from '../upstream/sent-requests.ts';
import type { OfferedTools } from './offer-tools.ts';

export interface MadeView {
  /** Absent if the request is forwarded unchanged. */
  readonly view: View | undefined;
  /**
   * Our tools that are sent with the request, whatever the view. Absent if the model fetches
   * nothing.
   */
  readonly tools?: OfferedTools | undefined;
  /** See `Plan`. Absent if nothing was planned. */
  readonly repeated?: number;
  /** The shape of the caller's array, as far as it was read. */
  readonly history?: History;
  readonly report: Report;
  /** Trigger and frontier of the plan alone. Absent if nothing was planned. */
  readonly planned?: Pick<Report, 'trigger' | 'frontier'>;
  /**
   * How many messages the array had when the frontier last moved; 0 if it never has. Absent where
   * the array does not determine it.
   */
  readonly movedAt?: number | undefined;
  /** There: the view of an array with fewer messages can't have had what this one begins with. */
  readonly shownFrom?: number | undefined;
  /** Blocks of thinking that had left before the plan's newest move. Absent: it leaves out none. */
  readonly leftBefore?: number;
  /** See `PlanRequest`. Undefined if they could not be read, or are of no matter. */
  readonly cold?: readonly number[] | undefined;
  /** Whether it could not be read what earlier views of the array followed from. */
  readonly isUnread?: boolean;
  /** The request before, as it was known when the first view of this request was made. */
  readonly before?: SentBefore | undefined;
  /** The limit of the upstream that the view was planned within. */
  readonly limit?: LearnedLimit | undefined;
  /** The limit of bytes that has shaped the view. */
  readonly byteLimit?: number | undefined;
  /** See `PlanContext`. */
  readonly unedited?: ReadonlySet<string> | undefined;
  /** See `MakeViewOptions`. */
  readonly unsigned?: boolean;
  /** Whether instructions of a field of their own go as a message instead. */
  readonly movesInstructions?: boolean;
  /** The phases that were due and not taken. Absent if nothing was planned. */
  readonly refused?: readonly Refusal[];
  /** Precis's rounds that the view was planned with. Undefined where none can be kept. */
  readonly rounds?: PlanRequest['rounds'];
  /** The kept reasoning that the view was planned with. */
  readonly reasoning?: PlanRequest['reasoning'];
  /** Present if it was asked for and a view was planned. */
  readonly explanation?: Explanation;
  /**
   * Writes what the next move would remove. Call it once the upstream has accepted the caller's
   * key.
   */
  prepareNext?(): Promise<void>;
  /** Why the view is refused. Then it is none. */
  readonly exceeded?: BudgetExceeded | undefined;
  /**
   * Remembers the round that an answer has closed. Call it with the text of a complete answer
   * without tool calls, or without a text for the rounds in the array alone. Never rejects.
   *
   * @returns what became of the order for a memory; undefined if none is due or could be ordered
   */
  remember?(answer: string | undefined): Promise<TextState | undefined>;
}

/** Where reasoning is kept that the array has no place for. */
export interface ReasoningSource {
  /**
   * Finds it for the answers in an array. Undefined where none is kept of the request. Never
   * throws.
   *
   * @param history of the array, if it has been read
   * @param offersTools whether the model is given tools of Precis
   */
  find(history: History | undefined, offersTools: boolean): Promise<KeptReasonings | undefined>;
}

export interface MakeViewOptions {
  /** Triggers count as met. */
  readonly force: boolean;
  /** Nothing is stored. Refs are named as if they were written. */
  readonly dryRun: boolean;
  /** Tokens are counted even if nothing is edited. */
  readonly count: boolean;
  /** Whether the caller wants the view alone. Then a summary is made even if it can't be stored. */
  readonly viewOnly: boolean;
  /** Whether Precis's rounds are left out, since the view goes back to the caller. */
  readonly bare?: boolean;
  /** Absent: none is kept. */
  readonly reasoning?: ReasoningSource | undefined;
  /** Whether the plan is explained. */
  readonly explain?: boolean;
  /** See `PlanRequest`. */
  readonly whole?: boolean;
  /** Whether the upstream has just counted the request, and so accepted its key. */
  readonly isAnswered?: boolean;
  /** The limit that the upstream has just stated. Absent: the one that is known already, if any. */
  readonly limit?: LearnedLimit | 'none';
  /** The limit of bytes that the upstream has just shown, likewise. */
  readonly byteLimit?: number | 'none';
  /** Whether a summary that the API has signed is shown as one of Precis's texts. */
  readonly unsigned?: boolean | undefined;
  /** See `PlanContext`. Absent: those that are known already, if any. */
  readonly unedited?: ReadonlySet<string> | undefined;
  /** See `withMoved`. */
  readonly refused?: MadeView;
  /** See `MemoryNeed`. Such a view makes the next memory due. */
  readonly anew?: boolean;
}

/** A call whose view is being made. */
export interface ViewCall extends Call {
  readonly history: History;
  readonly options: MakeViewOptions;
  /** See `MadeView`. */
  readonly tools: OfferedTools | undefined;
  /** The summaries that the upstream's API makes and signs. Undefined if the view has none. */
  readonly own: OwnCompaction | undefined;
}
