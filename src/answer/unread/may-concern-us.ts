/** What may concern Precis in a body that is not parsed. */

import type { Buffer } from 'node:buffer';
import { bufferOf } from '../../lib/bytes.ts';
import { REF_PATTERN } from '../../memory/conversation/refs.ts';
import { OWN_FIELDS } from '../../protocol/body.ts';
import { REASONING_MARK } from '../../protocol/responses/reasoning.ts';
import { SEALED_PREFIX } from '../../tenant/sealed-item.ts';

/**
 * Our fields as JSON keys, and the mark of reasoning. In a JSON string the quotes would be escaped,
 * so these can't match there.
 */
const NAMES = [...OWN_FIELDS, REASONING_MARK].map((name) => `"${name}"`);
const NAMED = new RegExp(NAMES.join('|'));
/** In bytes, with every letter escaped. */
export const LONGEST_NAME = 6 * Math.max(...NAMES.map((name) => name.length));

/** An escaped letter, digit or underscore. */
const ESCAPED_LETTER = /\\u00(3\d|[567][\da-fA-F])/g;

const ANY_REF = REF_PATTERN.source.replace(/[$^]/g, '');

/** The beginning of `compacted`, `compaction` and `compaction_trigger` as JSON strings. */
const COMPACTION = '"compact';

/**
 * What may concern Precis in a body: our fields, compaction and reasoning items that we have made,
 * refs, a trigger for a compaction, and escaped letters or digits, in which any of these can be
 * written.
 */
const OURS = new RegExp([NAMED.source, SEALED_PREFIX, ANY_REF, COMPACTION, ESCAPED_LETTER.source].join('|'));

/** Of a match of `OURS`, in bytes: of a ref. A name of a field is shorter. */
const LONGEST_MATCH = 32;

/**
 * Every match of `OURS` contains one of these, or one of `BEGINNINGS` before an underscore. The
 * engine finds a text of up to six characters by a native search for its first character, so that
 * one should be rare: an "m" is rarer than a quote, and a "u" than the backslash of a line's end.
 */
const PARTS = ['mpact', 'u00'];
const BEGINNINGS = [...NAMES, SEALED_PREFIX, ANY_REF].map((text) => text.slice(0, text.indexOf('_')));
/** By the code of its last character. */
const ENDINGS = new Map(
  BEGINNINGS.map((text) => text.charCodeAt(text.length - 1)).map((code) => [
    code,
    [...new Set(BEGINNINGS)].filter((text) => text.charCodeAt(text.length - 1) === code),
  ]),
);

/** Bytes that are searched at a time. */
const PIECE = 16 * 1024;

/** Precis's fields usually are at a body's beginning or end. In bytes. */
const EDGE = 2_048;

/** Whether a body must be parsed, since it may hold what concerns Precis. */
export function mayConcernUs(bytes: Uint8Array): boolean {
  const body = bufferOf(bytes);
  const { length } = body;
  if (length > PIECE && isIn(body, length - EDGE, length)) return true;
  for (let start = 0; start < length; start += PIECE)
    if (isIn(body, start, Math.min(length, start + PIECE + LONGEST_MATCH))) return true;
  return false;
}

/** All that is searched for is ASCII, so it does not matter that each byte becomes a character. */
function isIn(body: Buffer, start: number, end: number): boolean {
  const text = body.toString('latin1', start, end);
  return mayMatch(text) && OURS.test(text);
}

/** False if `OURS` can't match. Searches for short texts are much faster than matching. */
function mayMatch(text: string): boolean {
  if (PARTS.some((part) => text.includes(part))) return true;
  let looks = text.length / 32;
  for (let at = text.indexOf('_'); at >= 0; at = text.indexOf('_', at + 1)) {
    const beginnings = ENDINGS.get(text.charCodeAt(at - 1));
    if (beginnings?.some((beginning) => text.startsWith(beginning, at - beginning.length))) return true;
    // With this many underscores a match is the faster way.
    if (--looks < 0) return true;
  }
  return false;
}

/** Whether a piece of a body contains one of the names, escaped or not. */
export function holdsName(piece: Buffer): boolean {
  const letter = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
  return NAMED.test(piece.toString('latin1').replace(ESCAPED_LETTER, letter));
}
