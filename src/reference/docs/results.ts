/** What a search has found, as HTML: in the Worker's page, and by the script of the site. */
import { html } from 'hono/html';
import type { Html } from '../page/text.ts';
import { queryWords, searchSections } from './search.ts';
import type { Section } from './sections.ts';

/** @param ending of a page's address */
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
