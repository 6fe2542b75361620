/** The stream of an answer with retrieval in it: one stream for the caller, however many answers it is made of. */
import type { ChatStream } from '../protocol/chat-stream.ts';
import { ChatTurns } from '../protocol/chat-turns.ts';
import { concat } from '../protocol/spans.ts';
import { dataFrame, dataOf, FrameSplitter } from '../protocol/sse.ts';
import type { UpstreamAnswer, UpstreamFault } from '../upstream/fetch.ts';
import type { EventFormat } from '../upstream/stream.ts';
import type { Rounds } from './rounds.ts';

const BLANK_LINE = new Uint8Array([0x0a, 0x0a]);

export class RetrievalStream implements EventFormat {
  readonly turns: ChatTurns;
  private readonly chat: ChatStream;
  private readonly rounds: Rounds;
  private readonly answered: (answer: UpstreamAnswer) => Promise<UpstreamAnswer | Uint8Array>;
  private splitter = new FrameSplitter();
  /** Whether this answer has said its last word. */
  private isThrough = false;

  /**
   * @param names of our tools
   * @param chat the stream that the caller sees
   * @param answered looks at each further answer: it, or the bytes that end the stream where it can't go on
   */
  constructor(
    names: ReadonlySet<string>,
    chat: ChatStream,
    rounds: Rounds,
    answered: (answer: UpstreamAnswer) => Promise<UpstreamAnswer | Uint8Array>,
  ) {
    this.turns = new ChatTurns(names, () => rounds.isOpen);
    this.chat = chat;
    this.rounds = rounds;
    this.answered = answered;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    return this.splitter.push(chunk).flatMap((frame) => this.frame(frame));
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const rest = this.splitter.rest();
    const frames = rest.length > 0 ? this.frame(concat([rest, BLANK_LINE])) : [];
    if (this.turns.turn) {
      this.isThrough = true;
      return { complete: true, frames };
    }
    const end = this.chat.end();
    return { complete: end.complete, frames: [...frames, ...end.frames] };
  }

  next(): Promise<UpstreamAnswer | Uint8Array> | undefined {
    const { turn } = this.turns;
    if (!this.isThrough || !turn) return undefined;
    this.isThrough = false;
    this.turns.begin();
    this.splitter = new FrameSplitter();
    return this.rounds.next(turn).then(this.answered);
  }

  abandon(): void {
    this.rounds.abandon();
  }

  error(fault: UpstreamFault): Uint8Array {
    return this.chat.error(fault);
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

/** The frame that ends a stream in which a further answer was an error: what the upstream has said of it. */
export function errorFrame(body: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(body);
  try {
    const { error } = JSON.parse(text);
    if (error) return dataFrame(JSON.stringify({ error }));
  } catch {}
  const message = `The upstream has refused to go on: ${text.slice(0, 500)}`;
  return dataFrame(JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } }));
}
