/** Streams an answer with retrieval in it: one stream for the caller, made of several answers. */
import type { AnswerFault, AnswerListener, AnswerStream, JoinedStreams } from '../protocol/answer-format.ts';
import { AnswerPipeline } from '../protocol/answer-pipeline.ts';
import { concat } from '../protocol/json/spans.ts';
import { type Frame, FrameSplitter } from '../protocol/sse.ts';
import type { ToolTurn } from '../protocol/tool-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { EventFormat } from '../upstream/stream.ts';
import type { Rounds } from './rounds.ts';

/**
 * The longest frame that is read, in bytes. It has room for an image. A frame that is not read may
 * be a call of ours.
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
    const frames = this.splitter.push(chunk);
    // The last one is a piece.
    if (this.splitter.inside) {
      frames.pop();
      this.isTooLong = true;
    }
    return this.pass(frames);
  }

  /** What the stream continues with; undefined if it does not, or not yet. */
  next(): Promise<UpstreamAnswer | Uint8Array> | undefined {
    const { turn, isThrough } = this.joined;
    if (this.isTooLong && !isThrough) return Promise.resolve(this.error(TOO_LONG));
    if (!turn || !isThrough) return undefined;
    this.isTooLong = false;
    this.joined.begin();
    this.splitter = new FrameSplitter(LONGEST_FRAME);
    return this.ask(turn);
  }

  abandon(): void {
    this.rounds.abandon();
  }

  /** No piece of a frame has been passed on that would have to be ended first. */
  override error(error: AnswerFault): Uint8Array {
    return this.report.error(error);
  }

  override keepalive(): Uint8Array | undefined {
    const comment = super.keepalive();
    const events = comment && this.show(this.joined.keepalive?.() ?? []);
    return events && events.length > 0 ? concat(events) : comment;
  }

  protected override join(frame: Frame): Frame[] {
    // After the end of a turn nothing belongs to an answer.
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
  let said = new TextDecoder().decode(body);
  try {
    const { error } = JSON.parse(said);
    if (typeof error === 'object' && error !== null) return error;
    // Some say it in a text alone.
    if (typeof error === 'string') said = error;
  } catch {}
  return fault(isAnswer ? NO_STREAM : `The upstream has refused to go on: ${said.slice(0, 500)}`);
}

function fault(message: string): AnswerFault {
  return { message, type: 'server_error', param: null, code: null };
}
