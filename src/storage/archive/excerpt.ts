/** Excerpts of messages in search results: the text around the words. Pure. */
import { cutAfter, cutBefore } from '../../lib/characters.ts';
import { readable } from './text.ts';

/** In characters. */
const LONGEST_EXCERPT = 1_200;

/** Characters before the first matching word. */
const LEAD = 400;

/** How far from the limit to look for white space, in characters. */
const SLACK = 100;

/**
 * A short text as it is, or an excerpt of a long one, cut at white space if possible.
 *
 * @param text see `searchable`
 * @param at where the first of the words to show begins
 */
export function excerptOf(text: string, at: number): string {
  const full = readable(text);
  if (full.length <= LONGEST_EXCERPT) return full;
  const word = readable(text.slice(0, at)).length;
  const from = Math.max(0, Math.min(word - LEAD, full.length - LONGEST_EXCERPT));
  const start = startNear(full, from);
  const end = endNear(full, from + LONGEST_EXCERPT);
  const excerpt = full.slice(start, end).trim();
  return `${start > 0 ? '… ' : ''}${excerpt}${end < full.length ? ' …' : ''}`;
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
