/** Streams an answer with retrieval: one stream for the caller, made of several answers. */

import { concat } from '../lib/bytes.ts';
import type {
  AnswerFault,
  AnswerListener,
  AnswerStream,
  JoinedStreams,
} from '../protocol/answers/answer-format.ts';
import { AnswerPipeline } from '../protocol/answers/answer-pipeline.ts';
import { type Frame, FrameSplitter } from '../protocol/answers/sse.ts';
import type { ToolTurn } from '../protocol/answers/tool-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { EventFormat } from '../upstream/stream.ts';
import type { Rounds } from './rounds.ts';

/**
 * The longest frame that is read, in bytes. An image fits. A longer frame can't be read, and could
 * contain a call of our tools.
 */
const LONGEST_FRAME = 16 * 1024 * 1024;

const TOO_LONG = fault(
  `The upstream has sent an event of more than ${LONGEST_FRAME} bytes in an answer that must be read.`,
);
const NO_STREAM = 'The upstream has not gone on with a stream.';

export class RetrievalStream extends AnswerPipeline implements EventFormat {
  readonly joined: JoinedStreams;
  private readonly rounds: Rounds;
  private readonly check: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>;
  private isTooLong = false;

  /**
   * @param check of each further answer: returns it, or the error that ends the caller's stream
   * @param gather see `AnswerPipeline`
   */
  constructor(
    joined: JoinedStreams,
    report: AnswerStream,
    rounds: Rounds,
    check: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>,
    gather?: AnswerListener,
  ) {
    super(report, gather, LONGEST_FRAME);
    this.joined = joined;
    this.rounds = rounds;
    this.check = check;
  }

  override push(chunk: Uint8Array): Uint8Array[] {
    const blocks = this.splitter.blocks(chunk);
    // The last one is only a piece.
    if (this.splitter.inside) {
      blocks.pop();
      this.isTooLong = true;
    }
    return blocks.flatMap((block) => this.passed(block));
  }

  /** The next answer of the stream; undefined if there is none, or not yet. */
  next(): Promise<UpstreamAnswer | Uint8Array> | undefined {
    const { turn, isThrough } = this.joined;
    if (this.isTooLong && !isThrough) return Promise.resolve(this.error(TOO_LONG));
    if (!turn || !isThrough) return undefined;
    this.isTooLong = false;
    this.joined.begin();
    this.splitter = new FrameSplitter(LONGEST_FRAME);
    return this.ask(turn);
  }

  /** What the last event of the caller's answer waits for. */
  hold(): Promise<void> | undefined {
    return this.isWhole ? this.rounds.end({ isComplete: true, said: this.joined.said }) : undefined;
  }

  abandon(): void {
    this.rounds.abandon();
  }

  /** No piece of a frame was passed on, so none has to be ended first. */
  override error(error: AnswerFault): Uint8Array {
    return this.report.error(error);
  }

  override keepalive(): Uint8Array | undefined {
    const comment = super.keepalive();
    const events = comment && this.show(this.joined.keepalive?.() ?? []);
    return events && events.length > 0 ? concat(events.map(({ bytes }) => bytes)) : comment;
  }

  protected override join(frame: Frame): Frame[] {
    // Frames after the end of a turn belong to no answer.
    return this.joined.isThrough ? [] : this.joined.take(frame);
  }

  protected override goesOn(): boolean {
    this.joined.end();
    return this.joined.isThrough;
  }

  private async ask(turn: ToolTurn): Promise<UpstreamAnswer | Uint8Array> {
    const next = await this.check(this.rounds.next(turn));
    return 'response' in next ? next : this.error(next);
  }
}

/**
 * The error that ends a stream if a further answer can't continue it, in the upstream's words.
 *
 * @param isAnswer whether the status is a success. The body is then an answer, and is not quoted.
 */
export function faultOf(body: Uint8Array, isAnswer: boolean): AnswerFault {
  let text = new TextDecoder().decode(body);
  try {
    const { error } = JSON.parse(text);
    if (typeof error === 'object' && error !== null) return error;
    // Some upstreams send the error as a string.
    if (typeof error === 'string') text = error;
  } catch {}
  return fault(isAnswer ? NO_STREAM : `The upstream has refused to go on: ${text.slice(0, 500)}`);
}

function fault(message: string): AnswerFault {
  return { message, type: 'server_error', param: null, code: null };
}
