/**
 * JSON as spans of the caller's own bytes.
 *
 * A body is scanned once: its grammar is checked to the end, and the positions of the outer levels are kept. What goes
 * upstream is spliced from those bytes, so numbers keep their digits, keys their order, and a message that is not edited
 * is never decoded.
 */
import { isUtf8 } from 'node:buffer';

/** A range of bytes, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON value in the bytes. `fields` and `items` are present where the outline asked for them. */
export interface JsonSpan extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'literal';
  readonly fields?: readonly FieldSpan[];
  readonly items?: readonly JsonSpan[];
}

/** A member of an object: from the key's first quote to the value's end. */
export interface FieldSpan extends Span {
  readonly key: string;
  readonly value: JsonSpan;
}

/**
 * Which parts of a value are kept as spans; all else is checked and passed over. A span costs as much memory as dozens of bytes of
 * JSON, so what is kept is bounded by what is named here, not by what a caller sends.
 */
export interface Outline {
  /** Members to keep: all of them with this outline each; or of each that is named here the last one, which is the one that counts. */
  readonly fields?: Outline | ReadonlyMap<string, Outline>;
  /** Keep the members that `fields` does not name too, with this outline each, and repeated ones as often as they stand. */
  readonly others?: Outline;
  /** Keep the elements, with this outline each. */
  readonly items?: Outline;
  /** Keep only the element of this index. */
  readonly only?: number;
  /** An object or array with more members than this is kept without any. */
  readonly most?: number;
}

/** All fields and items, this many levels down. */
export function levels(depth: number): Outline {
  if (depth === 0) return {};
  const inner = levels(depth - 1);
  return { fields: inner, items: inner };
}

/** The bytes are not JSON; `offset` is the first byte that can't be right. */
export class JsonSyntaxError extends Error {
  readonly offset: number;
  constructor(offset: number) {
    super(`not valid JSON at byte ${offset}`);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const MINUS = 0x2d;

/** RFC 8259 §7: the characters that may follow a backslash, `u` aside. */
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));

/** 1 for a byte that ends the fast run inside of a string: controls, the quote, the backslash. */
const STRING_STOP = new Uint8Array(256).map((_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Scans one JSON text.
 *
 * @param bytes the whole text, UTF-8; white space around the value is allowed
 * @param outline what is kept as spans; nested at most a few levels, since this is what recursion follows
 * @throws JsonSyntaxError where the grammar (RFC 8259) or UTF-8 is broken
 */
export function scanJson(bytes: Uint8Array, outline: Outline): JsonSpan {
  if (!isUtf8(bytes)) throw new JsonSyntaxError(0);
  const scanner = new Scanner(bytes);
  scanner.skipSpace();
  const value = scanner.value(outline);
  scanner.skipSpace();
  if (scanner.position !== bytes.length) throw new JsonSyntaxError(scanner.position);
  return value;
}

/** The object that the bytes are; undefined where they are no JSON, or another value. */
export function scanObject(bytes: Uint8Array, outline: Outline): JsonSpan | undefined {
  try {
    const root = scanJson(bytes, outline);
    return root.kind === 'object' ? root : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** A value inside of a text that was scanned before, with more of its outline. Positions are those of the whole text. */
export function within(bytes: Uint8Array, span: Span, outline: Outline): JsonSpan {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  return scanner.value(outline);
}

/** The text of a span. */
export function textOf(bytes: Uint8Array, span: Span): string {
  return utf8.decode(bytes.subarray(span.start, span.end));
}

/** The value that a span decodes to. */
export function jsonOf(bytes: Uint8Array, span: Span): unknown {
  return JSON.parse(textOf(bytes, span));
}

/** The last field of that name in an object (JSON.parse's own rule), if there is one. */
export function fieldOf(object: JsonSpan, key: string): FieldSpan | undefined {
  return object.fields?.findLast((field) => field.key === key);
}

/** A replacement of a range of bytes; an empty `with` is a cut. */
export interface Splice extends Span {
  readonly with: string;
}

/**
 * The splices that take members out of an object, or elements out of an array, commas included.
 *
 * @param members all members in their order, as spans
 * @param removed which of them go, by index
 */
export function cutMembers(members: readonly Span[], removed: (index: number) => boolean): Splice[] {
  const cuts: Splice[] = [];
  let keptEnd: number | undefined;
  let runStart: number | undefined;
  for (const [index, member] of members.entries()) {
    if (removed(index)) {
      runStart ??= member.start;
      continue;
    }
    // A run before a kept member goes with the comma behind it.
    if (runStart !== undefined) cuts.push({ start: runStart, end: member.start, with: '' });
    runStart = undefined;
    keptEnd = member.end;
  }
  const last = members.at(-1);
  // A run at the end goes with the comma before it, if anything is kept.
  if (runStart !== undefined && last) cuts.push({ start: keptEnd ?? runStart, end: last.end, with: '' });
  return cuts;
}

/** The splice that puts a member behind all others. @param object whose fields were kept @param json of the value */
export function memberSplice({ end, fields }: JsonSpan, key: string, json: string): Splice {
  const comma = fields?.length ? ',' : '';
  return { start: end - 1, end: end - 1, with: `${comma}${JSON.stringify(key)}:${json}` };
}

/**
 * The bytes of `within` with the splices applied; without any it is a view of the same memory, not a copy.
 *
 * @param splices in any order; they must not overlap
 */
export function splice(bytes: Uint8Array, within: Span, splices: readonly Splice[]): Uint8Array {
  if (splices.length === 0) return bytes.subarray(within.start, within.end);
  const pieces: Uint8Array[] = [];
  let position = within.start;
  for (const edit of splices.toSorted((a, b) => a.start - b.start)) {
    if (edit.start < position || edit.end > within.end) throw new Error('splices overlap');
    pieces.push(bytes.subarray(position, edit.start));
    if (edit.with !== '') pieces.push(encoder.encode(edit.with));
    position = edit.end;
  }
  pieces.push(bytes.subarray(position, within.end));
  return concat(pieces);
}

/** One array of bytes out of several. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    whole.set(piece, position);
    position += piece.length;
  }
  return whole;
}

class Scanner {
  position = 0;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  value(outline: Outline): JsonSpan {
    const start = this.position;
    const kind = this.kind();
    if (kind === 'object' && outline.fields) {
      const fields = this.fields(outline);
      return { kind, start, end: this.position, ...(fields && { fields }) };
    }
    if (kind === 'array' && outline.items) {
      const items = this.items(outline.items, outline);
      return { kind, start, end: this.position, ...(items && { items }) };
    }
    if (kind === 'object' || kind === 'array') this.skipNested();
    else this.skipScalar(kind);
    return { kind, start, end: this.position };
  }

  skipSpace(): void {
    const { bytes } = this;
    let position = this.position;
    for (;;) {
      const byte = bytes[position];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      position++;
    }
    this.position = position;
  }

  private kind(): JsonSpan['kind'] {
    const byte = this.bytes[this.position];
    if (byte === QUOTE) return 'string';
    if (byte === OPEN_OBJECT) return 'object';
    if (byte === OPEN_ARRAY) return 'array';
    if (byte === MINUS || isDigit(byte)) return 'number';
    return 'literal';
  }

  private fields({
    fields: wanted,
    others,
    most = Number.POSITIVE_INFINITY,
  }: Outline): FieldSpan[] | undefined {
    const named = wanted instanceof Map ? (wanted as ReadonlyMap<string, Outline>) : undefined;
    const all = named ? others : (wanted as Outline);
    const kept: FieldSpan[] = [];
    const last = new Map<string, FieldSpan>();
    let count = 0;
    this.position++;
    this.skipSpace();
    if (this.take(CLOSE_OBJECT)) return kept;
    for (;;) {
      const start = this.position;
      this.skipString();
      const key = jsonOf(this.bytes, { start, end: this.position }) as string;
      this.skipSpace();
      this.expect(COLON);
      this.skipSpace();
      const inner = named?.get(key) ?? all;
      const value = this.value(count < most && inner ? inner : {});
      const field = { key, start, end: value.end, value };
      if (++count <= most && all) kept.push(field);
      else if (inner && count <= most) last.set(key, field);
      this.skipSpace();
      if (this.take(CLOSE_OBJECT)) break;
      this.expect(COMMA);
      this.skipSpace();
    }
    if (count > most) return undefined;
    return all ? kept : [...last.values()];
  }

  private items(inner: Outline, { only, most = Number.POSITIVE_INFINITY }: Outline): JsonSpan[] | undefined {
    const items: JsonSpan[] = [];
    let count = 0;
    this.position++;
    this.skipSpace();
    if (this.take(CLOSE_ARRAY)) return items;
    for (;;) {
      const wanted = count < most && (only === undefined || only === count);
      const value = this.value(wanted ? inner : {});
      if (wanted) items.push(value);
      count++;
      this.skipSpace();
      if (this.take(CLOSE_ARRAY)) return count <= most ? items : undefined;
      this.expect(COMMA);
      this.skipSpace();
    }
  }

  /** Passes over an object or array with a stack of its own: depth in a body is the caller's choice, ours is not. */
  private skipNested(): void {
    const open: number[] = [];
    for (;;) {
      const byte = this.bytes[this.position];
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.position++;
        this.skipSpace();
        const close = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
        if (!this.take(close)) {
          open.push(close);
          if (close === CLOSE_OBJECT) this.skipKey();
          continue;
        }
      } else this.skipScalar(this.kind());
      // A value has ended: close what closes here, or go on behind a comma.
      for (;;) {
        const close = open.at(-1);
        if (close === undefined) return;
        this.skipSpace();
        if (!this.take(close)) break;
        open.pop();
      }
      this.expect(COMMA);
      this.skipSpace();
      if (open.at(-1) === CLOSE_OBJECT) this.skipKey();
    }
  }

  private skipKey(): void {
    this.skipString();
    this.skipSpace();
    this.expect(COLON);
    this.skipSpace();
  }

  private skipScalar(kind: JsonSpan['kind']): void {
    if (kind === 'string') this.skipString();
    else if (kind === 'number') this.skipNumber();
    else this.skipLiteral();
  }

  private skipString(): void {
    const { bytes } = this;
    if (bytes[this.position] !== QUOTE) throw new JsonSyntaxError(this.position);
    let position = this.position + 1;
    for (;;) {
      while (STRING_STOP[bytes[position] ?? QUOTE] === 0) position++;
      const byte = bytes[position];
      if (byte === QUOTE) break;
      if (byte !== BACKSLASH) throw new JsonSyntaxError(position);
      position = this.skipEscape(position + 1);
    }
    this.position = position + 1;
  }

  private skipEscape(position: number): number {
    const byte = this.bytes[position];
    if (byte !== undefined && SIMPLE_ESCAPES.has(byte)) return position + 1;
    if (byte !== 0x75) throw new JsonSyntaxError(position);
    for (let digit = position + 1; digit <= position + 4; digit++)
      if (!isHex(this.bytes[digit])) throw new JsonSyntaxError(digit);
    return position + 5;
  }

  private skipNumber(): void {
    this.take(MINUS);
    if (!this.take(0x30)) this.skipDigits();
    if (this.take(0x2e)) this.skipDigits();
    if (this.take(0x65) || this.take(0x45)) {
      if (!this.take(0x2b)) this.take(MINUS);
      this.skipDigits();
    }
  }

  private skipDigits(): void {
    if (!isDigit(this.bytes[this.position])) throw new JsonSyntaxError(this.position);
    while (isDigit(this.bytes[this.position])) this.position++;
  }

  private skipLiteral(): void {
    const literal = LITERALS.find((bytes) =>
      bytes.every((byte, index) => this.bytes[this.position + index] === byte),
    );
    if (!literal) throw new JsonSyntaxError(this.position);
    this.position += literal.length;
  }

  private take(byte: number): boolean {
    if (this.bytes[this.position] !== byte) return false;
    this.position++;
    return true;
  }

  private expect(byte: number): void {
    if (!this.take(byte)) throw new JsonSyntaxError(this.position);
  }
}

const LITERALS = ['true', 'false', 'null'].map((literal) => [...encoder.encode(literal)]);

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  return byte !== undefined && (isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66));
}
