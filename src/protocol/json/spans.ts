/**
 * JSON as spans of the caller's own bytes.
 *
 * A body is scanned once: the whole grammar is checked, and the positions of the outer levels are
 * kept. The body for the upstream is spliced from these bytes, so numbers keep their digits, keys
 * keep their order, and an unedited message is never decoded.
 */

import { isUtf8 } from 'node:buffer';
import { concat } from '../../lib/bytes.ts';
import type { FieldSpan, JsonSpan, Outline, Span } from './outline.ts';
import { JsonSyntaxError, type KnownElements, type Limits, Scanner } from './scanner.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Scans one JSON text.
 *
 * @param bytes the whole text, UTF-8; it may have white space around the value, and a byte order
 *   mark
 * @param outline what to keep as spans; a few levels at most, since it is followed recursively
 * @param known elements of one of its arrays that were scanned in another text
 * @throws JsonSyntaxError if the text violates the grammar (RFC 8259), UTF-8 or a limit
 */
export function scanJson(
  bytes: Uint8Array,
  outline: Outline,
  limits?: Limits,
  known?: KnownElements,
): JsonSpan {
  if (!isUtf8(bytes)) throw new JsonSyntaxError(0);
  const scanner = new Scanner(bytes, limits, known);
  // Some servers ignore it (RFC 8259, section 8.1), so it is sent to them unchanged.
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) scanner.position = 3;
  scanner.skipSpace();
  const value = scanner.value(outline);
  scanner.skipSpace();
  if (scanner.position !== bytes.length) throw new JsonSyntaxError(scanner.position);
  return value;
}

/** Scans an object; undefined if the bytes are not JSON or hold another value. */
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
 * Scans a value inside of a text again, with another outline. Positions refer to the whole text.
 */
export function within(bytes: Uint8Array, span: Span, outline: Outline): JsonSpan {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  return scanner.value(outline);
}

/**
 * Iterates over the members of a scanned object, including duplicates. Only one is in memory at a
 * time.
 */
export function* membersOf(bytes: Uint8Array, span: Span): Generator<FieldSpan> {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  yield* scanner.members();
}

/** Iterates over the elements of a scanned array likewise. */
export function* elementsOf(bytes: Uint8Array, span: Span): Generator<JsonSpan> {
  const scanner = new Scanner(bytes);
  scanner.position = span.start;
  yield* scanner.elements();
}

export function textOf(bytes: Uint8Array, span: Span): string {
  return utf8.decode(bytes.subarray(span.start, span.end));
}

export function bytesOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

export function jsonOf(bytes: Uint8Array, span: Span): unknown {
  return JSON.parse(textOf(bytes, span));
}

/** The value of the last field of that name, which is the one that `JSON.parse` takes. */
export function fieldOf(object: JsonSpan, key: string): JsonSpan | undefined {
  return object.fields?.findLast((field) => field.key === key)?.value;
}

/** The decoded value of a field; undefined without one. */
export function valueIn(bytes: Uint8Array, object: JsonSpan, key: string): unknown {
  const value = fieldOf(object, key);
  return value && jsonOf(bytes, value);
}

/** The value of a field that is a string; undefined for any other. */
export function stringIn(bytes: Uint8Array, object: JsonSpan, key: string): string | undefined {
  const value = fieldOf(object, key);
  return value?.kind === 'string' ? (jsonOf(bytes, value) as string) : undefined;
}

/**
 * The value of a top-level field; undefined if there is none, or the bytes are no object.
 *
 * @param outline of the value
 */
export function topField(bytes: Uint8Array, key: string, outline: Outline = {}): JsonSpan | undefined {
  const root = scanObject(bytes, { fields: new Map([[key, outline]]) });
  return root && fieldOf(root, key);
}

/** Replaces a range of bytes. An empty `with` removes it. */
export interface Splice extends Span {
  readonly with: string;
}

/**
 * Splices that remove members of an object or elements of an array, with their commas.
 *
 * @param members the spans of all members, in order
 * @param removed which of them to remove, by index
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
    // A run before a kept member takes the comma after it.
    if (runStart !== undefined) cuts.push({ start: runStart, end: member.start, with: '' });
    runStart = undefined;
    keptEnd = member.end;
  }
  const last = members.at(-1);
  // A run at the end takes the comma before it, if a member is kept.
  if (runStart !== undefined && last) cuts.push({ start: keptEnd ?? runStart, end: last.end, with: '' });
  return cuts;
}

/** Edits of a body. */
export interface Edits {
  readonly splices: readonly Splice[];
  /** Members to set. */
  readonly members: readonly Member[];
}

/** A member to set in an object. */
export interface Member {
  readonly key: string;
  /** Of its value. */
  readonly json: string;
}

/**
 * Splices that remove members of an object and set others: a key that exists gets a new value, and
 * others are appended.
 *
 * @param object with its fields kept
 * @param members keys are unique, and none is removed
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
    const value = fieldOf(object, key);
    if (value) splices.push({ start: value.start, end: value.end, with: json });
    else added.push(`${JSON.stringify(key)}:${json}`);
  }
  if (added.length === 0) return splices;
  const isEmpty = fields.every((_, index) => isRemoved(index));
  const end = object.end - 1;
  return [...splices, { start: end, end, with: `${isEmpty ? '' : ','}${added.join(',')}` }];
}

/**
 * The bytes of `within` with the splices applied. Without splices it shares the memory and copies
 * nothing.
 *
 * @param splices in any order, without overlaps
 */
export function splice(bytes: Uint8Array, within: Span, splices: readonly Splice[]): Uint8Array {
  if (splices.length === 0) return bytes.subarray(within.start, within.end);
  return spliceOn(bytes, within, inOrder(splices), { count: 0, head: NOTHING }).bytes;
}

/** The same for all of the bytes. */
export function spliceAll(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  return splice(bytes, { start: 0, end: bytes.length }, splices);
}

/** The bytes with members of one of their objects set. See `memberSplices`. */
export function withMembers(bytes: Uint8Array, object: JsonSpan, members: readonly Member[]): Uint8Array {
  return spliceAll(
    bytes,
    memberSplices(object, () => false, members),
  );
}

/** Puts texts around a range of bytes. */
export function wrapSplices({ start, end }: Span, head: string, tail: string): Splice[] {
  return [
    { start, end: start, with: head },
    { start: end, end, with: tail },
  ];
}

const NOTHING = new Uint8Array();

/** Splices at one place keep their order. */
export function inOrder(splices: readonly Splice[]): Splice[] {
  return splices.toSorted((a, b) => a.start - b.start);
}

/** The first splices, and what the bytes have become up to the end of the last of them. */
interface Begun {
  readonly count: number;
  readonly head: Uint8Array;
}

interface Spliced {
  readonly bytes: Uint8Array;
  /** Where each splice that was applied here ends in these bytes. */
  readonly ends: readonly number[];
}

/**
 * The same, where the first splices have been applied before.
 *
 * @param splices in order, without overlaps
 */
export function spliceOn(
  bytes: Uint8Array,
  within: Span,
  splices: readonly Splice[],
  { count, head }: Begun,
): Spliced {
  const pieces = [head];
  const ends: number[] = [];
  let position = splices[count - 1]?.end ?? within.start;
  let length = head.length;
  const push = (piece: Uint8Array): void => {
    pieces.push(piece);
    length += piece.length;
  };
  for (let at = count; at < splices.length; at++) {
    const edit = splices[at];
    if (!edit || edit.start < position || edit.end > within.end) throw new Error('splices overlap');
    push(bytes.subarray(position, edit.start));
    if (edit.with !== '') push(encoder.encode(edit.with));
    position = edit.end;
    ends.push(length);
  }
  push(bytes.subarray(position, within.end));
  return { bytes: concat(pieces), ends };
}
