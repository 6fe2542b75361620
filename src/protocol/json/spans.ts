/**
 * JSON as spans of the caller's own bytes.
 *
 * A body is scanned once: its grammar is checked to the end, and the positions of the outer levels
 * are kept. What goes upstream is spliced from those bytes, so numbers keep their digits, keys
 * their order, and a message that is not edited is never decoded.
 */
import { isUtf8 } from 'node:buffer';
import type { FieldSpan, JsonSpan, Outline, Span } from './outline.ts';
import { JsonSyntaxError, type Limits, Scanner } from './scanner.ts';

export { type FieldSpan, type JsonSpan, levels, type Outline, type Span } from './outline.ts';
export { JsonSyntaxError } from './scanner.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Scans one JSON text.
 *
 * @param bytes the whole text, UTF-8; white space around the value is allowed
 * @param outline what is kept as spans; nested at most a few levels, since this is what recursion
 *   follows
 * @throws JsonSyntaxError where the grammar (RFC 8259) or UTF-8 is broken, or a limit is passed
 */
export function scanJson(bytes: Uint8Array, outline: Outline, limits?: Limits): JsonSpan {
  if (!isUtf8(bytes)) throw new JsonSyntaxError(0);
  const scanner = new Scanner(bytes, limits);
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

/**
 * A value inside of a text that was scanned before, with more of its outline. Positions are those
 * of the whole text.
 */
export function within(bytes: Uint8Array, span: Span, outline: Outline): JsonSpan {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  return scanner.value(outline);
}

/**
 * The members of an object that was scanned before, one by one: however many there are, one is
 * kept. Repeated ones come as often as they stand.
 */
export function* membersOf(bytes: Uint8Array, span: Span): Generator<FieldSpan> {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  yield* scanner.members();
}

/** The same for the elements of an array. */
export function* elementsOf(bytes: Uint8Array, span: Span): Generator<JsonSpan> {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  yield* scanner.elements();
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

/** A member that is put into an object. */
export interface Member {
  readonly key: string;
  /** Of its value. */
  readonly json: string;
}

/**
 * The splices that take members out of an object and put others in: in place of the value that
 * their key has there, or behind all that stay.
 *
 * @param object whose fields were kept
 * @param members each key once, and none that is removed
 */
export function memberSplices(
  object: JsonSpan,
  removed: (key: string) => boolean,
  members: readonly Member[],
): Splice[] {
  const fields = object.fields ?? [];
  const isRemoved = (index: number) => removed(fields[index]?.key ?? '');
  const splices = cutMembers(fields, isRemoved);
  const added: string[] = [];
  for (const { key, json } of members) {
    const value = fieldOf(object, key)?.value;
    if (value) splices.push({ start: value.start, end: value.end, with: json });
    else added.push(`${JSON.stringify(key)}:${json}`);
  }
  if (added.length === 0) return splices;
  const isEmpty = fields.every((_, index) => isRemoved(index));
  const end = object.end - 1;
  return [...splices, { start: end, end, with: `${isEmpty ? '' : ','}${added.join(',')}` }];
}

/**
 * The bytes of `within` with the splices applied; without any it is a view of the same memory, not
 * a copy.
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
