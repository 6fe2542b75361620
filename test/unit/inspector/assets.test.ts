import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleInspector, NAMES } from '../../../tools/inspector.ts';

/** In bytes, gzipped, for all of the page together. */
const MOST = 150_000;

describe('the inspector’s files', () => {
  let bundle: ReadonlyMap<string, Uint8Array>;

  beforeAll(async () => {
    bundle = await bundleInspector();
  });

  it('are the two that the page loads', () => {
    expect([...bundle.keys()].toSorted()).toEqual([...NAMES].toSorted());
  });

  it('are small together', () => {
    const bytes = [...bundle.values()].map((contents) => gzipSync(contents).length);

    expect(Math.min(...bytes)).toBeGreaterThan(1_000);
    expect(bytes.reduce((total, size) => total + size, 0)).toBeLessThan(MOST);
  });

  it('keep no key in the browser, make no markup of a text, and name no other host', () => {
    const text = [...bundle.values()].map((contents) => new TextDecoder().decode(contents)).join('\n');

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
