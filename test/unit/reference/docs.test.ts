/** The pages of `docs/` as HTML, and the search over them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorOf } from '../../../src/reference/docs/anchors.ts';
import { docPage } from '../../../src/reference/docs/doc-page.ts';
import { htmlOf } from '../../../src/reference/docs/markdown.ts';
import { queryWords, searchSections } from '../../../src/reference/docs/search.ts';
import { sectionsOf } from '../../../src/reference/docs/sections.ts';
import { PAGES } from '../../../src/reference/pages.ts';

import { unbalancedTags } from '../../support/documents/tags.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');

const TEXTS = [...PAGES.keys()].map((name) => ({ name, text: read(name) }));
const HTML = new Map(
  await Promise.all(TEXTS.map(async ({ name, text }) => [name, await docPage(name, text)] as const)),
);

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

  it('links to addresses, and to pages and anchors that there are', () => {
    const links = all(html, / href="([^"]+)"/g).filter((link) => !/^(?:https?|data):|^\.\.\//.test(link));
    const broken = links.filter((link) => {
      const [path = '', anchor] = link.split('#');
      if (path === name) return false;
      const target = path === '' ? html : HTML.get(`${path}.md`);
      return target === undefined || (anchor !== undefined && !target.includes(` id="${anchor}"`));
    });

    expect(links.length).toBeGreaterThan(20);
    expect(broken).toEqual([]);
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

it('a page is shown as text where it is no Markdown, and links to no file that is not served', () => {
  const { html } = htmlOf(
    'A <script>alert(1)</script> & `<b>`, [a file](../src/a.ts), [bad](javascript:alert(1)), ![x"y](p.png)',
    new Set(['modes.md']),
  );

  expect(html).not.toMatch(/<script|<b>|javascript|<img|href/);
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
