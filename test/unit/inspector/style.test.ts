import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOOK } from '../../../src/reference/look.ts';
import { STYLE } from '../../../src/reference/style.ts';

const FOLDER = join(import.meta.dirname, '../../../inspector/style');

const SHEETS: readonly (readonly [name: string, css: string])[] = [
  ...readdirSync(FOLDER)
    .filter((name) => name.endsWith('.css'))
    .map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')] as const),
  ['look.ts', LOOK],
  ['style.ts', STYLE],
];

/** The names of custom properties that start with a prefix. */
const steps = (prefix: string): readonly string[] =>
  [...LOOK.matchAll(new RegExp(`(--${prefix}-[\\w-]+): `, 'g'))].map(([, name = '']) => name);

interface Declaration {
  readonly property: string;
  readonly value: string;
}

function declarationsOf(css: string): Declaration[] {
  const text = css.replace(/\/\*[\s\S]*?\*\//g, '');
  return [...text.matchAll(/(?<=[{;\s])([\w-]+)\s*:\s*([^;{}]+)(?=[;}])/g)].map(
    ([, property = '', value = '']) => ({ property, value: value.trim() }),
  );
}

const written = ({ property, value }: Declaration): string => `${property}: ${value}`;

describe.each(SHEETS)('%s', (_, css) => {
  const all = declarationsOf(css);

  it('has sizes of type from the scale alone', () => {
    const sizes = all.filter(({ property }) => property === 'font-size' || property === 'font');
    const known = new RegExp(`^inherit$|var\\((?:${steps('text').join('|')})\\)`);

    expect(sizes.filter(({ value }) => !known.test(value)).map(written)).toEqual([]);
  });

  it('has space from the scale alone: between lines, boxes, and within them', () => {
    const spaces = all.filter(({ property }) =>
      /^(?:margin|padding|gap|row-gap|column-gap)(?:-|$)/.test(property),
    );
    const known = new RegExp(`^(?:0|auto|[12]px|var\\((?:${steps('space').join('|')})\\))$`);
    const parts = (value: string): string[] =>
      value.replace(/calc\(-1 \* (var\([\w-]+\))\)/g, '$1').split(/\s+/);

    expect(
      spaces.filter(({ value }) => !parts(value).every((part) => known.test(part))).map(written),
    ).toEqual([]);
  });

  it('has no odd number of pixels but the 1 of a hairline', () => {
    const odd = all.filter(({ value }) =>
      [...value.matchAll(/(?<![\w.])(\d+(?:\.\d+)?)px/g)].some(([, n]) => n !== '1' && Number(n) % 2 !== 0),
    );

    expect(odd.map(written)).toEqual([]);
  });
});

it('every step of type and space that a style names is one of the scale', () => {
  const named = SHEETS.flatMap(([, css]) => [...css.matchAll(/var\((--(?:text|space)-[\w-]+)\)/g)]);
  const known = [...steps('text'), ...steps('space')];

  expect(known.length).toBeGreaterThan(10);
  expect([...new Set(named.map(([, name = '']) => name))].filter((name) => !known.includes(name))).toEqual(
    [],
  );
});

it('every color of the legend, which names them by words, is one of a style', () => {
  const plot = readFileSync(join(FOLDER, '../parts/plot.tsx'), 'utf8');
  const named = [...plot.matchAll(/^ {4}\['[a-z]+', '([a-z-]+)', .+\],$/gm)].map(([, name]) => `--${name}`);
  const known = SHEETS.flatMap(([, css]) => declarationsOf(css).map(({ property }) => property));

  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});
