/** The page at `/docs`, as HTML. */
import { describe, expect, it } from 'vitest';
import type { ApiDocument } from '../../../src/reference/document.ts';
import { pageOf } from '../../../src/reference/page/page.ts';
import { OPERATIONS } from '../../../src/reference/table.ts';
import { ERRORS } from '../../../src/request/error-codes.ts';
import { sentDocument } from '../../support/deployment/api-parts.ts';
import { unbalancedTags } from '../../support/documents/tags.ts';

const document = sentDocument();
const page = await pageOf(document);

const all = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, value = '']) => value);

describe('the page', () => {
  it('has each route, header and schema, each at an anchor of its own', () => {
    const ids = all(/ id="([^"]+)"/g);

    expect(new Set(ids).size).toBe(ids.length);
    expect(OPERATIONS.filter(({ id }) => !ids.includes(id)).map(({ id }) => id)).toEqual([]);
    const { schemas, headers, parameters } = document.components;
    expect(Object.keys(schemas).filter((name) => !ids.includes(`schema-${name}`))).toEqual([]);
    const names = [...Object.keys(headers), ...Object.keys(parameters)];
    expect(names.filter((name) => !page.includes(`<code>${name}</code>`))).toEqual([]);
  });

  it('links only to its own anchors, to this deployment, and to the document of OpenAI', () => {
    const ids = new Set(all(/ id="([^"]+)"/g));
    const links = all(/ href="([^"]+)"/g);
    const others = links.filter((link) => !(link.startsWith('#') && ids.has(link.slice(1))));
    const bar = ['.', 'docs/getting-started', 'docs', 'inspect', '#main', '#side'];
    const outside = others.filter((link) => !link.startsWith('/') && !bar.includes(link));

    expect(links.length).toBeGreaterThan(100);
    expect([...new Set(outside)]).toEqual([
      expect.stringMatching(/^data:image/),
      'https://app.stainless.com/api/spec/documented/openai/openapi.documented.yml',
    ]);
  });

  it('has no script, and nothing that a browser would load', () => {
    expect(page).not.toMatch(/<(?:script|img|iframe|object|embed|video|audio|base)\b/i);
    expect(page).not.toMatch(/ (?:on\w+|src|srcset|style)="/i);
    expect(page).not.toMatch(/@import|url\(/);
    expect(all(/<link ([^>]*)>/g)).toEqual([
      expect.stringMatching(/^rel="icon" href="data:image\/svg\+xml,[^"]+"$/),
    ]);
  });

  it('closes what it opens, in order', () => {
    expect(unbalancedTags(page)).toEqual({ wrong: [], open: [] });
  });

  it('shows an example of each route', () => {
    const examples = all(/<pre tabindex="0" role="region" aria-label="curl: ([^"]+)"/g);

    expect(examples.toSorted()).toEqual(
      OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`).toSorted(),
    );
  });

  it('is read by a screen reader: a language, a title, one h1, and headings in order', () => {
    const levels = all(/<h([1-6])\b/g).map(Number);
    const jumps = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);

    expect(page).toContain('<html lang="en">');
    expect(page).toMatch(/<title>[^<]+<\/title>/);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    expect(jumps).toEqual([]);
  });

  it('says once what each error code means, and links to it from each answer with the code', () => {
    const anchors = all(/<p id="error-([a-z_]+)">/g);
    const meanings = anchors.map(
      (code) => new RegExp(`<p id="error-${code}">(.*?)</p>`).exec(page)?.[1] ?? '',
    );
    const answered = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) =>
        Object.values(responses).flatMap(({ description }) =>
          [...description.matchAll(/^`([a-z_]+)`: /gm)].map(([, code = '']) => code),
        ),
      ),
    );

    expect(anchors.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
    expect(meanings.filter((meaning) => page.split(meaning).length !== 2)).toEqual([]);
    expect(answered.length).toBeGreaterThan(100);
    expect(all(/ href="#error-([a-z_]+)"/g).toSorted()).toEqual(answered.toSorted());
  });

  it('escapes whatever is in the document', async () => {
    const hostile = '<script>alert(1)</script>"&';
    const shown = JSON.parse(
      JSON.stringify(document).replaceAll('What happens to old messages.', '<script>alert(1)</script>&'),
    ) as ApiDocument;
    const escaped = await pageOf({ ...shown, tags: [{ name: hostile, description: hostile }] });

    expect(escaped).not.toContain('<script>');
    expect(escaped).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('is small', () => {
    expect(page.length).toBeLessThan(370_000);
  });
});
