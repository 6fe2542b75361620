/** Streams an answer with retrieval: one stream for the caller, made of several answers. */

import { asObject, parseJson } from '../lib/json.ts';
import type { AnswerFault, JoinedStreams } from '../protocol/answers/answer-format.ts';
import type { JoiningStage } from '../protocol/answers/answer-pipeline.ts';
import type { Frame } from '../protocol/answers/sse.ts';
import type { ToolTurn } from '../protocol/answers/tool-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { Rounds } from './rounds.ts';

/**
 * The longest frame that is read, in bytes. An image fits. A longer frame can't be read, and could
 * contain a call of our tools.
 */
const LONGEST_FRAME = 16 * 1024 * 1024;

const TOO_LONG = fault(
  `The upstream has sent an event of more than ${LONGEST_FRAME} bytes, or an endless one, in an answer that must be read.`,
);
const NO_STREAM = 'The upstream did not continue with a stream.';

export class RoundsStage implements JoiningStage<UpstreamAnswer> {
  readonly longestFrame = LONGEST_FRAME;
  private readonly joined: JoinedStreams;
  private readonly rounds: Rounds;
  private readonly check: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>;
  private isTooLong = false;
  private isForgotten = false;

  /** @param check of each further answer: returns it, or the error that ends the caller's stream */
  constructor(
    joined: JoinedStreams,
    rounds: Rounds,
    check: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>,
  ) {
    this.joined = joined;
    this.rounds = rounds;
    this.check = check;
  }

  /** Each frame may be part of a call. */
  skip(): boolean {
    return false;
  }

  push(frame: Frame): Frame[] {
    // Frames after the end of a turn belong to no answer.
    return this.joined.isThrough ? [] : this.joined.take(frame);
  }

  leaveOut(): void {
    this.isTooLong = true;
  }

  end(): boolean {
    this.joined.end();
    return this.joined.isThrough;
  }

  keepalive(): Frame[] {
    return this.joined.keepalive?.() ?? [];
  }

  release(): Frame[] {
    return this.joined.release?.() ?? [];
  }

  forget(): void {
    this.isForgotten = true;
    this.joined.forget?.();
  }

  next(): Promise<UpstreamAnswer | { readonly fault: AnswerFault }> | undefined {
    const { turn, isThrough } = this.joined;
    if (this.isTooLong && !isThrough) return Promise.resolve({ fault: TOO_LONG });
    if (!turn || !isThrough) return undefined;
    // A turn that is not known in full can't be answered.
    if (this.isForgotten && this.joined.forget) return Promise.resolve({ fault: TOO_LONG });
    this.isTooLong = false;
    this.joined.begin();
    return this.ask(turn);
  }

  hold(): Promise<void> | undefined {
    return this.rounds.end({ said: this.joined.said });
  }

  abandon(): void {
    this.rounds.abandon();
  }

  private async ask(turn: ToolTurn): Promise<UpstreamAnswer | { readonly fault: AnswerFault }> {
    const next = await this.check(this.rounds.next(turn));
    return 'response' in next ? next : { fault: next };
  }
}

/**
 * The error that ends a stream if a further answer can't continue it, in the upstream's words.
 *
 * @param isAnswer whether the status is a success. The body is then an answer, and is not quoted.
 */
export function faultOf(body: Uint8Array, isAnswer: boolean): AnswerFault {
  const text = new TextDecoder().decode(body);
  const { error } = asObject(parseJson(text));
  if (typeof error === 'object' && error !== null) return error as AnswerFault;
  // Some upstreams send the error as a string.
  const words = typeof error === 'string' ? error : text;
  return fault(isAnswer ? NO_STREAM : `The upstream has refused to go on: ${words.slice(0, 500)}`);
}

function fault(message: string): AnswerFault {
  return { message, type: 'server_error', param: null, code: null };
}
