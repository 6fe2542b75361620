/** The figures of docs/vendors.md are in the tables that requests use. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { windowOf } from '../../../src/memory/models/facts.ts';
import { rowOf } from '../../../src/memory/models/families.ts';
import { PUBLISHED_PRICES } from '../../../src/memory/models/published-prices.ts';
import { retirementOf } from '../../../src/memory/models/retirements.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';
import { BODY_LIMITS } from '../../../src/upstream/body-limits.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/vendors.md'), 'utf8');

/** The cells of the table below a heading, without its head. */
function rowsBelow(heading: string): string[][] {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`);
  const [table = ''] = section.split('\n## ');
  const lines = table.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const named = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
/** A Monday, at an hour without higher prices. */
const AT = { day: '2026-11-30', weekday: 1, hour: 12 };
/** The day of a copy, or the month where its day is not known. */
const DATE = /\(20\d\d-\d\d(-\d\d)?\)|, 20\d\d-\d\d(-\d\d)?\)/;
const FAMILIES = rowsBelow('Families').map((cells) => [cells[0] ?? '', cells] as const);
const PRICES = rowsBelow('Prices').flatMap((cells) =>
  named(cells[0]).map((model) => [model, cells] as const),
);
const RETIREMENTS = rowsBelow('Switched off').flatMap((cells) =>
  named(cells[0]).map((model) => [model, cells] as const),
);

describe('the page of the vendors', () => {
  it('has the limits of bytes that requests are planned within, with sources', () => {
    const rows = rowsBelow('Limits of bytes');
    const figures = rows.map((cells) => [named(cells[0])[0], Number(cells[1]?.replaceAll(',', ''))]);
    expect(figures).toEqual(BODY_LIMITS.map(({ host, bytes }) => [host, bytes]));
    for (const cells of rows) expect(cells[3]).toMatch(DATE);
  });

  it('names models', () => {
    expect(FAMILIES.length).toBeGreaterThan(8);
    expect(PRICES.length).toBeGreaterThan(10);
    expect(RETIREMENTS.length).toBeGreaterThan(10);
  });

  it.each(FAMILIES)('has each fact of %s, with sources and their dates', (_, cells) => {
    expect(cells.filter((cell) => cell !== '')).toHaveLength(7);
    expect(cells[6]).toMatch(/\]\(|second hand/);
    expect(cells[6]).toMatch(DATE);
  });

  it.each(PRICES)('names the source of the prices of %s', (model, cells) => {
    const { source, asOf, isSecondHand = false } = rowOf(model, PUBLISHED_PRICES) ?? {};
    expect(cells[7]).toContain(`](${source}) (${asOf})`);
    expect(cells[7]?.startsWith('second hand: ')).toBe(isSecondHand);
  });

  it.each(RETIREMENTS)('names the source of the end of %s', (_, cells) => {
    expect(cells[3]).toMatch(/\]\(https:/);
    expect(cells[3]).toMatch(DATE);
  });

  it.each(PRICES)('has the prices and the window of %s', (model, [, ...cells]) => {
    const { fresh, cached, written, output, step } = scheduleOf(model, AT) ?? {};
    const above = step ? `${step.above.toLocaleString('en-US')} (${step.input})` : '–';
    const window = windowOf(model).toLocaleString('en-US');
    expect(cells.slice(0, 6)).toEqual([`${fresh}`, `${cached}`, `${written}`, `${output}`, above, window]);
  });

  it.each(RETIREMENTS)('says when %s ends, and what comes in its place', (model, [, on, replacement]) => {
    const { on: day, replacement: next } = retirementOf(model) ?? {};
    expect([on, named(replacement)]).toEqual([day, next === undefined ? [] : [next]]);
  });
});
