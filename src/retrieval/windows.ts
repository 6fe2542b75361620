/** Shortens long lines to the text around matches. Pure. */
import { cutBefore } from '../lib/characters.ts';

/** In characters. Shorter lines stay whole. */
const LONG_LINE = 1_000;
/** Characters on each side of a match. */
const AROUND = 300;
const LEFT_OUT = '…';

/**
 * The line, or the parts of a long one around each match; without a match, its beginning. `…` marks
 * omissions.
 */
export function windowsOf(line: string, text: string): string {
  if (line.length <= LONG_LINE) return line;
  const parts: string[] = [];
  let start = 0;
  let end = 0;
  for (let at = line.indexOf(text); at >= 0; at = line.indexOf(text, at + text.length)) {
    const from = cutBefore(line, Math.max(0, at - AROUND));
    if (from > end) {
      parts.push(line.slice(start, end));
      start = from;
    }
    end = cutBefore(line, Math.min(line.length, at + text.length + AROUND));
  }
  parts.push(line.slice(start, end || cutBefore(line, 2 * AROUND)));
  return `${parts.join(LEFT_OUT)}${end < line.length ? LEFT_OUT : ''}`;
}
