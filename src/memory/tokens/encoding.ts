/**
 * Counts as gpt-tokenizer does, over bytes: a text is split into pieces, and a piece that is no
 * token is merged. No word is remembered, so the time of a count reveals no earlier text.
 */
import { TABLES } from '#token-tables';
import { InvariantError } from '../../lib/invariant-error.ts';
import type { EncodingName } from '../models/facts.ts';
import { CL100K, END, O200K, type Splitting, UNDECIDED } from './pieces.ts';
import { NO_RANK, TokenRanks } from './ranks.ts';

type TableName = Exclude<EncodingName, 'chars/4'>;

const SPLITTINGS: Readonly<Record<TableName, Splitting>> = { o200k_base: O200K, cl100k_base: CL100K };

/** Loads the table of an encoding, of 1.6 MB at most, and makes its hash table of 3 MB. */
export async function loadEncoding(name: TableName): Promise<Encoding> {
  const { default: table } = await TABLES[name]();
  return new Encoding(new TokenRanks(table), SPLITTINGS[name]);
}

/** Bytes of UTF-8 per UTF-16 code unit, at most. */
const MOST_BYTES = 3;

/** Holds a block of text (`blocksOf`). A longer text gets its own memory. */
const SCRATCH_BYTES = 16 * 1024;

/** In characters. */
const SHORT = 64;

const encoder = new TextEncoder();

export class Encoding {
  private readonly bytes = new Uint8Array(SCRATCH_BYTES);
  private readonly ranks: TokenRanks;
  private readonly splitting: Splitting;
  private readonly merging: Merging;

  constructor(ranks: TokenRanks, splitting: Splitting) {
    this.ranks = ranks;
    this.splitting = splitting;
    this.merging = new Merging(ranks);
  }

  /**
   * Tokens of a text. A special token's spelling (`<|endoftext|>`) is ordinary text, since callers
   * can't send the token itself through the API.
   */
  count(text: string): number {
    const { ranks, splitting, merging } = this;
    const needed = MOST_BYTES * text.length + 1;
    const bytes = needed <= SCRATCH_BYTES ? this.bytes : new Uint8Array(needed);
    const written = shortAscii(text, bytes) ?? encoder.encodeInto(text, bytes).written;
    bytes[written] = END;
    let tokens = 0;
    // The same place in UTF-16 and in UTF-8.
    let at = 0;
    for (let start = 0; start < written; ) {
      let end = splitting.asciiEnd(bytes, start);
      if (end === UNDECIDED) {
        const next = this.matchEnd(text, at);
        end = start + bytesBetween(text, at, next);
        at = next;
      } else at += end - start;
      // Each byte is a token.
      const isToken = end === start + 1 || ranks.rankOf(bytes, start, end) !== NO_RANK;
      tokens += isToken ? 1 : merging.count(bytes, start, end);
      start = end;
    }
    return tokens;
  }

  /** The end of the piece at a place of a text, by the regular expression. */
  private matchEnd(text: string, at: number): number {
    const { pattern } = this.splitting;
    pattern.lastIndex = at;
    if (!pattern.test(text)) throw new InvariantError('the expression of an encoding matches any character');
    return pattern.lastIndex;
  }
}

/**
 * Writes a text that is short and has only ASCII: a call of the encoder costs more than so few
 * bytes.
 *
 * @returns the number of bytes; undefined for any other text
 */
function shortAscii(text: string, bytes: Uint8Array): number | undefined {
  if (text.length > SHORT) return undefined;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 128) return undefined;
    bytes[at] = code;
  }
  return text.length;
}

/** Bytes of UTF-8, as `TextEncoder` writes them: three for half of a surrogate pair. */
function bytesBetween(text: string, start: number, end: number): number {
  let bytes = 0;
  for (let at = start; at < end; at++) {
    const code = text.codePointAt(at) ?? 0;
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code < 0x1_0000) bytes += 3;
    else {
      bytes += 4;
      at++;
    }
  }
  return bytes;
}

/** Pieces are shorter; room for a longer one is made when it comes. */
const USUAL_BYTES = 1_024;

/**
 * Merges the bytes of a piece. Of all neighbors that make a token together, the ones of the lowest
 * rank are merged first. Quadratic, so long runs are cut before (`longRunsIn`).
 *
 * A part is named by the place of its first byte.
 */
class Merging {
  private readonly ranks: TokenRanks;
  /** Where each part ends. The next part starts there. */
  private ends = new Int32Array(USUAL_BYTES);
  /** The part before each part. */
  private previous = new Int32Array(USUAL_BYTES);
  /** The rank of each part together with the next one; `NO_RANK` where no part starts. */
  private pairs = new Int32Array(USUAL_BYTES);

  constructor(ranks: TokenRanks) {
    this.ranks = ranks;
  }

  /** Tokens of a piece. */
  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    this.divide(bytes, start, length);
    const { ranks, ends, previous, pairs } = this;
    let parts = length;
    for (let at = this.lowest(length); at >= 0; at = this.lowest(length)) {
      const second = ends[at] ?? 0;
      const third = ends[second] ?? 0;
      ends[at] = third;
      pairs[second] = NO_RANK;
      parts--;
      if (third === length) pairs[at] = NO_RANK;
      else {
        previous[third] = at;
        pairs[at] = ranks.rankOf(bytes, start + at, start + (ends[third] ?? 0));
      }
      if (at === 0) continue;
      const first = previous[at] ?? 0;
      pairs[first] = ranks.rankOf(bytes, start + first, start + third);
    }
    return parts;
  }

  /** Each byte becomes a part. */
  private divide(bytes: Uint8Array, start: number, length: number): void {
    if (length > this.ends.length) {
      this.ends = new Int32Array(length);
      this.previous = new Int32Array(length);
      this.pairs = new Int32Array(length);
    }
    const { ranks, ends, previous, pairs } = this;
    for (let at = 0; at < length; at++) {
      ends[at] = at + 1;
      previous[at] = at - 1;
      pairs[at] = at + 1 < length ? ranks.rankOf(bytes, start + at, start + at + 2) : NO_RANK;
    }
  }

  /** The first of the pairs with the lowest rank; -1 if no pair is a token. */
  private lowest(length: number): number {
    const { pairs } = this;
    let lowest = NO_RANK;
    let found = -1;
    for (let at = 0; at < length; at++) {
      const rank = pairs[at] ?? NO_RANK;
      if (rank < lowest) {
        lowest = rank;
        found = at;
      }
    }
    return found;
  }
}
