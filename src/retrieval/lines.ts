/**
 * Lines as an editor counts them, from 1. `\r\n`, `\n` and `\r` end a line; a final line break
 * starts no new one. Pure.
 */

export interface Line {
  readonly number: number;
  /** Without its line break. */
  readonly line: string;
}

/** The lines of a text. The empty text has one. */
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

export function endedLines(text: string): number {
  const lineBreak = /\r\n|\n|\r/g;
  let ended = 0;
  while (lineBreak.test(text)) ended++;
  return ended;
}

export function countLines(text: string): number {
  return endedLines(text) + (endsLine(text, text.length) ? 0 : 1);
}

/**
 * Whether a line ends, with its line break, right before a position. False at the beginning of a
 * text.
 */
export function endsLine(text: string, position: number): boolean {
  const last = text[position - 1];
  return last === '\n' || (last === '\r' && text[position] !== '\n');
}
