/** Cuts results for a model to a number of tokens. Pure. */
import { cutBefore } from '../lib/characters.ts';
import { longestFitting } from '../memory/tokens/fitting.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { endsLine } from './lines.ts';

/** A text within a limit. */
interface Shortened {
  readonly text: string;
  readonly isCut: boolean;
}

/**
 * Cuts a text to a number of tokens: after a line break if one is near, and never inside a code
 * point.
 *
 * @param tokens at least 1
 */
export function shorten(text: string, tokens: number, counter: Pick<TokenCounter, 'text'>): Shortened {
  const end = longestFitting(text.length, tokens, (length) => counter.text(text.slice(0, length)));
  if (end === text.length) return { text, isCut: false };
  let line = end;
  while (line > end / 2 && !endsLine(text, line)) line--;
  return { text: text.slice(0, line > end / 2 ? line : cutBefore(text, end)), isCut: true };
}
