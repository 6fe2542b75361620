/** The answers of one protocol, as the routes relay them. */

import type { Report, TokenUsage } from '../../memory/plan/report.ts';

import type { Media } from '../held-media.ts';
import { levels } from '../json/outline.ts';
import { type Member, scanObject, withMembers } from '../json/spans.ts';
import type { Protocol } from '../protocol.ts';
import type { LongerBody } from '../tools.ts';
import type { Block, Frame } from './sse.ts';
import type { FirstFrames } from './stream-beginning.ts';
import type { ToolResult, ToolTurn } from './tool-turn.ts';

/** Reads a stream on its way to the caller. */
export interface AnswerListener extends Pick<AnswerGatherer, 'skip' | 'push'> {
  /** Called once, when the answer is complete. Not called if it breaks off. */
  complete(): void;
  /** The answer is too long to be read: nothing more of it is gathered. */
  forget?(): void;
}

/**
 * Why an answer ends before it is complete, in OpenAI's shape. An upstream's own error may have
 * more fields.
 */
export interface AnswerFault {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** An error that a caller finds in a stream, instead of an answer. */
export interface StreamFault extends AnswerFault {
  /** The status of HTTP that it has outside of streams. */
  readonly status?: number;
}

/** How a stream treats callers who know less, or more, than its protocol asks of them. */
export interface StreamForm {
  /**
   * Whether an error is reported as an answer that has failed, where the protocol has such answers.
   */
  readonly failsAsAnswer?: boolean;
  /**
   * Where an event may be a sign of life: as long as the answer has no content, since clients may
   * take the event for the whole answer so far; or anywhere, for clients that don't read it.
   * Absent: only comments are.
   */
  readonly livesBy?: 'events_before_content' | 'events';
  /** Whether the stream has a usage that its caller has not asked for, and does not get. */
  readonly hidesUsage?: boolean;
}

/** Rewords an error of the upstream for the caller; undefined leaves it as it is. */
export type Reword = (error: Readonly<Record<string, unknown>>) => AnswerFault | undefined;

/** Recognizes how the stream of an answer ends, and adds the report there. */
export interface AnswerStream {
  /** The longest frame that is read, in bytes. A longer one passes in pieces. */
  readonly longestFrame: number;
  /** Whether the last event has been seen. */
  readonly isOver: boolean;
  /** Whether the answer has come to its end without an error. */
  readonly isWhole: boolean;
  /**
   * Takes whole frames that stay as they are and don't matter here. Returns false if one of them
   * may matter: then each has to be pushed.
   */
  skip(block: Block): boolean;
  /** The frames that replace one frame. */
  push(frame: Frame): Frame[];
  /** The upstream has closed the stream. */
  end(): { readonly complete: boolean; readonly frames: Frame[] };
  /** The frames that end the stream with an error, after those that still waited. */
  error(fault: StreamFault): Uint8Array;
  /** An event without meaning, as a sign of life; undefined if only a comment can be one now. */
  keepalive?(): Frame | undefined;
}

/** Gathers the text of a streamed answer. */
export interface AnswerGatherer {
  /**
   * Whether whole frames don't matter here and need not be pushed. Absent if any frame may matter.
   */
  skip?(block: Block): boolean;
  /** Takes each frame of the answer. */
  push(frame: Frame): void;
  /** The text; undefined if the answer is incomplete, calls tools or is empty. */
  text(): string | undefined;
}

/** An answer as a caller gets it. */
export interface SaidAnswer {
  /** Its message or items: JSON, separated by commas. */
  readonly json: string;
  /** Whether clients send it back so. Otherwise it has no more than texts and the ids of calls. */
  readonly isVerbatim: boolean;
}

/** Several answers of a model, joined into the one that the caller sees. */
export interface JoinedAnswers {
  /** The caller's answer; undefined before it is complete. */
  readonly said?: SaidAnswer | undefined;
  /** The sum over all answers; undefined if the upstream reports no usage. */
  readonly usage: TokenUsage | undefined;
  /**
   * The id of the last answer, if the upstream has stored it and the caller sees another one. From
   * this id the conversation can continue.
   */
  readonly lastId?: string | undefined;
  /**
   * Whether the upstream says that it stores nothing; undefined before the first answer, and in
   * protocols that can't say it.
   */
  readonly isUnstored?: boolean | undefined;
}

/** Joins answers that are JSON bodies. */
export interface JoinedBodies extends JoinedAnswers {
  /** The turn to answer next, or the caller's body. */
  take(body: Uint8Array): ToolTurn | Uint8Array;
}

export interface JoinedStreams extends JoinedAnswers {
  /** The turn to answer before the stream goes on; undefined if this answer is the last. */
  readonly turn: ToolTurn | undefined;
  /** Whether an answer with such a turn is complete. */
  readonly isThrough: boolean;
  /** The frames that replace one frame. */
  take(frame: Frame): Frame[];
  /** The upstream has closed the stream of its answer. */
  end(): void;
  begin(): void;
  /** Frames that keep a silent stream alive; empty if only a comment can. */
  keepalive?(): Frame[];
  /** Frames that wait for more of an answer that has broken off. Absent if none ever wait. */
  release?(): Frame[];
  /**
   * The answer is too long to be read. What it says is no longer gathered, and none of its calls is
   * answered. Absent if no more is gathered than its last event has.
   */
  forget?(): void;
}

/** How the caller sees what the model says in all of its answers. */
export interface JoinedForm {
  /**
   * Whether the request asks for JSON, which several texts in a row are not. Then the caller sees
   * the text of the last answer alone.
   */
  readonly isJson?: boolean | undefined;
  /** Whether reasoning in encrypted form is hidden, since the caller has not asked for it. */
  readonly isHidden?: boolean | undefined;
  /**
   * Whether the API binds reasoning to what is before it, where Precis's rounds won't be when it
   * comes back.
   */
  readonly isBound?: boolean | undefined;
  /** Whether the request asks the upstream not to store its answer. The answer may contradict. */
  readonly isUnstored?: boolean | undefined;
}

/**
 * Makes the joined answers of one request.
 *
 * @param names of our tools
 * @param mayAnswer whether calls of our tools are still answered; otherwise they are dropped
 */
export type Joining<Joined> = (
  names: ReadonlySet<string>,
  mayAnswer: () => boolean,
  form?: JoinedForm,
) => Joined;

/** How one protocol writes its answers. */
export interface AnswerFormat {
  readonly name: Protocol;
  /**
   * @param report called when the answer is complete; absent if no report is added
   * @param reword absent if the upstream's errors are passed on unchanged
   * @param form absent if the stream is treated as its protocol says
   */
  stream(report: (() => Report) | undefined, reword?: Reword, form?: StreamForm): AnswerStream;
  /** For one stream. Delays nothing that a caller can read as an answer. */
  begin(): FirstFrames;
  gather(): AnswerGatherer;
  /** The text of a JSON answer, by the rules of `gather`. */
  text(body: Uint8Array): string | undefined;
  /** Whether a JSON answer is an error, or has ended with one. */
  hasFailed(body: Uint8Array): boolean;
  readonly joinStreams: Joining<JoinedStreams>;
  readonly joinBodies: Joining<JoinedBodies>;
  /**
   * The request body with a turn and its results appended.
   *
   * @param results in the order of the turn's calls
   */
  goOn(body: Uint8Array, turn: ToolTurn, results: readonly ToolResult[]): LongerBody;
  /** Whether a result can carry media. */
  carries(media: Media): boolean;
}

/** The report as a member of an answer. */
export function reportMember(report: Report): Member {
  return { key: 'memory', json: JSON.stringify(report) };
}

/** A JSON answer with the report as its last member. Anything but an object is left as it is. */
export function addReport(answer: Uint8Array, report: Report): Uint8Array {
  const root = scanObject(answer, levels(1));
  return root ? withMembers(answer, root, [reportMember(report)]) : answer;
}
