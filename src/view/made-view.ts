/** A view that is being made, and one that is. */

import type { History } from '../memory/conversation/history.ts';
import type { Report } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import type { Call } from '../request/call.ts';
import type { LearnedLimit } from '../upstream/learned-limits.ts';
import type { OfferedTools } from './offer-tools.ts';

export interface MadeView {
  /** Absent when the request goes up as it came. */
  readonly view: View | undefined;
  /**
   * The tools of ours that go up with the request, whatever the view; absent where the model
   * fetches nothing.
   */
  readonly tools?: OfferedTools | undefined;
  /** The shape of the caller's array, as far as it was read. */
  readonly history?: History;
  readonly report: Report;
  /**
   * Writes what the next move would remove. To be called when the upstream has accepted the
   * caller's key.
   */
  prepareNext?(): Promise<void>;
  /**
   * Remembers the round that an answer has closed. To be called with the text of a whole answer
   * that calls no tool, or without one for what the array alone holds.
   */
  remember?(answer: string | undefined): Promise<void>;
}

export interface MakeViewOptions {
  /** Triggers count as met. */
  readonly force: boolean;
  /** Nothing is stored: refs are named as if they were written. */
  readonly dryRun: boolean;
  /** Tokens are counted even where nothing will be done. */
  readonly count: boolean;
  /**
   * Whether the view is all that the caller wants: then a summary is made also where it can't be
   * kept.
   */
  readonly expressly: boolean;
  /** See `PlanRequest`. */
  readonly whole?: boolean;
  /** Whether the upstream has just judged the request, and so accepted its key. */
  readonly isAnswered?: boolean;
  /** What the upstream has just said that it takes; absent: what it is known to take. */
  readonly limit?: LearnedLimit;
}

/** A call whose view is being made. */
export interface ViewCall extends Call {
  readonly history: History;
  readonly options: MakeViewOptions;
}
