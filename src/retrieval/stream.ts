/** The stream of an answer with retrieval in it: one stream for the caller, however many answers it is made of. */
import type { AnswerStream } from '../protocol/answer-format.ts';
import { ChatTurns } from '../protocol/chat-turns.ts';
import { dataFrame, dataOf, FrameSplitter } from '../protocol/sse.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { EventFormat, StreamError } from '../upstream/stream.ts';
import type { Rounds } from './rounds.ts';

/** A frame is read up to this length, in bytes: an image may stand in one. What can't be read may be a call of ours. */
const LONGEST_FRAME = 16 * 1024 * 1024;

const TOO_LONG = `The upstream has sent an event of more than ${LONGEST_FRAME} bytes in an answer that must be read.`;
const NO_STREAM = 'The upstream has not gone on with a stream.';

export class RetrievalStream implements EventFormat {
  readonly turns: ChatTurns;
  private readonly chat: AnswerStream;
  private readonly rounds: Rounds;
  private readonly goesOn: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | Uint8Array>;
  private splitter = new FrameSplitter(LONGEST_FRAME);
  /** Whether this answer has said its last word. */
  private isThrough = false;
  private isTooLong = false;

  /**
   * @param names of our tools
   * @param chat the stream that the caller sees
   * @param goesOn looks at each further answer: it, or the bytes that end the stream where it can't go on
   */
  constructor(
    names: ReadonlySet<string>,
    chat: AnswerStream,
    rounds: Rounds,
    goesOn: (answer: Promise<UpstreamAnswer>) => Promise<UpstreamAnswer | Uint8Array>,
  ) {
    this.turns = new ChatTurns(names, () => rounds.isOpen);
    this.chat = chat;
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
    if (this.turns.turn) {
      this.isThrough = true;
      return { complete: true, frames };
    }
    const end = this.chat.end();
    return { complete: end.complete, frames: [...frames, ...end.frames] };
  }

  next(): Promise<UpstreamAnswer | Uint8Array> | undefined {
    if (this.isTooLong && !this.isThrough) return Promise.resolve(faultFrame(TOO_LONG));
    const turn = this.isThrough ? this.turns.turn : undefined;
    if (!turn) return undefined;
    this.isThrough = false;
    this.isTooLong = false;
    this.turns.begin();
    this.splitter = new FrameSplitter(LONGEST_FRAME);
    return this.goesOn(this.rounds.next(turn));
  }

  abandon(): void {
    this.rounds.abandon();
  }

  error(error: StreamError): Uint8Array {
    return this.chat.error(error);
  }

  keepalive(): Uint8Array | undefined {
    return this.splitter.inside ? undefined : this.chat.keepalive();
  }

  get isOver(): boolean {
    return this.chat.isOver;
  }

  private frame(frame: Uint8Array): Uint8Array[] {
    // What an upstream says behind the end of a turn belongs to no answer.
    if (this.isThrough) return [];
    const [data] = dataOf(frame);
    if (data === undefined) return this.chat.push(frame);
    if (data.trim() === '[DONE]' && this.turns.turn) {
      this.isThrough = true;
      return [];
    }
    return this.turns.take(data, frame).flatMap((shown) => this.chat.push(shown));
  }
}

/**
 * The frame that ends a stream in which a further answer can't be the next one: what the upstream has said of it.
 *
 * @param isAnswer whether the upstream says that all is well: then its text is an answer, and no word of it an error's
 */
export function errorFrame(body: Uint8Array, isAnswer: boolean): Uint8Array {
  const text = new TextDecoder().decode(body);
  try {
    const { error } = JSON.parse(text);
    if (error) return dataFrame(JSON.stringify({ error }));
  } catch {}
  return faultFrame(isAnswer ? NO_STREAM : `The upstream has refused to go on: ${text.slice(0, 500)}`);
}

function faultFrame(message: string): Uint8Array {
  return dataFrame(JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } }));
}
