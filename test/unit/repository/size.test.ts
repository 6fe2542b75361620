/** `src/` grows only by decision: what is added names what went for it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Growth that needs no decision. More shrinking is written down, lest it is given away again. */
const MARGIN = 0.01;

const lines = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .reduce((sum, path) => sum + read(join('src', path)).split('\n').length - 1, 0);

const [, table = ''] = read('docs/decisions/README.md').split('## Size of the house');
/** Rows of the table: date, lines of `src/`, what came, what went for it. */
const decided = [...table.matchAll(/^\| \d{4}-\d\d-\d\d +\| ([\d,]+) +\| .+? +\| (.+?) +\|$/gm)].map(
  ([, size = '', went = '']) => ({ size: Number(size.replaceAll(',', '')), went }),
);

it('is within 1 % of the size of `src/` that was decided last', () => {
  const { size } = decided.at(-1) ?? { size: 0 };

  expect(lines, 'larger: add a row to docs/decisions that names what went for it').toBeLessThanOrEqual(
    size * (1 + MARGIN),
  );
  expect(lines, 'smaller: add a row to docs/decisions with the new size').toBeGreaterThanOrEqual(
    size * (1 - MARGIN),
  );
});

it('names what went where `src/` was allowed to grow', () => {
  const grown = decided.filter(({ size }, at) => size > (decided[at - 1]?.size ?? size));

  expect(decided.length).toBeGreaterThan(0);
  expect(grown.filter(({ went }) => went.length < 20)).toEqual([]);
});
