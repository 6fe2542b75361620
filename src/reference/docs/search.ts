/** The search over the pages of the documentation: every word of the question must be there. */
import { html } from 'hono/html';
import type { Html } from '../page/schema.ts';
import type { Section } from './sections.ts';

/** In characters; of more, the beginning counts. Further words are not searched for. */
const LONGEST_QUERY = 200;
const MOST_WORDS = 8;
/** More occurrences of a word in a section say no more. */
const MOST_TIMES = 20;
const MOST_RESULTS = 30;
/** Characters of a result's text, about. */
const SNIPPET = 180;

/** The words of a question, in lower case. */
export function queryWords(query: string): string[] {
  const words = query.slice(0, LONGEST_QUERY).toLowerCase().split(/\s+/).filter(Boolean);
  return [...new Set(words)].slice(0, MOST_WORDS);
}

/**
 * The sections that have all words of a question, best first: those with the words in their
 * headings, then those that name them most often for their length. With the text around the first
 * word that was found, in parts, of which every second one is a match.
 */
export function searchSections(sections: readonly Section[], query: string) {
  const words = queryWords(query);
  if (words.length === 0) return [];
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, MOST_RESULTS)
    .map(({ section }) => ({ section, parts: marked(excerptOf(section.words, words), words) }));
}

/** 0 if a word is missing. */
function scoreOf({ title, heading, lower: inText }: Section, words: readonly string[]): number {
  const [inTitle, inHeading] = [title.toLowerCase(), heading.toLowerCase()];
  let score = 0;
  for (const word of words) {
    const times = timesIn(inText, word);
    const found = (inHeading.includes(word) ? 10 : 0) + (inTitle.includes(word) ? 3 : 0);
    if (times === 0 && found === 0) return 0;
    score += found + (4 * times) / (times + 1 + inText.length / 2_000);
  }
  return score;
}

function timesIn(text: string, word: string): number {
  let times = 0;
  for (let at = text.indexOf(word); at >= 0 && times < MOST_TIMES; times++)
    at = text.indexOf(word, at + word.length);
  return times;
}

/** The text around the first of the words. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = Math.max(0, Math.min(...(places.length > 0 ? places : [0])) - SNIPPET / 3);
  const from = first === 0 ? 0 : text.indexOf(' ', first) + 1;
  const cut = text.slice(from, from + SNIPPET);
  const whole = from + SNIPPET >= text.length ? cut : `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 1))} …`;
  return `${from > 0 ? '… ' : ''}${whole}`;
}

function marked(text: string, words: readonly string[]): string[] {
  const either = words
    .map((word) => word.replace(/\W/gu, (mark) => `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`))
    .join('|');
  return text.split(new RegExp(`(${either})`, 'iu'));
}

/**
 * What a search has found, as HTML: in the Worker's page, and by the script of the site.
 *
 * @param ending of a page's address
 */
export function searchResults(sections: readonly Section[], query: string, ending: string): Html {
  const results = searchSections(sections, query);
  const searched = queryWords(query).join(' ');
  return html`${searched === '' ? html`<p>Name one or more words. Sections that have all of them are found.</p>` : countOf(results.length, searched)}
<ol class="results">${results.map(
    ({ section: { page, title, heading, anchor }, parts }) =>
      html`<li><a href="${page}${ending}#${anchor}">${heading === title ? title : `${title}: ${heading}`}</a><p>${parts.map(
        (part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part),
      )}</p></li>`,
  )}</ol>`;
}

function countOf(count: number, query: string): Html {
  if (count > 0) return html`<p>${count} ${count === 1 ? 'section has' : 'sections have'} “${query}”.</p>`;
  return html`<p>No section has all words of “${query}”. Try fewer words, or the beginning of one.</p>`;
}
