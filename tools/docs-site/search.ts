/** Runs in `search.html` of the site: searches the index for the words in the page's address. */
import { searchResults } from '../../src/reference/docs/search.ts';
import type { Section } from '../../src/reference/docs/sections.ts';

/** From `search-index.js`. */
declare const SECTIONS: readonly Omit<Section, 'lower'>[];
declare const location: { readonly search: string };
declare const document: { getElementById(id: string): { innerHTML: string; value: string } | null };

const query = new URLSearchParams(location.search).get('q') ?? '';
const sections = SECTIONS.map((section) => ({ ...section, lower: section.words.toLowerCase() }));
const [input, found] = ['q', 'found'].map((id) => document.getElementById(id));
if (input) input.value = query;
void Promise.resolve(searchResults(sections, query, '.html')).then((results) => {
  if (found) found.innerHTML = String(results);
});
