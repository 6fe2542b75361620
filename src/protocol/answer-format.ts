/** The answers of one protocol, as the routes relay them. */

import type { Report, TokenUsage } from '../memory/plan/report.ts';
import { levels } from './json/outline.ts';
import { memberSplices, scanObject, splice } from './json/spans.ts';
import type { ToolTurn } from './tool-turn.ts';

/** Who listens to a stream beside its caller. */
export interface AnswerListener {
  /** Takes the data of each event. */
  push(data: string): void;
  /** Is told once that the stream is complete. Not called for one that broke off. */
  complete(): void;
}

/**
 * Why an answer ends before it is whole, in OpenAI's shape. An upstream's own may say more than
 * these fields.
 */
export interface AnswerFault {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/**
 * What a caller is told instead of an error of the upstream; undefined where that is told as it
 * came.
 */
export type Retell = (error: Readonly<Record<string, unknown>>) => AnswerFault | undefined;

/** A stream of events on its way to the caller (see `EventFormat` in `upstream/stream.ts`). */
export interface AnswerStream {
  push(chunk: Uint8Array): Uint8Array[];
  end(): { readonly complete: boolean; readonly frames: Uint8Array[] };
  /** The frame that ends the stream. */
  error(fault: AnswerFault): Uint8Array;
  keepalive(): Uint8Array | undefined;
  readonly isOver: boolean;
}

/** Looks at how a stream begins. */
export interface StreamBeginning {
  /** The JSON of the error with which the stream begins; undefined where it begins otherwise. */
  readonly error: string | undefined;
  /** Takes bytes. Returns whether it is known now. */
  push(chunk: Uint8Array): boolean;
  /** The stream has ended. */
  end(): void;
}

/** Gathers the text of a streamed answer. */
export interface AnswerGatherer {
  /** @param data of one event of the stream */
  push(data: string): void;
  /** The text; undefined when the answer is not whole, calls tools, or says nothing. */
  text(): string | undefined;
}

/** Several answers of a model as the one that its caller sees. */
export interface JoinedAnswers {
  /** Of all answers so far; undefined where the upstream counts nothing. */
  readonly usage: TokenUsage | undefined;
  /**
   * The id of the last answer, where the upstream has stored it and the caller sees another one: it
   * is that from which the conversation can go on by id.
   */
  readonly lastId?: string | undefined;
  /**
   * Whether the upstream has said that it stores nothing; undefined where no answer has said
   * anything yet, or the protocol has no word for it.
   */
  readonly isUnstored?: boolean | undefined;
}

/** Each answer one JSON body. */
export interface JoinedBodies extends JoinedAnswers {
  /** The turn that is to be answered next, or the body that the caller gets. */
  take(body: Uint8Array): ToolTurn | Uint8Array;
}

/** Each answer a stream. */
export interface JoinedStreams extends JoinedAnswers {
  /**
   * The turn that is to be answered before the caller's stream can end; undefined when the end of
   * this one is that.
   */
  readonly turn: ToolTurn | undefined;
  /** Whether the answer that holds a turn has said its last word. */
  readonly isThrough: boolean;
  /** What becomes of one frame. @param data of the frame's event */
  take(data: string, frame: Uint8Array): Uint8Array[];
  /** The upstream has ended its answer, with or without a last word. */
  end(): void;
  /** The next answer is coming. */
  begin(): void;
  /**
   * Frames that say to a caller who hears nothing that the answer is coming; empty where only a
   * comment can.
   */
  keepalive?(): Uint8Array[];
}

/** How the caller sees the model's reasoning. */
export interface ReasoningForm {
  /** Whether its encrypted form is hidden from the caller, who has not asked for it. */
  readonly isHidden?: boolean | undefined;
  /**
   * Whether the request asks the upstream to store nothing, as far as its answer does not say
   * otherwise.
   */
  readonly isUnstored?: boolean | undefined;
}

/**
 * Whose tools are called.
 *
 * @param names of our tools
 * @param mayAnswer whether calls are answered still; else they are dropped
 */
export type Joining<Joined> = (
  names: ReadonlySet<string>,
  mayAnswer: () => boolean,
  reasoning?: ReasoningForm,
) => Joined;

export interface AnswerFormat {
  /**
   * @param report asked for when the answer is whole; absent where none is to be added
   * @param retell absent where the upstream's errors are told as they came
   */
  stream(
    report: (() => Report) | undefined,
    listener: AnswerListener | undefined,
    retell?: Retell,
  ): AnswerStream;
  /** For one stream. Waits for nothing that a caller can read as an answer. */
  begin(): StreamBeginning;
  gather(): AnswerGatherer;
  /** The text of a JSON answer, as of a gathered one. */
  text(body: Uint8Array): string | undefined;
  readonly joinStreams: Joining<JoinedStreams>;
  readonly joinBodies: Joining<JoinedBodies>;
  /**
   * A body that went up, with a turn and its results behind all that was sent before.
   *
   * @param results in the order of the turn's calls
   */
  goOn(body: Uint8Array, turn: ToolTurn, results: readonly string[]): Uint8Array;
}

/**
 * A JSON answer with the report as its last member. Anything that is not a JSON object is returned
 * as it came.
 */
export function addReport(answer: Uint8Array, report: Report): Uint8Array {
  const root = scanObject(answer, levels(1));
  if (!root) return answer;
  const whole = { start: 0, end: answer.length };
  const member = { key: 'memory', json: JSON.stringify(report) };
  return splice(
    answer,
    whole,
    memberSplices(root, () => false, [member]),
  );
}
