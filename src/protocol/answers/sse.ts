/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), split into
 * frames.
 *
 * A frame is passed on as soon as its blank line has come. Only an unfinished frame waits: no
 * client can read it yet, and an error frame can then follow a stream that broke off within one.
 */
import { createParser } from 'eventsource-parser';
import { concat } from '../../lib/bytes.ts';
import { parseJson } from '../../lib/json.ts';

const CR = 0x0d;
const LF = 0x0a;

/** In bytes. A longer frame passes in pieces, since a proxy has no reason to refuse it. */
export const LONGEST_FRAME = 1024 * 1024;

/** A comment, the only frame that every client ignores. */
export const KEEPALIVE = new TextEncoder().encode(': keepalive\n\n');

const BLANK_LINE = new Uint8Array([LF, LF]);

/** Splits a stream of bytes into frames. */
export class FrameSplitter {
  private readonly longest: number;
  private held: Uint8Array[] = [];
  private heldLength = 0;
  /** Whether a piece of an unfinished frame has been passed on. No other frame may follow it. */
  inside = false;
  /** State of the current line, across chunks. */
  private lineIsEmpty = true;
  private afterCr = false;

  /** @param longest frame that passes in one piece, in bytes */
  constructor(longest = LONGEST_FRAME) {
    this.longest = longest;
  }

  /** The frames that this chunk completes; the last one may be a piece (see `inside`). */
  push(chunk: Uint8Array): Uint8Array[] {
    const frames: Uint8Array[] = [];
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte === LF && this.afterCr) {
        // The second half of a CRLF. After a blank line it belongs to the frame before it.
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

  /** The bytes of the unfinished frame. */
  rest(): Uint8Array {
    return this.take(new Uint8Array());
  }

  /** The unfinished frame with its blank line added; undefined if there is none. */
  last(): Uint8Array | undefined {
    const rest = this.rest();
    return rest.length > 0 ? concat([rest, BLANK_LINE]) : undefined;
  }

  /** A frame of Precis's own. If a piece of a frame came before, that frame is ended first. */
  ownFrame(frame: Uint8Array): Uint8Array {
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

/** One frame. Its event is parsed on first use, and only once. */
export class Frame {
  readonly bytes: Uint8Array;
  private text: string | undefined;
  private isRead: boolean;
  private value: unknown;
  private isParsed = false;

  /** @param data of the event, if it is known already */
  constructor(bytes: Uint8Array, data?: string) {
    this.bytes = bytes;
    this.text = data;
    this.isRead = data !== undefined;
  }

  /** A frame of Precis's own. @param type the name of the event, if it has one */
  static of(data: string, type?: string): Frame {
    return new Frame(type === undefined ? dataFrame(data) : eventFrame(type, data), data);
  }

  /** The data of the event; undefined for a comment, or a piece of a frame. */
  get data(): string | undefined {
    if (!this.isRead) this.text = dataOf(this.bytes);
    this.isRead = true;
    return this.text;
  }

  /** The data as JSON; undefined if it is not JSON. */
  get json(): unknown {
    if (!this.isParsed && this.data !== undefined) this.value = parseJson(this.data);
    this.isParsed = true;
    return this.value;
  }
}

const decoder = new TextDecoder();

function dataOf(frame: Uint8Array): string | undefined {
  let data: string | undefined;
  const parser = createParser({
    onEvent: (event) => {
      data ??= event.data;
    },
  });
  // After a bare CR the parser waits for a possible LF. A second blank line changes nothing.
  parser.feed(`${decoder.decode(frame)}\n`);
  return data;
}

const encoder = new TextEncoder();

/** The frame of an event without a name. */
export function dataFrame(data: string): Uint8Array {
  return encoder.encode(`data: ${lines(data)}\n\n`);
}

/** The frame of an event with a name. */
export function eventFrame(type: string, data: string): Uint8Array {
  return encoder.encode(`event: ${type}\ndata: ${lines(data)}\n\n`);
}

/** Each line of the data as a `data:` line: an upstream's JSON may have several lines. */
function lines(data: string): string {
  return data.replaceAll('\n', '\ndata: ');
}
