/**
 * The stream of an answer with retrieval in it: one stream for the caller, however many answers it
 * is made of.
 */
import type { AnswerFault, AnswerStream, JoinedStreams } from '../protocol/answer-format.ts';
import { concat } from '../protocol/json/spans.ts';
import { dataOf, FrameSplitter } from '../protocol/sse.ts';
import type { ToolTurn } from '../protocol/tool-turn.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { EventFormat } from '../upstream/stream.ts';
import type { Rounds } from './rounds.ts';

/**
 * A frame is read up to this length, in bytes: an image may stand in one. What can't be read may be
 * a call of ours.
 */
const LONGEST_FRAME = 16 * 1024 * 1024;

const TOO_LONG = fault(
  `The upstream has sent an event of more than ${LONGEST_FRAME} bytes in an answer that must be read.`,
);
const NO_STREAM = 'The upstream has not gone on with a stream.';

export class RetrievalStream implements EventFormat {
  readonly joined: JoinedStreams;
  private readonly seen: AnswerStream;
  private readonly rounds: Rounds;
  private readonly goesOn: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>;
  private splitter = new FrameSplitter(LONGEST_FRAME);
  private isTooLong = false;

  /**
   * @param joined what the caller's stream is made of
   * @param seen the stream that the caller sees
   * @param goesOn looks at each further answer: it, or why the stream ends where it can't go on
   */
  constructor(
    joined: JoinedStreams,
    seen: AnswerStream,
    rounds: Rounds,
    goesOn: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | AnswerFault>,
  ) {
    this.joined = joined;
    this.seen = seen;
    this.rounds = rounds;
    this.goesOn = goesOn;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const frames = this.splitter.push(chunk);
    // The last one is a piece.
    if (this.splitter.inside) {
      frames.pop();
      this.isTooLong = true;
    }
    return frames.flatMap((frame) => this.frame(frame));
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const last = this.splitter.last();
    const frames = last ? this.frame(last) : [];
    this.joined.end();
    if (this.joined.isThrough) return { complete: true, frames };
    const end = this.seen.end();
    // An error follows: half a frame before it is no event of anybody's.
    return { complete: end.complete, frames: end.complete ? [...frames, ...end.frames] : [] };
  }

  next(): Promise<UpstreamAnswer | Uint8Array> | undefined {
    const { turn, isThrough } = this.joined;
    if (this.isTooLong && !isThrough) return Promise.resolve(this.seen.error(TOO_LONG));
    if (!turn || !isThrough) return undefined;
    this.isTooLong = false;
    this.joined.begin();
    this.splitter = new FrameSplitter(LONGEST_FRAME);
    return this.goOn(turn);
  }

  abandon(): void {
    this.rounds.abandon();
  }

  error(error: AnswerFault): Uint8Array {
    return this.seen.error(error);
  }

  keepalive(): Uint8Array | undefined {
    const comment = this.splitter.inside ? undefined : this.seen.keepalive();
    const events = comment && this.joined.keepalive?.().flatMap((frame) => this.seen.push(frame));
    return events && events.length > 0 ? concat(events) : comment;
  }

  get isOver(): boolean {
    return this.seen.isOver;
  }

  private async goOn(turn: ToolTurn): Promise<UpstreamAnswer | Uint8Array> {
    const next = await this.goesOn(this.rounds.next(turn));
    return 'response' in next ? next : this.seen.error(next);
  }

  private frame(frame: Uint8Array): Uint8Array[] {
    // What an upstream says behind the end of a turn belongs to no answer.
    if (this.joined.isThrough) return [];
    const [data] = dataOf(frame);
    const shown = data === undefined ? [frame] : this.joined.take(data, frame);
    return shown.flatMap((bytes) => this.seen.push(bytes));
  }
}

/**
 * Why a stream ends in which a further answer can't be the next one: what the upstream has said of
 * it.
 *
 * @param isAnswer whether the upstream says that all is well: then its text is an answer, and no
 *   word of it an error's
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
