/**
 * Transcripts: messages as plain text, for a summarizer to read and for people to search.
 *
 *     ### 12 assistant
 *     I look it up.
 *     -> search (call_1) {"q":"shoes"}
 *
 *     ### 13 tool search (call_1)
 *     …
 */

import { Buffer } from 'node:buffer';
import { shortened } from '../../lib/characters.ts';
import { elementAt } from '../../lib/elements.ts';
import type { Boundary, Entry, Piece } from '../../memory/conversation/passage.ts';
import { mostFitting } from '../../memory/tokens/fitting.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';

/** A part of a transcript that a summarizer reads in one call. */
export interface TranscriptChunk {
  readonly text: string;
  /**
   * The boundary after the last piece that ends in this chunk. Absent if its first piece does not.
   */
  readonly boundary?: Boundary;
}

/** The fewest tokens for a header and one character. */
export const SMALLEST_CHUNK = 16;

/**
 * A chunk of a large piece is composed of blocks of this share of its limit, so that no character
 * is counted more than twice.
 */
const BLOCKS_PER_CHUNK = 24;

/** UTF-8 bytes of one code point. */
const WIDEST_CHARACTER = 4;

/** A piece with more characters than this per token of room almost certainly does not fit. */
const HARDLY_FITS = 8;

/** In characters. No API takes a longer name of a tool. */
const LONGEST_LABEL = 128;

/** A line of a text that looks like a header. It gets a backslash. */
const FORGED_HEADER = /^(?=### \d+ (?:user|assistant|tool)\b)/gm;

/** The transcript of messages: headers, texts verbatim, calls with their arguments. */
export function writeTranscript(entries: readonly Entry[]): string {
  return entries.map((entry) => `${headerOf(entry)}\n${bodyOf(entry)}\n`).join('\n');
}

/**
 * The transcript in chunks of at most `largestTokens`. A chunk ends after a piece if possible. A
 * larger piece takes several chunks, each of which begins with the header of the message that it
 * continues. Only the last one has the boundary.
 *
 * @throws RangeError for less than `SMALLEST_CHUNK` tokens
 */
export function transcriptParts(
  pieces: readonly Piece[],
  largestTokens: number,
  counter: TokenCounter,
): TranscriptChunk[] {
  if (!(largestTokens >= SMALLEST_CHUNK))
    throw new RangeError(`a chunk of ${largestTokens} tokens holds nothing`);
  const chunks: TranscriptChunk[] = [];
  let text = '';
  let tokens = 0;
  let boundary: Boundary | undefined;
  const flush = (): void => {
    if (text !== '' && boundary) chunks.push({ text, boundary });
    text = '';
    tokens = 0;
  };

  const written = pieces.map((piece) =>
    piece.entries.length === 0 ? '' : `${writeTranscript(piece.entries)}\n`,
  );
  const weigh = weigher(written, largestTokens, counter);
  for (const [index, piece] of pieces.entries()) {
    const next = elementAt(written, index);
    const weight = weigh(next);
    if (tokens + weight > largestTokens) flush();
    if (weight <= largestTokens) {
      text += next;
      tokens += weight;
    } else {
      const parts = splitEntries(piece.entries, largestTokens, counter);
      text = parts.pop() ?? '';
      chunks.push(...parts.map((part) => ({ text: part })));
      // The next piece begins a new chunk, since the remaining room of this one is costly to count.
      tokens = largestTokens;
    }
    boundary = piece.boundary;
  }
  flush();
  // Empty pieces at the end: their boundary needs no further reading.
  if (boundary) chunks.push({ text: chunks.pop()?.text ?? '', boundary });
  return chunks;
}

function headerOf(entry: Entry): string {
  const { index, role, tool } = entry;
  return tool ? `### ${index} ${role} ${labelOf(tool.name)} (${labelOf(tool.id)})` : `### ${index} ${role}`;
}

/**
 * How an entry without calls begins, after its number: the rest of its header, and this many
 * characters of its text.
 */
export function beginningOf(
  { role, tool, text }: Pick<Entry, 'role' | 'tool' | 'text'>,
  most: number,
): string {
  const label = tool ? `${labelOf(tool.name)} (${labelOf(tool.id)})` : role;
  return `${label.toWellFormed()}\n${textIn(text, most)}`;
}

/** The first characters of a text as they are in a transcript. */
export function textIn(text: string, most: number): string {
  return text.slice(0, most).replace(FORGED_HEADER, '\\').toWellFormed();
}

function bodyOf(entry: Entry): string {
  const calls = entry.calls.map(({ id, name, input }) => `-> ${labelOf(name)} (${labelOf(id)}) ${input}`);
  const text = entry.text.replace(FORGED_HEADER, '\\');
  return [...(text === '' ? [] : [text]), ...calls].join('\n');
}

function labelOf(name: string): string {
  return shortened(name.slice(0, 2 * LONGEST_LABEL).replace(/\s+/g, ' '), LONGEST_LABEL);
}

/**
 * Measures texts in bytes if all of them fit into one chunk even so, since a token has at least one
 * byte. Otherwise in tokens.
 */
function weigher(texts: readonly string[], limit: number, counter: TokenCounter): (text: string) => number {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  const bytes = (text: string): number => Buffer.byteLength(text);
  if (characters <= limit && texts.reduce((sum, text) => sum + bytes(text), 0) <= limit) return bytes;
  // A piece that can hardly fit is not counted, since splitting it counts its blocks anyway.
  return (text) => (text.length > HARDLY_FITS * limit ? Infinity : counter.text(text));
}

/** Splits entries that do not fit into one chunk. */
function splitEntries(entries: readonly Entry[], limit: number, counter: TokenCounter): string[] {
  const chunks: string[] = [];
  let blocks: { readonly text: string; readonly tokens: number; readonly header: string }[] = [];
  let tokens = 0;
  const most = Math.max(WIDEST_CHARACTER, Math.floor(limit / BLOCKS_PER_CHUNK));

  /**
   * Closes a chunk, at the end of a line if one ends in its second half. Tokens of blocks need not
   * add up to the tokens of their text, so the excess goes into the next chunk.
   */
  const flush = (): void => {
    const whole = blocks.map((block) => block.text).join('');
    const upTo = (count: number): string => whole.slice(0, whole.length - lengthOf(blocks.slice(count)));
    // At least one block, to make progress.
    let count = Math.max(
      1,
      mostFitting(blocks.length, (count) => counter.text(upTo(count)) <= limit),
    );
    let text = upTo(count);
    const line = blocks.slice(0, count).findLastIndex((block) => block.text.endsWith('\n')) + 1;
    if (line < count && line > count / 2) {
      text = text.slice(0, text.length - lengthOf(blocks.slice(line, count)));
      count = line;
    }
    chunks.push(text);
    const rest = blocks.slice(count);
    const header = rest[0]?.header ?? '';
    blocks = header === '' ? rest : [headerBlock(header), ...rest];
    tokens = blocks.reduce((sum, block) => sum + block.tokens, 0);
  };
  const headerBlock = (header: string): { text: string; tokens: number; header: string } => ({
    text: header,
    tokens: counter.text(header),
    header: '',
  });

  for (const entry of entries) {
    const text = `${headerOf(entry)}\n${bodyOf(entry)}\n\n`;
    const header = `${headerOf(entry)} (continued)\n`;
    const again = counter.text(header) <= limit / 4 ? header : '';
    for (let at = 0; at < text.length; ) {
      const end = blockEnd(text, at, most);
      const block = { text: text.slice(at, end), tokens: 0, header: at === 0 ? '' : again };
      block.tokens = counter.text(block.text);
      if (tokens + block.tokens > limit) {
        flush();
        if (blocks.length === 0 && block.header !== '') {
          const first = headerBlock(block.header);
          blocks.push(first);
          tokens = first.tokens;
        }
      }
      blocks.push(block);
      tokens += block.tokens;
      at = end;
    }
  }
  while (blocks.length > 0) flush();
  return chunks;
}

function lengthOf(blocks: readonly { readonly text: string }[]): number {
  return blocks.reduce((sum, block) => sum + block.text.length, 0);
}

/**
 * Where a block of at most `most` bytes ends: after a line break, or else before a space, or else
 * after a code point.
 */
function blockEnd(text: string, start: number, most: number): number {
  let bytes = 0;
  let end = start;
  let line = 0;
  let space = 0;
  while (end < text.length) {
    const code = text.codePointAt(end) ?? 0;
    bytes += bytesOf(code);
    if (bytes > most) break;
    end += code > 0xffff ? 2 : 1;
    if (code === 10) line = end;
    else if (code === 32 && end - 1 > start) space = end - 1;
  }
  if (end >= text.length) return end;
  return line || space || end;
}

function bytesOf(code: number): number {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
