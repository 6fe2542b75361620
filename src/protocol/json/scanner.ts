/** The grammar of JSON (RFC 8259), byte by byte. */
import { Buffer } from 'node:buffer';
import type { FieldSpan, JsonSpan, Outline } from './outline.ts';

/** The bytes are not JSON, or exceed a limit. `offset` is the first wrong byte. */
export class JsonSyntaxError extends Error {
  readonly offset: number;
  constructor(offset: number, fault = 'not valid JSON') {
    super(`${fault} at byte ${offset}`);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}

/** JSON's white space is not above it. */
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const MINUS = 0x2d;

/** The characters that may follow a backslash, except `u` (RFC 8259 §7). */
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));

/** 1 for bytes that end the fast loop inside a string: control characters, `"` and `\`. */
const STRING_STOP = new Uint8Array(256).map((_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The first elements of an array, known from another text with the same bytes up to their end. */
export interface KnownElements {
  /** Where the array begins. */
  readonly start: number;
  /** At least one. */
  readonly items: readonly JsonSpan[];
  /** See `JsonSpan`. */
  readonly counts: readonly number[];
}

/** Limits of a text; none by default. */
export interface Limits {
  /** Levels of a value below the outline. */
  readonly levels?: number;
  /** Values on all levels together. In a list, only elements up to the outline's `most` count. */
  readonly values?: number;
}

/**
 * Reads one JSON text from a position. Throws a `JsonSyntaxError` if it is malformed or exceeds a
 * limit.
 */
export class Scanner {
  position = 0;
  private values = 0;
  private readonly bytes: Uint8Array;
  private readonly known: KnownElements | undefined;
  private readonly mostLevels: number;
  private readonly mostValues: number;

  /** @param known elements that need not be scanned, of an array with the same outline */
  constructor(
    bytes: Uint8Array,
    { levels = Number.POSITIVE_INFINITY, values = Number.POSITIVE_INFINITY }: Limits = {},
    known?: KnownElements,
  ) {
    this.bytes = bytes;
    this.known = known;
    this.mostLevels = levels;
    this.mostValues = values;
  }

  value(outline: Outline): JsonSpan {
    const start = this.position;
    const kind = this.kind();
    if (kind === 'object' && outline.fields) {
      this.countValue();
      const fields = this.fields(outline);
      return { kind, start, end: this.position, ...(fields && { fields }) };
    }
    if (kind === 'array' && outline.items) {
      this.countValue();
      const items = this.items(outline.items, outline);
      return { kind, start, end: this.position, ...items };
    }
    if (kind === 'object' || kind === 'array') this.skipNested();
    else this.skipScalar(kind);
    return { kind, start, end: this.position };
  }

  *members(): Generator<FieldSpan> {
    this.position++;
    this.skipSpace();
    if (this.take(CLOSE_OBJECT)) return;
    for (;;) {
      const start = this.position;
      const key = this.key();
      const value = this.value({});
      yield { key, start, end: value.end, value };
      this.skipSpace();
      if (this.take(CLOSE_OBJECT)) return;
      this.expect(COMMA);
      this.skipSpace();
    }
  }

  *elements(): Generator<JsonSpan> {
    this.position++;
    this.skipSpace();
    if (this.take(CLOSE_ARRAY)) return;
    for (;;) {
      yield this.value({});
      this.skipSpace();
      if (this.take(CLOSE_ARRAY)) return;
      this.expect(COMMA);
      this.skipSpace();
    }
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
      const key = this.key();
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

  private items(
    inner: Outline,
    { only, counted = false, most = Number.POSITIVE_INFINITY }: Outline,
  ): Pick<JsonSpan, 'items' | 'counts'> {
    const known = this.known?.start === this.position ? this.known : undefined;
    const items = known ? [...known.items] : [];
    const counts = known ? [...known.counts] : [];
    const kept = () => (counted ? { items, counts } : { items });
    let count = items.length;
    if (known) this.skipTo(known);
    else this.position++;
    this.skipSpace();
    if (this.take(CLOSE_ARRAY)) return kept();
    if (known) {
      this.expect(COMMA);
      this.skipSpace();
    }
    for (;;) {
      const wanted = count < most && (only === undefined || only === count);
      const { values } = this;
      const value = this.value(wanted ? inner : {});
      // A list that is too long is not kept, so it does not count.
      if (count >= most) this.values = values;
      if (wanted) items.push(value);
      if (counted && wanted) counts.push(this.values);
      count++;
      this.skipSpace();
      if (this.take(CLOSE_ARRAY)) return count <= most ? kept() : {};
      this.expect(COMMA);
      this.skipSpace();
    }
  }

  private skipTo({ items, counts }: KnownElements): void {
    this.position = items.at(-1)?.end ?? this.position;
    this.values = counts.at(-1) ?? this.values;
  }

  /**
   * Skips an object or array iteratively, since callers choose how deep their bodies are nested.
   */
  private skipNested(): void {
    const open: number[] = [];
    for (;;) {
      const byte = this.bytes[this.position];
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.countValue();
        this.position++;
        this.skipSpace();
        const close = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
        if (!this.take(close)) {
          if (open.length >= this.mostLevels)
            throw new JsonSyntaxError(this.position, `nested over ${this.mostLevels} levels deep`);
          open.push(close);
          if (close === CLOSE_OBJECT) this.skipKey();
          continue;
        }
      } else this.skipScalar(this.kind());
      // A value has ended: close objects and arrays that end here, or continue after a comma.
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

  private key(): string {
    const start = this.position;
    this.skipString();
    const key: string = JSON.parse(utf8.decode(this.bytes.subarray(start, this.position)));
    this.skipSpace();
    this.expect(COLON);
    this.skipSpace();
    return key;
  }

  private skipKey(): void {
    this.skipString();
    this.skipSpace();
    this.expect(COLON);
    this.skipSpace();
  }

  private countValue(): void {
    if (++this.values > this.mostValues)
      throw new JsonSyntaxError(this.position, `too large: more than ${this.mostValues} values`);
  }

  private skipScalar(kind: JsonSpan['kind']): void {
    this.countValue();
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

const LITERALS = ['true', 'false', 'null'].map((literal) => [...Buffer.from(literal)]);

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  return byte !== undefined && (isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66));
}
