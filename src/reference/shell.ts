/** What all pages have: a bar with the search, and a list at the side. */
import { html, raw } from 'hono/html';
import { ICON, MARK } from './mark.ts';
import type { Html } from './page/schema.ts';
import { STYLE } from './style.ts';

/** The addresses that the bar leads to. */
export interface Bar {
  readonly home: string;
  readonly links: readonly (readonly [label: string, address: string])[];
  readonly search: string;
}

interface Shell {
  readonly title: string;
  readonly description: string;
  readonly bar: Bar;
  /** What was searched for. */
  readonly query?: string;
  /** The list at the side, with its name. */
  readonly side: { readonly label: string; readonly list: Html };
  readonly main: Html;
  /** What is on this page, if it is listed. */
  readonly contents?: Html | undefined;
  readonly foot: string | Html;
}

export async function inShell(shell: Shell): Promise<string> {
  const { title, description, bar, query = '', side, main, contents = '', foot } = shell;
  const page = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
${raw(ICON)}
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="${bar.home}">${raw(MARK)}Precis</a>
<nav aria-label="Precis">${bar.links.map(([label, address]) => html`<a href="${address}">${label}</a> `)}</nav>
<form action="${bar.search}" role="search"><label for="q" class="hidden">Search the documentation</label><input id="q" name="q" type="search" placeholder="Search" value="${query}" maxlength="200" autocomplete="off"><button>Search</button></form>
<a class="to-side" href="#side">${side.label}</a>
</header>
<main id="main" tabindex="-1">${main}
<footer><p class="quiet">${foot}</p></footer></main>
<nav id="side" class="side" aria-label="${side.label}">${side.list}</nav>
${contents}
</body>
</html>`;
  return page.toString();
}
