/** Results for a model, cut to so many tokens. Pure. */
import type { TokenCounter } from '../memory/tokens.ts';

/** A text that is no longer than it may be. */
export interface Shortened {
  readonly text: string;
  /** Whole lines that it has, and how many there were; equal when nothing was cut. */
  readonly shown: number;
  readonly lines: number;
}

/** No token of English or of code is longer on the average; a first guess, which counting then corrects. */
const CHARACTERS_PER_TOKEN = 8;

/**
 * Cuts a text to a number of tokens, behind a line where one ends near the cut, and never inside a code point.
 *
 * @param tokens at the most; at least 1
 */
export function shorten(text: string, tokens: number, counter: Pick<TokenCounter, 'text'>): Shortened {
  const lines = countLines(text);
  let end = Math.min(text.length, tokens * CHARACTERS_PER_TOKEN);
  for (;;) {
    const counted = counter.text(text.slice(0, end));
    if (counted <= tokens) break;
    end = Math.min(end - 1, Math.floor((end * tokens) / counted));
  }
  if (end === text.length) return { text, shown: lines, lines };
  const line = text.lastIndexOf('\n', end - 1) + 1;
  if (line > end / 2) end = line;
  else if (isHighSurrogate(text.charCodeAt(end - 1))) end--;
  const shown = text.slice(0, end);
  return { text: shown, shown: countBreaks(shown), lines };
}

function countLines(text: string): number {
  return countBreaks(text) + (text.endsWith('\n') ? 0 : 1);
}

function countBreaks(text: string): number {
  let breaks = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) breaks++;
  return breaks;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
