/** The pages as HTML, of the Worker and of the site, and the search over them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { docPage } from '../../../src/reference/docs/doc-page.ts';
import { htmlOf } from '../../../src/reference/docs/markdown.ts';
import { queryWords, searchSections } from '../../../src/reference/docs/search.ts';
import { anchorOf, sectionsOf } from '../../../src/reference/docs/sections.ts';
import { PAGES } from '../../../src/reference/pages.ts';
import { docsSite } from '../../../tools/docs-site/site.ts';
import { unbalancedTags } from '../../support/documents/tags.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');

const TEXTS = [...PAGES.keys()].map((name) => ({ name, text: read(name) }));
const HTML = new Map(
  await Promise.all(TEXTS.map(async ({ name, text }) => [name, await docPage(name, text)] as const)),
);
const SITE = await docsSite();

/** Of each, its pages by their addresses. */
const PLACES: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  'the Worker': new Map([...HTML].map(([name, html]) => [name.replace(/\.md$/, ''), html])),
  'the site': new Map(
    [...SITE].flatMap(([name, file]) =>
      typeof file === 'string' && name.endsWith('.html') ? [[name, file]] : [],
    ),
  ),
};

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, value = '']) => value);

describe.each(TEXTS)('$name as HTML', ({ name, text }) => {
  const html = HTML.get(name) ?? '';
  const [, main = ''] = /<main[^>]*>([\s\S]*)<footer>/.exec(html) ?? [];

  it('has each heading at the anchor of GitHub', () => {
    const headings = all(text.replace(/^( *)```[\s\S]*?^ *```$/gm, ''), /^#+ (.+)$/gm);
    const seen = new Map<string, number>();
    const anchors = headings.map(anchorOf).map((anchor) => {
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    });

    expect(all(main, /<h[1-6] id="([^"]*)"/g)).toEqual(anchors);
    expect(sectionsOf(name, '', text).map(({ anchor }) => anchor)).toEqual(anchors);
    expect(PAGES.get(name)?.title).toBe(headings[0]);
  });

  it('has no script, loads nothing, and closes what it opens', () => {
    expect(html).not.toMatch(/<(?:script|img|iframe|object|embed|video|audio|base)\b/i);
    expect(html.replace(/<pre[\s\S]*?<\/pre>/g, '')).not.toMatch(/ (?:on\w+|src|srcset|style)="/i);
    expect(unbalancedTags(html)).toEqual({ wrong: [], open: [] });
    expect(html).toContain(' aria-current="page"');
  });

  it('shows all words of its text', () => {
    const plain = (shown: string): string =>
      shown
        .replace(/<[^>]+>/g, ' ')
        .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
        .replace(
          /&(lt|gt|amp|quot|#39);/g,
          (_, of) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[of as 'lt'] ?? "'",
        );
    const wordsIn = (shown: string): Set<string> => new Set(shown.match(/[\p{L}\p{N}]{2,}/gu));
    const shown = wordsIn(plain(main));
    const words = wordsIn(
      sectionsOf(name, '', text)
        .map((section) => `${section.heading} ${section.words}`)
        .join(' '),
    );

    expect([...words].filter((word) => !shown.has(word))).toEqual([]);
  });
});

describe.each(Object.entries(PLACES))('the pages of %s', (where, pages) => {
  /** Outside of the folder of the pages: the Worker's other routes, and the Markdown of a page. */
  const isElsewhere = (link: string): boolean =>
    /^(?:https?|data):/.test(link) || (where === 'the Worker' && /^\.\.\/|\.md$/.test(link));

  it.each([...pages])('link from %s to pages and anchors that there are', (address, html) => {
    const links = all(html, / (?:href|src|action)="([^"]+)"/g).filter((link) => !isElsewhere(link));
    const broken = links.filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = pages.get(path === '' ? address : path);
      if (target === undefined) return !(where === 'the site' && SITE.has(path));
      return anchor !== undefined && !target.includes(` id="${anchor}"`);
    });

    expect(links.length).toBeGreaterThan(20);
    expect(broken).toEqual([]);
  });

  it('have each id once, and no cell of over 300 characters', () => {
    for (const [address, html] of pages) {
      const ids = all(html, / id="([^"]+)"/g);
      expect(ids.length, address).toBe(new Set(ids).size);
      const cells = all(html, /<t[hd]>([\s\S]*?)<\/t[hd]>/g).map((cell) =>
        cell.replace(/<[^>]+>/g, '').replace(/&[#\w]+;/g, '.'),
      );
      expect(
        cells.filter((cell) => cell.length > 300),
        address,
      ).toEqual([]);
    }
  });
});

describe('the site', () => {
  it('has all pages, and asks nothing of another server', () => {
    for (const name of PAGES.keys()) expect([...SITE.keys()]).toContain(name.replace(/\.md$/, '.html'));
    for (const [address, html] of PLACES['the site'] ?? [])
      expect(
        all(html, /<(?:script|img|iframe|link)\b[^>]* (?:src|href)="((?:https?:)?\/[^"]*)"/g),
        address,
      ).toEqual([]);
  });

  it('shows its pictures, which the Worker names alone', () => {
    expect(SITE.get('index.html')).toMatch(/<img src="demo\.svg" alt="[^"]+">/);
    expect(HTML.get('inspector.md')).toContain('[Picture in the repository: ');
  });

  it('searches in the browser as the Worker does', async () => {
    const page = { q: { value: '' }, found: { innerHTML: '' } };
    const script = `${SITE.get('search-index.js')}${new TextDecoder().decode(SITE.get('search.js') as Uint8Array)}`;
    const run = new Function('location', 'document', script);
    run({ search: '?q=Budget+GOAL' }, { getElementById: (id: 'q' | 'found') => page[id] });
    await new Promise((done) => setImmediate(done));

    expect(page.q.value).toBe('Budget GOAL');
    expect(page.found.innerHTML).toContain(
      '<a href="modes.html#a-budget-is-a-goal">Modes: A budget is a goal</a>',
    );
  });
});

it('a page is shown as text where it is no Markdown, and links to no file that is not served', () => {
  const { html } = htmlOf(
    '| | b |\n| --- | --- |\n| a | c |\n\nA <script>alert(1)</script> & `<b>`, [a file](../src/a.ts), [bad](javascript:alert(1)), ![x"y](p.png)',
    new Map([['modes.md', 'modes']]),
  );

  expect(html).not.toMatch(/<script|<b>|javascript|<img|href/);
  expect(html).toContain('<tr><td></td><th>b</th></tr>');
  expect(html).toContain('a file');
  expect(html).toContain('&lt;b&gt;');
  expect(html).toContain('x&#34;y');
});

describe('the search', () => {
  const sections = TEXTS.flatMap(({ name, text }) =>
    sectionsOf(name.replace('.md', ''), PAGES.get(name)?.title ?? '', text),
  );

  it('finds sections that have all words, those with them in their heading first', () => {
    const [first, ...rest] = searchSections(sections, 'Budget GOAL');

    expect(first?.section).toMatchObject({ page: 'modes', heading: 'A budget is a goal' });
    for (const { section } of rest) {
      const text = `${section.title} ${section.heading} ${section.words}`.toLowerCase();
      expect([text.includes('budget'), text.includes('goal')]).toEqual([true, true]);
    }
    expect(searchSections(sections, 'budget no-such-word-anywhere')).toEqual([]);
    expect(searchSections(sections, '  ')).toEqual([]);
  });

  it('takes words as they are, and marks them', () => {
    const words = 'costs $0.5 (a+b)* and ÄRGER';
    const own = [{ page: 'a', title: 'A', heading: 'B', anchor: 'b', words, lower: words.toLowerCase() }];
    for (const query of ['$0.5', '(a+b)*', 'ärger', '\\d'])
      expect(searchSections(own, query).map(({ parts }) => parts[1])).toEqual(
        query === '\\d' ? [] : [query === 'ärger' ? 'ÄRGER' : query],
      );
  });

  it('is bounded: results, and words', () => {
    expect(searchSections(sections, 'a').length).toBe(30);
    expect(queryWords('a b c d e f g h i')).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  });
});
