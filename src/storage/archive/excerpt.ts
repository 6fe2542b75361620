/** What is shown of a message that a search has found: its text around the words. Pure. */
import { cutAfter, cutBefore } from '../../lib/characters.ts';
import { MARK, readable } from './text.ts';

/** Of an excerpt, in characters. */
const LONGEST_EXCERPT = 1_200;

/** How many of them stand before the first word that was found. */
const LEAD = 400;

/** How far from where an excerpt may end white space is looked for. */
const SLACK = 100;

/**
 * A text, as far as it is not too long, else what stands around a part of it; cut at white space
 * where there is some.
 *
 * @param text see `searchable`
 * @param found a part of the text, with `MARK` before each word that was found
 */
export function excerptOf(text: string, found: string): string {
  const whole = readable(text);
  if (whole.length <= LONGEST_EXCERPT) return whole;
  const [before = '', ...words] = readable(found).split(MARK);
  const word = whole.indexOf(before + words.join('')) + before.length;
  const from = Math.max(0, Math.min(word - LEAD, whole.length - LONGEST_EXCERPT));
  const start = startNear(whole, from);
  const end = endNear(whole, from + LONGEST_EXCERPT);
  const shown = whole.slice(start, end).trim();
  return `${start > 0 ? '… ' : ''}${shown}${end < whole.length ? ' …' : ''}`;
}

function startNear(text: string, from: number): number {
  if (from === 0) return 0;
  const space = text.slice(from, from + SLACK).search(/\s/);
  if (space >= 0) return from + space;
  return cutAfter(text, from);
}

function endNear(text: string, to: number): number {
  if (to >= text.length) return text.length;
  const space = text.slice(to - SLACK, to).search(/\s\S*$/);
  if (space >= 0) return to - SLACK + space;
  return cutBefore(text, to);
}
