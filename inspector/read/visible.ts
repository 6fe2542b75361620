/**
 * Text that anyone may have written, in pieces that can be shown. Characters that reorder, hide or
 * imitate others are pieces of their own, by their code points.
 */

export interface Piece {
  readonly text: string;
  /** Whether the piece names a character that must not take effect, such as `U+202E`. */
  readonly isCode: boolean;
}

/**
 * Control characters but tab and line feed, marks and overrides of direction, invisible
 * characters, separators of lines, tag characters, and halves of surrogate pairs.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\u{E0001}|[\u{E0020}-\u{E007F}]|\p{Surrogate}/gu;

/** Adjacent unsafe characters of one kind that are named one by one; the rest is counted. */
const MOST_NAMED = 2_000;

/** A carriage return before a line feed is a part of the line's end, and is left out. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  let named = 0;
  for (const match of text.matchAll(UNSAFE)) {
    const [character] = match;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isCode: false });
    end = match.index + character.length;
    if (character === '\r' && text[end] === '\n') continue;
    named++;
    if (named > MOST_NAMED) continue;
    pieces.push({ text: named === MOST_NAMED ? '… and more' : codeOf(character), isCode: true });
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isCode: false });
  return pieces;
}

/** The same as one text, for titles and attributes. */
export function visible(text: string): string {
  return piecesOf(text)
    .map((piece) => (piece.isCode ? `⟨${piece.text}⟩` : piece.text))
    .join('');
}

/** The beginning of a text, up to its last whole line or word, and without half a character. */
export function beginning(text: string, length: number): string {
  if (text.length <= length) return text;
  const part = text.slice(0, length);
  // What has neither line nor word in its last half is cut anywhere.
  const whole = [part.lastIndexOf('\n') + 1, part.lastIndexOf(' ') + 1].find((end) => end > length / 2);
  if (whole !== undefined) return part.slice(0, whole);
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last < 0xdc00 ? part.slice(0, -1) : part;
}

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
