/** The pages of `docs/` and their search, as HTML for browsers. */
import { html, raw } from 'hono/html';
import type { Html } from '../page/schema.ts';
import { GROUPS, PAGES } from '../pages.ts';
import { inShell } from '../shell.ts';
import { htmlOf, type ListedHeading } from './markdown.ts';
import { type Place, workerBar } from './place.ts';
import { searchResults } from './search.ts';
import { type Section, sectionsOf } from './sections.ts';

const WORKER: Place = {
  bar: workerBar('../'),
  ending: '',
  addresses: new Map([...PAGES.keys()].map((name) => [name, addressOf(name, '')])),
};

/**
 * A page of the documentation, as the Worker serves it.
 *
 * @param name of its file, one of `PAGES`
 * @param markdown its text
 */
export function docPage(name: string, markdown: string): Promise<string> {
  const { title = name, about = '' } = PAGES.get(name) ?? {};
  const foot = html`The same as Markdown: <a href="${name}">${name}</a>. This page has no script.`;
  return pageAt(WORKER, { name, title, about, markdown, foot });
}

export interface PageText {
  /** Of its file. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly markdown: string;
  readonly foot: Html;
}

/** A page with the list of all pages, and the list of its headings. */
export function pageAt(place: Place, { name, title, about, markdown, foot }: PageText): Promise<string> {
  const { html: body, headings } = htmlOf(markdown, place.addresses);
  return inShell({
    title: title === 'Precis' ? title : `${title} · Precis`,
    description: `${title}: ${about}.`,
    bar: place.bar,
    side: { label: 'All pages', list: pageList(place, name) },
    main: html`${raw(body)}`,
    contents: headings.length > 1 ? contentsOf(headings) : undefined,
    foot,
  });
}

/** What a search found. */
export async function searchPage(query: string): Promise<string> {
  const found = searchResults(await allSections(), query, WORKER.ending);
  return searchPageAt(WORKER, { query, found, foot: html`This page has no script.` });
}

interface Found {
  readonly query?: string;
  readonly found: Html;
  readonly foot: Html;
}

export function searchPageAt(place: Place, { query = '', found, foot }: Found): Promise<string> {
  return inShell({
    title: 'Search · Precis',
    description: 'A search over all pages of the documentation.',
    bar: place.bar,
    query,
    side: { label: 'All pages', list: pageList(place) },
    main: html`<h1>Search</h1>
${found}`,
    foot,
  });
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
    sectionsOf(addressOf(name, ''), title, (await load()).default),
  );
  return (await Promise.all(read)).flat();
}

/** A page's address within the folder of all pages. */
export function addressOf(name: string, ending: string): string {
  return `${name.replace(/\.md$/, '')}${ending}`;
}

/** All pages by what a reader wants. */
function pageList({ ending }: Place, current?: string): Html {
  return html`${GROUPS.map((group) => {
    const pages = [...PAGES].filter(([, page]) => page.group === group);
    return html`<h2>${group}</h2><ul>${pages.map(
      ([name, { title }]) =>
        html`<li><a href="${addressOf(name, ending)}"${name === current ? raw(' aria-current="page"') : ''}>${title}</a></li>`,
    )}</ul>`;
  })}`;
}

function contentsOf(headings: readonly ListedHeading[]): Html {
  return html`<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${headings.map(
    ({ anchor, words }) => html`<li><a href="#${anchor}">${words}</a></li>`,
  )}</ul></nav>`;
}
