/**
 * Lines as an editor counts them, from 1 on: `\r\n`, `\n` and `\r` end one; a last line break
 * begins no other. Pure.
 */

export interface Line {
  readonly number: number;
  /** Without its line break. */
  readonly line: string;
}

/** A text without anything has one line. */
export function* linesOf(text: string): Generator<Line> {
  const lineBreak = /\r\n|\n|\r/g;
  let start = 0;
  for (let number = 1; start < text.length || number === 1; number++) {
    const end = lineBreak.exec(text);
    yield { number, line: text.slice(start, end?.index) };
    if (!end) return;
    start = lineBreak.lastIndex;
  }
}

/** How many lines of a text have ended. */
export function endedLines(text: string): number {
  const lineBreak = /\r\n|\n|\r/g;
  let ended = 0;
  while (lineBreak.test(text)) ended++;
  return ended;
}

/** How many lines a text has. */
export function countLines(text: string): number {
  return endedLines(text) + (endsLine(text, text.length) ? 0 : 1);
}

/**
 * Whether a line, with its line break, has ended before a position. At the beginning of a text none
 * has.
 */
export function endsLine(text: string, position: number): boolean {
  const last = text[position - 1];
  return last === '\n' || (last === '\r' && text[position] !== '\n');
}
