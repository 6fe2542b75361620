/**
 * Server-sent events, cut into frames of whole bytes
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A frame is passed on as soon as its blank line has come. Only an unfinished one waits: no client
 * can read it yet, and an error frame can then follow a stream that broke off in the middle of one.
 * A frame over 1 MiB goes in pieces.
 */
import { createParser } from 'eventsource-parser';
import { concat } from './json/spans.ts';

const CR = 0x0d;
const LF = 0x0a;

/** A frame longer than this is passed on in pieces: the proxy is not the one to refuse it. */
const LONGEST_FRAME = 1024 * 1024;

/** A comment: the only frame that every client passes over. */
export const KEEPALIVE = new TextEncoder().encode(': keepalive\n\n');

const BLANK_LINE = new Uint8Array([LF, LF]);

/** Cuts a stream of bytes into frames. */
export class FrameSplitter {
  private readonly longest: number;
  private held: Uint8Array[] = [];
  private heldLength = 0;
  /**
   * Whether a piece of a frame has been passed on whose end has not come: nothing else may be said
   * now.
   */
  inside = false;
  /** State of the line ending that is being read, across chunks. */
  private lineIsEmpty = true;
  private afterCr = false;

  /** @param longest frame that is not passed on in pieces, in bytes */
  constructor(longest = LONGEST_FRAME) {
    this.longest = longest;
  }

  /** The frames that this chunk completes, as bytes of whole frames. */
  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === LF && this.afterCr) {
        // The second half of CRLF. When the blank line has just ended a frame it belongs to that,
        // and starts no other.
        this.afterCr = false;
        if (index === start && this.heldLength === 0) {
          frames.push(chunk.subarray(start, index + 1));
          start = index + 1;
        }
        continue;
      }
      this.afterCr = byte === CR;
      if (byte !== CR && byte !== LF) {
        this.lineIsEmpty = false;
        continue;
      }
      if (this.lineIsEmpty) {
        const end = byte === CR && chunk[index + 1] === LF ? index + 2 : index + 1;
        frames.push(this.take(chunk.subarray(start, end)));
        if (end === index + 2) this.afterCr = false;
        index = end - 1;
        start = end;
      }
      this.lineIsEmpty = true;
    }
    if (start < chunk.length) this.hold(chunk.subarray(start));
    if (frames.length > 0) this.inside = false;
    if (this.heldLength > this.longest) {
      frames.push(this.take(new Uint8Array()));
      this.inside = true;
    }
    return frames;
  }

  /** The bytes of a frame that never ended. */
  rest(): Uint8Array {
    return this.take(new Uint8Array());
  }

  /**
   * The last frame of a stream whose blank line is missing, as if it had come; half a frame then
   * shows as no frame at all. Undefined where nothing is left.
   */
  last(): Uint8Array | undefined {
    const rest = this.rest();
    return rest.length > 0 ? concat([rest, BLANK_LINE]) : undefined;
  }

  /**
   * A frame of ours so that it can be read: behind a piece, the frame that the piece belongs to is
   * ended first.
   */
  behind(frame: Uint8Array): Uint8Array {
    return this.inside ? concat([BLANK_LINE, frame]) : frame;
  }

  private hold(bytes: Uint8Array): void {
    this.held.push(bytes);
    this.heldLength += bytes.length;
  }

  private take(last: Uint8Array): Uint8Array {
    const frame = this.held.length === 0 ? last : concat([...this.held, last]);
    this.held = [];
    this.heldLength = 0;
    return frame;
  }
}

const decoder = new TextDecoder();

/** The data of each event in the bytes of whole frames. */
export function dataOf(frames: Uint8Array): string[] {
  const data: string[] = [];
  const parser = createParser({ onEvent: (event) => data.push(event.data) });
  // After a bare CR the parser waits for the LF that may follow; behind a blank line one more
  // changes nothing.
  parser.feed(`${decoder.decode(frames)}\n`);
  return data;
}

const encoder = new TextEncoder();

/** A frame of an event without a name. */
export function dataFrame(data: string): Uint8Array {
  return encoder.encode(`data: ${lines(data)}\n\n`);
}

/** The same with the name of its event. */
export function eventFrame(type: string, data: string): Uint8Array {
  return encoder.encode(`event: ${type}\ndata: ${lines(data)}\n\n`);
}

/** What an upstream has written in several lines is spliced as it came. */
function lines(data: string): string {
  return data.replaceAll('\n', '\ndata: ');
}
