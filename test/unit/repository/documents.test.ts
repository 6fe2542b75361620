/** The documents must name tests that exist. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.test.ts'),
);
/** The numbers that tests' titles begin with. */
const numbers = new Set(
  tests.flatMap((path) =>
    [...read(join('test', path)).matchAll(/['`"](F\d+): /g)].map(([, number]) => number),
  ),
);

describe.each(['SECURITY.md', 'CHANGELOG.md'])('%s', (document) => {
  it('names findings that a test shows', () => {
    const named = new Set([...read(document).matchAll(/\bF\d+\b/g)].map(([number]) => number));

    expect(named.size).toBeGreaterThan(0);
    expect([...named].filter((number) => !numbers.has(number))).toEqual([]);
  });

  it('names test files that there are', () => {
    const named = [...read(document).matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, file]) => `/${file}`);

    expect(named.filter((file) => !tests.some((path) => `/${path}`.endsWith(file)))).toEqual([]);
  });
});
