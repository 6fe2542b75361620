/** The figures of docs/vendors.md are those of the tables that requests use. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { windowOf } from '../../../src/memory/models/facts.ts';
import { retirementOf } from '../../../src/memory/models/retirements.ts';
import { scheduleOf } from '../../../src/memory/models/schedules.ts';

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
const PRICES = rowsBelow('Prices').flatMap((cells) =>
  named(cells[0]).map((model) => [model, cells] as const),
);
const RETIREMENTS = rowsBelow('Switched off').flatMap((cells) =>
  named(cells[0]).map((model) => [model, cells] as const),
);

describe('the page of the vendors', () => {
  it('names models', () => {
    expect(PRICES.length).toBeGreaterThan(10);
    expect(RETIREMENTS.length).toBeGreaterThan(10);
  });

  it.each(PRICES)('has the prices and the window of %s', (model, [, ...cells]) => {
    const { fresh, cached, written, output, step } = scheduleOf(model, AT) ?? {};
    const above = step ? `${step.above.toLocaleString('en-US')} (${step.input})` : '–';
    const window = windowOf(model).toLocaleString('en-US');
    expect(cells).toEqual([`${fresh}`, `${cached}`, `${written}`, `${output}`, above, window]);
  });

  it.each(RETIREMENTS)('says when %s ends, and what comes in its place', (model, [, on, replacement]) => {
    const { on: day, replacement: next } = retirementOf(model) ?? {};
    expect([on, named(replacement)]).toEqual([day, next === undefined ? [] : [next]]);
  });
});
