/**
 * An attempt at an answer, and the reasons to make another one. A retry is another attempt, so
 * whichever attempt is relayed, its report, receipt and event are of the same view.
 */
import type { Report } from '../../memory/plan/report.ts';
import type { UsageTail } from '../../protocol/answers/usage-tail.ts';
import type { UpstreamAnswer } from '../../upstream/fetch.ts';
import type { AddedMessages } from '../../view/added-messages.ts';
import type { MadeView } from '../../view/made-view.ts';

/**
 * A part that an upstream may refuse, so that a body is sent without it: also the bridge to another
 * API, what that API has said in earlier answers, its ids there, and strict tools.
 */
export type BodyPart =
  | 'bridge'
  | 'diagnostics'
  | 'ids'
  | 'key'
  | 'marks'
  | 'outputs'
  | 'reasoning'
  | 'strict'
  | 'thinking'
  | 'usage';

export interface NextAttempt {
  readonly made: MadeView;
  readonly without: ReadonlySet<BodyPart>;
}

/** A view, the messages that are added to it, the body that was sent with both, and the answer. */
export interface Attempt extends NextAttempt {
  readonly added: AddedMessages;
  readonly sent: Uint8Array;
  readonly answer: UpstreamAnswer;
  /** The usage of its answers, as they arrive. Empty if nobody reads it. */
  readonly usages: UsageTail[];
  /** The report of the view, with the added messages and its receipt. */
  readonly report: Promise<Report>;
}

export type BodyOf = (attempt: Pick<Attempt, 'made' | 'without' | 'added'>) => { readonly body: Uint8Array };

/**
 * An error of the upstream in place of an answer, or a whole answer that another may be better
 * than.
 */
export interface Refusal {
  /** Undefined for an error in a stream; 200 for an answer that is none. */
  readonly status: number | undefined;
  /** Its body, or the event's data. */
  readonly json: string;
}

/** A reason to ask again. */
export interface Retry {
  /**
   * Whether it may help where this attempt is refused. A refusal that no retry may help with is
   * not read, and neither is an answer.
   */
  mayHelp(refused: Attempt, status: number | undefined): boolean;
  /** The attempt to make next; undefined if the refusal is about something else. */
  next(refused: Attempt, refusal: Refusal): Promise<NextAttempt | undefined>;
  /** The upstream has answered an attempt that was made since. */
  answered?(): void;
}
