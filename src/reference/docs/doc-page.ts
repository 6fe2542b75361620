/** The pages of `docs/` and their search, as HTML for browsers. */
import { html, raw } from 'hono/html';
import type { Html } from '../page/text.ts';
import { GROUPS, PAGES } from '../pages.ts';
import { inShell } from '../shell.ts';
import { htmlOf, type ListedHeading } from './markdown.ts';
import { queryWords, searchSections } from './search.ts';
import { type Section, sectionsOf } from './sections.ts';

const NAMES: ReadonlySet<string> = new Set(PAGES.keys());

/**
 * A page of the documentation.
 *
 * @param name of its file, one of `PAGES`
 * @param markdown its text
 */
export function docPage(name: string, markdown: string): Promise<string> {
  const { html: body, headings } = htmlOf(markdown, NAMES);
  const { title = name, about = '' } = PAGES.get(name) ?? {};
  return inShell({
    title: `${title} · Precis`,
    description: `${title}: ${about}.`,
    root: '../',
    side: { label: 'All pages', list: pageList(name) },
    main: html`${raw(body)}`,
    contents: headings.length > 1 ? contentsOf(headings) : undefined,
    foot: html`The same as Markdown: <a href="${name}">${name}</a>. This page has no script.`,
  });
}

/** What a search found. */
export async function searchPage(query: string): Promise<string> {
  const results = searchSections(await allSections(), query);
  const searched = queryWords(query).join(' ');
  return inShell({
    title: 'Search · Precis',
    description: 'A search over all pages of the documentation.',
    root: '../',
    query,
    side: { label: 'All pages', list: pageList() },
    main: html`<h1>Search</h1>
${searched === '' ? html`<p>Name one or more words. Sections that have all of them are found.</p>` : countOf(results.length, searched)}
<ol class="results">${results.map(
      ({ section: { page, title, heading, anchor }, parts }) =>
        html`<li><a href="${page}#${anchor}">${heading === title ? title : `${title}: ${heading}`}</a><p>${parts.map(
          (part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part),
        )}</p></li>`,
    )}</ol>`,
    foot: 'This page has no script.',
  });
}

function countOf(count: number, query: string): Html {
  if (count > 0) return html`<p>${count} ${count === 1 ? 'section has' : 'sections have'} “${query}”.</p>`;
  return html`<p>No section has all words of “${query}”. Try fewer words, or the beginning of one.</p>`;
}

let sections: Promise<Section[]> | undefined;

/** The sections of all pages, read once. A failure is not kept. */
function allSections(): Promise<Section[]> {
  sections ??= readSections().catch((error: unknown) => {
    sections = undefined;
    throw error;
  });
  return sections;
}

async function readSections(): Promise<Section[]> {
  const read = [...PAGES].map(async ([name, { title, load }]) =>
    sectionsOf(name.replace(/\.md$/, ''), title, (await load()).default),
  );
  return (await Promise.all(read)).flat();
}

/** All pages by what a reader wants. */
function pageList(current?: string): Html {
  return html`${GROUPS.map((group) => {
    const pages = [...PAGES].filter(([, page]) => page.group === group);
    return html`<h2>${group}</h2><ul>${pages.map(
      ([name, { title }]) =>
        html`<li><a href="${name.replace(/\.md$/, '')}"${name === current ? raw(' aria-current="page"') : ''}>${title}</a></li>`,
    )}</ul>`;
  })}`;
}

function contentsOf(headings: readonly ListedHeading[]): Html {
  return html`<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${headings.map(
    ({ anchor, words }) => html`<li><a href="#${anchor}">${words}</a></li>`,
  )}</ul></nav>`;
}
