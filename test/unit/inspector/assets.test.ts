import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleInspector, NAMES } from '../../../tools/inspector.ts';

/** In bytes, gzipped: of what is loaded before the first paint. */
const MOST_AT_FIRST = 70_000;

/** Likewise, with the part that a screen loads when it is shown. */
const MOST_FOR_A_SCREEN = 90_000;

describe('the inspector’s files', () => {
  let bundle: ReadonlyMap<string, string>;

  beforeAll(async () => {
    bundle = await bundleInspector();
  });

  const textOf = (name: string): string => bundle.get(name) ?? '';

  /** A file with all that it imports at once. */
  const withImports = (name: string, known: ReadonlySet<string> = new Set()): Set<string> => {
    let all = new Set([...known, name]);
    for (const [, imported = ''] of textOf(name).matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g))
      if (!all.has(imported)) all = withImports(imported, all);
    return all;
  };

  const lateFiles = (): string[] =>
    [...bundle.values()].flatMap((text) =>
      [...text.matchAll(/import\("\.\/([\w-]+\.js)"\)/g)].map(([, name = '']) => name),
    );

  const sizeOf = (names: Iterable<string>): number =>
    [...names].reduce((total, name) => total + gzipSync(textOf(name)).length, 0);

  it('are the two that the page names, and those that these import', () => {
    const imported = [...new Set(lateFiles())].reduce(
      (all, name) => withImports(name, all),
      withImports('inspector.js'),
    );

    expect([...bundle.keys()].toSorted()).toEqual([...imported, 'inspector.css'].toSorted());
    for (const name of imported) if (name !== NAMES[0]) expect(name).toMatch(/^[\w-]+-[A-Z0-9]{8}\.js$/);
  });

  it('are small, at first and for each screen', () => {
    const first = new Set([...withImports('inspector.js'), 'inspector.css']);
    const screens = [...new Set(lateFiles())].map((name) => withImports(name, first));

    expect(screens.length).toBeGreaterThan(2);
    expect(sizeOf(first)).toBeGreaterThan(10_000);
    expect(sizeOf(first)).toBeLessThan(MOST_AT_FIRST);
    expect(Math.max(...screens.map(sizeOf))).toBeLessThan(MOST_FOR_A_SCREEN);
  });

  it('keep no key in the browser, make no markup of a text, and name no other host', () => {
    const text = [...bundle.values()].join('\n');

    expect(text).not.toMatch(/indexedDB|document\.cookie/);
    // A sign-in keeps a sealed text (`inspector/api/sign-in.ts`).
    expect([...text.matchAll(/\.setItem\(/g)]).toHaveLength(1);
    expect(text).not.toMatch(/\beval\(|new Function\(|document\.write|insertAdjacentHTML/);
    expect(text).not.toMatch(/@import|url\(/);
    const hosts = [...text.matchAll(/\bhttps?:\/\/([\w.-]+)/g)].map(([, host]) => host);
    // Names of XML, and the license's address in a comment.
    expect(hosts.filter((host) => host !== 'www.w3.org' && host !== 'github.com')).toEqual([]);
  });
});
