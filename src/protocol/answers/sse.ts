/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), split into
 * frames.
 *
 * A frame is passed on as soon as its blank line has come. Only an unfinished frame waits: no
 * client can read it yet, and an error frame can then follow a stream that broke off within one.
 *
 * A frame over 1 MiB is passed on in pieces. If the model has the retrieval tool, a frame is read
 * up to 16 MiB, and a longer one ends the stream with an error. Frames that come together are a
 * block.
 */
import { Buffer } from 'node:buffer';
import { createParser } from 'eventsource-parser';
import { bufferOf, concat } from '../../lib/bytes.ts';
import { parseJson } from '../../lib/json.ts';

const CR = 0x0d;
const LF = 0x0a;

/** In bytes. A longer frame passes in pieces, since a proxy has no reason to refuse it. */
export const LONGEST_FRAME = 1024 * 1024;

/** A comment, the only frame that every client ignores. */
export const KEEPALIVE = new TextEncoder().encode(': keepalive\n\n');

/** The beginning of an event stream: a field, or a comment. */
const EVENTS = /^\s*(?:event|data|id|retry)?:/;

/** @param text a beginning, without a byte order mark */
export function beginsAsEvents(text: string): boolean {
  return EVENTS.test(text);
}

/** In characters: what may still become the name of a field. */
const LONGEST_FIELD = 5;

/** Whether all that has come is no event, and not the beginning of one. */
export function isOtherText(text: string): boolean {
  return text.trim().length > LONGEST_FIELD && !beginsAsEvents(text);
}

const NOT_ASCII = /[^\0-\x7f]/;

const BLANK_LINE = new Uint8Array([LF, LF]);

/** Frames that came together. */
export class Block {
  readonly bytes: Uint8Array;
  /** Whether it begins in the middle of a line, since a piece of a frame came before it. */
  private readonly inLine: boolean;
  private latin1: string | undefined;

  constructor(bytes: Uint8Array, inLine = false) {
    this.bytes = bytes;
    this.inLine = inLine;
  }

  /** One character per byte. */
  get text(): string {
    this.latin1 ??= bufferOf(this.bytes).toString('latin1');
    return this.latin1;
  }

  /** The last one may lack its blank line. */
  frames(): Frame[] {
    const { bytes, text } = this;
    const isAscii = !NOT_ASCII.test(text);
    const frames: Frame[] = [];
    let start = 0;
    const add = (end: number): void => {
      const source = isAscii ? text.slice(start, end) : undefined;
      frames.push(new Frame({ bytes, start, end, source }));
      start = end;
    };
    if (text.includes('\r')) {
      for (let line = 0, end = endOfLine(text, 0); end > 0; line = end, end = endOfLine(text, end))
        if (LINE_ENDS.includes(text.charAt(line)) && (line > 0 || !this.inLine)) add(end);
    } else {
      if (text.startsWith('\n') && !this.inLine) add(1);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', start)) {
        add(end + 2);
        // Each further blank line.
        while (text.startsWith('\n', start)) add(start + 1);
      }
    }
    if (start < text.length) add(text.length);
    return frames;
  }
}

const LINE_ENDS = '\r\n';
const LINE_END = /\r\n?|\n/g;

/** Where the line ends that begins at `start`, with its line end; 0 if it does not end. */
function endOfLine(text: string, start: number): number {
  LINE_END.lastIndex = start;
  LINE_END.test(text);
  return LINE_END.lastIndex;
}

/**
 * An event and the beginning of the next one without a blank line between them, from servers whose
 * clients read line by line. No JSON has a `}` before a `{`.
 */
const WITHOUT_BLANKS = /\}(?:\r\n?|\n)(?:event:[^\r\n]*(?:\r\n?|\n))?data: ?(?:\{|\[DONE\])/;
const BLANK = /\n\n|\r\r|\r\n\r\n/;
/** In bytes. A first event that is longer has a blank line. */
const LONGEST_BEGINNING = 4 * 1024;

/** An unfinished frame with its blank line added; undefined if there is none. */
export function lastFrame(rest: Uint8Array): Frame | undefined {
  if (rest.length === 0) return undefined;
  return new Frame(concat([rest, rest.at(-1) === LF ? BLANK_LINE.subarray(1) : BLANK_LINE]));
}

/** Splits a stream of bytes into frames, and holds the unfinished one back. */
export class FrameSplitter {
  private readonly longest: number;
  private held: Uint8Array[] = [];
  private heldLength = 0;
  /** Whether a piece of an unfinished frame has been passed on. No other frame may follow it. */
  inside = false;
  /** Whether that piece ended in the middle of a line. */
  private inLine = false;
  /** State of the current line, across chunks. */
  private lineIsEmpty = true;
  private afterCr = false;
  /** Whether events lack their blank lines, which are added. Undefined before the first event. */
  private lacksBlanks: boolean | undefined;
  /** The end of the unfinished line, as long as what may precede such a blank line. */
  private lineEnd = '';

  /** @param longest frame that passes in one piece, in bytes */
  constructor(longest = LONGEST_FRAME) {
    this.longest = longest;
  }

  /** The frames that this chunk completes; the last one may be a piece (see `inside`). */
  push(chunk: Uint8Array): Frame[] {
    return this.blocks(chunk).flatMap((block) => block.frames());
  }

  /**
   * The frames that this chunk completes, as one block of bytes. A piece of a longer frame (see
   * `inside`) is a block of its own, the last one.
   */
  blocks(came: Uint8Array): Block[] {
    const chunk = this.lacksBlanks === false ? came : this.withBlanks(came);
    const blocks: Block[] = [];
    const end = this.endOfFrames(chunk);
    if (end > 0) {
      blocks.push(new Block(this.take(chunk.subarray(0, end)), this.inLine));
      this.inside = false;
      this.inLine = false;
    }
    if (end < chunk.length) this.hold(chunk.subarray(end));
    const last = chunk.at(-1) ?? 0;
    this.afterCr = chunk.length > 0 ? last === CR : this.afterCr;
    this.lineIsEmpty = chunk.length > 0 ? last === CR || last === LF : this.lineIsEmpty;
    if (this.heldLength > this.longest) {
      blocks.push(new Block(this.rest(), this.inLine));
      this.inside = true;
      this.inLine = !this.lineIsEmpty;
    }
    return blocks;
  }

  /** The bytes of the unfinished frame. */
  rest(): Uint8Array {
    return this.take(new Uint8Array());
  }

  /** See `lastFrame`. */
  last(): Frame | undefined {
    return lastFrame(this.rest());
  }

  /** A frame of Precis's own. If a piece of a frame came before, that frame is ended first. */
  ownFrame(frame: Uint8Array): Uint8Array {
    return this.inside ? concat([BLANK_LINE, frame]) : frame;
  }

  /**
   * Where the last blank line of a chunk ends; 0 without one. Chunks mostly end with a frame, so
   * the search begins at the end.
   */
  private endOfFrames(chunk: Uint8Array): number {
    for (let index = chunk.length - 1; index >= 0; index--) {
      const byte = chunk[index];
      if (byte !== LF && byte !== CR) continue;
      const before = index > 0 ? chunk[index - 1] : undefined;
      const follows = before === undefined ? this.afterCr : before === CR;
      if (byte === LF && follows) {
        // The second half of a CRLF. After a blank line it belongs to the frame before it.
        if (index === 0 && this.heldLength === 0) return 1;
        continue;
      }
      const isBlank = before === undefined ? this.lineIsEmpty : before === LF || before === CR;
      if (isBlank) return byte === CR && chunk[index + 1] === LF ? index + 2 : index + 1;
    }
    return 0;
  }

  /**
   * What came, with a blank line after each event if these lack it. As soon as that is known, all
   * that was held comes before it.
   */
  private withBlanks(chunk: Uint8Array): Uint8Array {
    if (this.lacksBlanks) return this.added(bufferOf(chunk).toString('latin1'));
    const text = bufferOf(concat([...this.held, chunk])).toString('latin1');
    if (WITHOUT_BLANKS.test(text)) {
      this.lacksBlanks = true;
      this.rest();
      this.lineIsEmpty = true;
      return this.added(text);
    }
    const event = text.search(/^data/m);
    if ((event >= 0 && BLANK.test(text.slice(event))) || text.length > LONGEST_BEGINNING)
      this.lacksBlanks = false;
    return chunk;
  }

  /** A text with blank lines, which goes on in the line of the one before. */
  private added(text: string): Uint8Array {
    const before = this.lineEnd;
    const whole = before + text;
    this.lineEnd = /[^\r\n]{0,6}$/.exec(whole.slice(-6))?.[0] ?? '';
    const blanks = whole.replace(/(?<=\}|\[DONE\])(?:\r\n?|\n)/g, '$&$&');
    return Buffer.from(blanks.slice(before.length), 'latin1');
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

/** A frame as a part of the bytes that came with it. */
interface Part {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Its text, if that is known already. */
  readonly source: string | undefined;
}

/** One frame. Its event is parsed on first use, and only once. */
export class Frame {
  private readonly part: Part;
  private own: Uint8Array | undefined;
  private text: string | undefined;
  private isRead: boolean;
  private value: unknown;
  private isParsed = false;

  /** @param data of the event, if it is known already */
  constructor(frame: Uint8Array | Part, data?: string) {
    this.part =
      frame instanceof Uint8Array ? { bytes: frame, start: 0, end: frame.length, source: undefined } : frame;
    this.text = data;
    this.isRead = data !== undefined;
  }

  /** A frame of Precis's own. @param type the name of the event, if it has one */
  static of(data: string, type?: string): Frame {
    return new Frame(type === undefined ? dataFrame(data) : eventFrame(type, data), data);
  }

  get bytes(): Uint8Array {
    const { bytes, start, end } = this.part;
    this.own ??= bytes.subarray(start, end);
    return this.own;
  }

  /** The data of the event; undefined for a comment, or a piece of a frame. */
  get data(): string | undefined {
    if (!this.isRead) this.text = dataOf(this.part.source ?? decoder.decode(this.bytes));
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

/** The usual form: the name of the event, if it has one, and a single line of data. */
const USUAL = /^(?:event:[^\r\n]*\n)?data: ?([^\r\n]*)\n\n$/;

function dataOf(frame: string): string | undefined {
  const usual = USUAL.exec(frame);
  if (usual) return usual[1];
  let data: string | undefined;
  const parser = createParser({
    onEvent: (event) => {
      data ??= event.data;
    },
  });
  // After a bare CR the parser waits for a possible LF. A second blank line changes nothing.
  parser.feed(`${frame}\n`);
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
