/**
 * JSON without what says nothing: insignificant white space (RFC 8259 §2), and members that are
 * named. One pass over the bytes; strings are skipped natively, and nothing is decoded.
 */
import { BACKSLASH, CLOSE_OBJECT, COLON, COMMA, OPEN_OBJECT, QUOTE, Scanner, SPACE } from './scanner.ts';

/** A member to leave out. */
export interface LeftOut {
  /** Its key with the quotes, as it is written: an escape in it is another key. */
  readonly key: Uint8Array;
  /** Whether it is left out of the outermost object alone. */
  readonly isOuter: boolean;
}

const NONE: readonly LeftOut[] = [];

/** @param key of ASCII, without quotes and backslashes */
export function leftOut(key: string, isOuter = false): LeftOut {
  return { key: new TextEncoder().encode(`"${key}"`), isOuter };
}

/** @param json bytes of one JSON value, already known to be well-formed */
export function bareJson(json: Uint8Array, members: readonly LeftOut[] = NONE): Uint8Array {
  const kept = new Uint8Array(json.length);
  let length = 0;
  let objects = 0;
  for (let at = 0; at < json.length; ) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) {
      const end = stringEnd(json, at);
      const value = isLeftOut(json, at, end, members, objects) ? valueAfter(json, end) : undefined;
      if (value !== undefined) {
        at = endOf(json, value);
        // A member takes the comma before it along, and the first one the comma after it.
        if (kept[length - 1] === COMMA) length--;
        else at = afterComma(json, at);
        continue;
      }
      kept.set(json.subarray(at, end), length);
      length += end - at;
      at = end;
      continue;
    }
    if (byte === OPEN_OBJECT) objects++;
    else if (byte === CLOSE_OBJECT) objects--;
    // Outside of strings, only white space is this small.
    if (byte > SPACE) kept[length++] = byte;
    at++;
  }
  return kept.subarray(0, length);
}

function isLeftOut(
  json: Uint8Array,
  start: number,
  end: number,
  members: readonly LeftOut[],
  objects: number,
): boolean {
  return members.some(
    ({ key, isOuter }) =>
      key.length === end - start &&
      (!isOuter || objects === 1) &&
      key.every((byte, index) => byte === json[start + index]),
  );
}

/** Where the value of a member begins; undefined after a string that is no key. */
function valueAfter(json: Uint8Array, keyEnd: number): number | undefined {
  const colon = afterSpace(json, keyEnd);
  return json[colon] === COLON ? afterSpace(json, colon + 1) : undefined;
}

function endOf(json: Uint8Array, value: number): number {
  const scanner = new Scanner(json);
  scanner.position = value;
  return scanner.value({}).end;
}

function afterComma(json: Uint8Array, at: number): number {
  const next = afterSpace(json, at);
  return json[next] === COMMA ? next + 1 : at;
}

function afterSpace(json: Uint8Array, from: number): number {
  let at = from;
  while ((json[at] ?? QUOTE) <= SPACE) at++;
  return at;
}

/** The position after the closing quote, which follows an even number of backslashes. */
function stringEnd(json: Uint8Array, start: number): number {
  for (let quote = json.indexOf(QUOTE, start + 1); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    let before = quote - 1;
    while (json[before] === BACKSLASH) before--;
    if ((quote - 1 - before) % 2 === 0) return quote + 1;
  }
  return json.length;
}
