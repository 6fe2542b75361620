/**
 * Fills the tables of the pages, and draws the picture, from the results of recorded conversations
 * (`npm run bench:pages`, after `npm run bench:results`).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type RecordedResults,
  scheduleBills,
  withBenchmark,
  withBudgets,
  withMeasurements,
} from './replay/page.ts';
import { drawPicture } from './replay/picture.ts';
import { BOUND, SCHEDULES } from './replay/schedules.ts';

const ROOT = join(import.meta.dirname, '..');

const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(ROOT, 'bench/results', `recorded-${name}.json`), 'utf8'));

const results = {
  schedules: Object.fromEntries(SCHEDULES.map((name) => [name, read(name)])),
  sensitivity: read('prefix-128-sensitivity'),
  budgets: read('prefix-128-budgets'),
  windows: read('prefix-128-windows'),
  pauses: read('prefix-128-pauses'),
  markedPauses: read('anthropic-5m-pauses'),
  reasoning: Object.fromEntries(
    BOUND.map((name) => [name, (read(`${name}-reasoning`) as { reasoning: unknown }).reasoning]),
  ),
} as RecordedResults;

for (const [page, fill] of [
  ['docs/benchmark.md', withBenchmark],
  ['docs/measurements.md', withMeasurements],
  ['docs/modes.md', withBudgets],
] as const) {
  const path = join(ROOT, page);
  writeFileSync(path, fill(readFileSync(path, 'utf8'), results));
}
writeFileSync(
  join(ROOT, 'bench/replay.svg'),
  drawPicture(results.schedules['prefix-128'].all, scheduleBills(results)),
);
