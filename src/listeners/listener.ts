/**
 * What a feature may hear of one call, in this order: sent → settled → begins → completes → ended.
 * A listener changes nothing but the answer's headers, and what it adds to the report.
 */
import type { Report } from '../memory/plan/report.ts';
import type { RunPlan } from '../memory/run/build-event.ts';
import type { AnswerEnd, RunEvent } from '../memory/run/event.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Call } from '../request/call.ts';
import type { ErrorCode } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { Rounds } from '../retrieval/rounds.ts';
import type { AddedMessages } from '../view/added-messages.ts';
import type { MadeView } from '../view/made-view.ts';

/** The protocol of a call, and whether it asks the model or is compacted without it. */
export type CallForm = Pick<RunEvent, 'protocol' | 'kind'>;

/** Status and headers of the caller's answer. */
export interface Head {
  readonly status: number;
  readonly headers: Headers;
}

/** An attempt at the answer, as it is sent. */
export interface SentBody {
  readonly body: Uint8Array;
  /** The usage of its answers, which come later. Empty if no listener reads it. */
  readonly usages: readonly UsageTail[];
  /** What was planned for it, which is all that is known of one that gets no answer. */
  readonly plan?: RunPlan;
}

/** A request to the model, with the answer that the caller gets. */
export interface AskedModel extends SentBody {
  /** The view, with the report of the answer. */
  readonly made: MadeView;
  /** The messages that were sent beside it. */
  readonly added: AddedMessages['messages'];
  readonly answer: Pick<Response, 'ok' | 'status'>;
  /** They go on until the answer is complete. Absent if the model is given no tools of Precis. */
  readonly rounds?: Rounds | undefined;
  /** Present if the body was sent unchanged: why nothing could be planned for it, if so. */
  readonly observed?: { readonly error: string | undefined };
}

/** The same without its body, since an answer can last for minutes. */
export type AnsweredModel = Omit<AskedModel, 'body'>;

/** What was planned for a call, and what has been sent. */
export interface SettledCall {
  /** Of an observed request: what its strategy would have done. */
  readonly plan: RunPlan;
  /** Absent if no model is asked. */
  readonly asked?: AskedModel;
}

export interface CompleteAnswer {
  /** Undefined if it calls tools, or is empty. */
  readonly text: string | undefined;
}

export interface CallEnd extends CompleteAnswer {
  /** `error`: the answer is an error, of the upstream or of Precis, or its stream ends with one. */
  readonly how: AnswerEnd;
  /** Undefined if the answer ended before it began. */
  readonly head: Head | undefined;
  /** Undefined if no model was asked, or its call was not settled. */
  readonly asked: AnsweredModel | undefined;
  /** The code of Precis's own error, if that is the answer. */
  readonly refusal: ErrorCode | undefined;
}

/** Whatever a listener throws is logged, and changes nothing for the caller. */
export interface CallListener {
  /** Whether the usage of the upstream's answers is read for it. */
  readonly readsUsage?: boolean;
  /** Whether the answer is read for it (see `completes`). Asked when the answer begins to come. */
  readonly readsAnswer?: boolean;
  /** A body has been sent. A later attempt replaces it. */
  sent?(body: SentBody): void;
  /** Fields for the report of a view whose body has been sent. The answer waits for them. */
  reports?(made: MadeView): Promise<Partial<Report>>;
  /** It is known which attempt the caller gets the answer of. */
  settled?(call: SettledCall): void;
  /** The caller's answer begins. Its headers may still be changed. */
  begins?(head: Head, report: Report): void;
  /**
   * A successful answer is complete, if it is read. The last event of a stream has not gone out
   * yet.
   */
  completes?(answer: CompleteAnswer): void;
  /** Called once, however the call ends. The runtime waits for the work that it returns. */
  ended?(end: CallEnd): void | Promise<void>;
}

/** A feature of every call, read or not; undefined where it is off. */
export type ScopeFeature = (scope: RequestScope, protocol: CallForm['protocol']) => CallListener | undefined;

/** A feature of calls that were read; undefined where it is off for this one. */
export type CallFeature = (call: Call, form: CallForm) => CallListener | undefined;
