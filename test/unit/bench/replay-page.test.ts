import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUDGETS, budgetFigures } from '../../../bench/replay/budgets.ts';
import { compare } from '../../../bench/replay/compare.ts';
import { byLength } from '../../../bench/replay/lengths.ts';
import {
  type RecordedResults,
  scheduleBills,
  withBenchmark,
  withBudgets,
  withMeasurements,
} from '../../../bench/replay/page.ts';
import { drawPicture } from '../../../bench/replay/picture.ts';
import { type Policy, rewriting } from '../../../bench/replay/policy.ts';
import { figuresOf, together } from '../../../bench/replay/results.ts';
import {
  type Run,
  writeBudgets,
  writeReasoning,
  writeResults,
  writeReturns,
  writeSensitivity,
  writeWindows,
} from '../../../bench/replay/results-file.ts';
import { SCHEDULES } from '../../../bench/replay/schedules.ts';
import { sensitivityOf } from '../../../bench/replay/sensitivity.ts';
import { assistant, calls, result, user } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const ROOT = join(import.meta.dirname, '../../..');
const prices = { cached: 0.1, written: 1, output: 4 };

const messages = [
  user(`Find it. ${'word '.repeat(2_000)}`),
  calls(['a', 'f']),
  result('a', 'ord-471147 and ord-471148'),
  assistant('ord-471147'),
  user('And?'),
];

const none = rewriting('none', 'none', (all) => all);
const cleared = (name: string, maker: Policy['maker']): Policy =>
  rewriting(name, maker, (all) => all.map((one) => (one.role === 'tool' ? { ...one, content: '' } : one)));
const others = [
  cleared('auto, 32k', 'precis'),
  cleared('OpenCode prune', 'peer'),
  cleared('ai@1.2.3 pruneMessages', 'peer'),
];

const folder = mkdtempSync(join(tmpdir(), 'pages-'));
afterAll(() => rmSync(folder, { recursive: true }));

const lost = { moves: 4, lost: 90, carried: 0, open: 3, early: 0, paidToNone: 0.5, thoughtAgain: 0.6 };
const reasoning = ['mcp', 'all'].flatMap((set) =>
  ['auto, 32k', 'native, 32k', 'native, 32k, item of 0.2'].map((policy) => ({
    ...{ set, policy, conversations: 1, requests: 1_500, near: 3, nearValues: 4 },
    ...lost,
  })),
);

let results: RecordedResults;
beforeAll(async () => {
  const traces = new Map(['swe', 'mcp'].map((file) => [file, [{ file, messages, reuse: [] }]]));
  const sets = [];
  for (const [name, of] of traces) sets.push(await compare(name, of, { none, others }, prices, counter));
  const all = together(sets);
  const read = (name: string) => JSON.parse(readFileSync(join(folder, `recorded-${name}.json`), 'utf8'));
  for (const schedule of SCHEDULES) {
    const run: Run = { source: 'recorded', schedule, prices, packages: {}, traces };
    writeResults(folder, run, sets.map(figuresOf), byLength(all).map(figuresOf), figuresOf(all));
    if (schedule === 'gpt-6') writeReasoning(folder, run, reasoning);
    if (schedule !== 'prefix-128') continue;
    const given = [...traces.values()].flat();
    writeSensitivity(folder, run, await sensitivityOf(given, prices, () => ({ none, others }), counter));
    const budgeted = { none, others: BUDGETS.map((budget) => cleared(`${budget}`, 'precis')) };
    writeBudgets(folder, run, await budgetFigures(traces, prices, () => budgeted, counter));
    const figures = { lifetime: 5, requests: 1_500, returns: 40, made: 9, allWithout: 0.5, allWith: 0.25 };
    const returns = { set: 'swe', conversations: 1, ...figures, returnsWithout: 0.4, returnsWith: 0.3 };
    writeReturns(folder, run, [returns]);
    writeWindows(folder, run, [
      window(50_000, 0.5, 2, 2, 4),
      window(100_000, 0.6, 1, 3, 5),
      window(200_000, 0.7, 1, 3, 5),
      window(800_000, 0.8, 0, 4, 6),
    ]);
  }
  results = {
    schedules: Object.fromEntries(SCHEDULES.map((name) => [name, read(name)])),
    sensitivity: read('prefix-128-sensitivity'),
    budgets: read('prefix-128-budgets'),
    windows: read('prefix-128-windows'),
    pauses: read('prefix-128-pauses'),
    markedPauses: read('prefix-128-pauses'),
    reasoning: { 'gpt-6': read('gpt-6-reasoning').reasoning },
  } as RecordedResults;
});

const window = (budget: number, paidToNone: number, dearer: number, near: number, visible: number) => ({
  ...{ set: 'all' as const, cached: 0.1, written: 1, goal: 100_000, conversations: 2, worst: 1 },
  ...{ budget, paidToNone, dearer, near, nearValues: 4, visible, values: 10 },
});

const page = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');
const rows = (text: string, name: string): string[] => {
  const [, table = ''] = text.split(`<!-- bench:replay ${name} -->`);
  const [lines = ''] = table.split('<!-- /bench:replay -->');
  return lines.split('\n').flatMap((line) => (line.startsWith('|') ? [line.replaceAll(/ +/g, ' ')] : []));
};

describe('the pages with results of the replay', () => {
  it('have near use, of all and of each set, and the names of the policies', () => {
    const filled = withBenchmark(page('benchmark.md'), results);

    const [head, , ...policies] = rows(filled, 'results');
    expect(head).toContain('| near use | 95 % | of large | visible |');
    expect(policies.map((row) => row.split(' |')[0])).toEqual([
      '| `auto`, 32 k',
      "| OpenCode's prune",
      '| `pruneMessages` of ai 1.2.3',
    ]);
    expect(policies[0]).toContain('| 0.0 % |');
    expect(rows(filled, 'sets')[0]).toBe('| | `swe` (1, 0) | `mcp` (1, 0) |');
    expect(rows(filled, 'sets')[2]).toMatch(/^\| `auto`, 32 k \| 0\.\d{3}, 0\.0 % \| 0\.\d{3}, 0\.0 % \|$/);
    expect(rows(filled, 'schedules')[0]).toBe(
      `| | ${SCHEDULES.map((name) => `\`${name}\`, 0.1 / 1`).join(' | ')} |`,
    );
    expect(rows(filled, 'schedules')[2]).toMatch(/^\| `auto`, 32 k \|(?: 0\.\d{3} \(0, 0\.\d\d\) \|){5}$/);
    expect(rows(filled, 'prices')[0]).toBe(
      "| read / write | `auto`, 32 k | OpenCode's prune | `pruneMessages` of ai 1.2.3 |",
    );
  });

  it('have the costs of settings', () => {
    const filled = withMeasurements(page('measurements.md'), results);

    expect(rows(filled, 'replay').map((row) => row.split(' |')[0])).toEqual([
      '|',
      '| ----------------',
      '| `none`',
      '| `auto`, 32 k',
      "| OpenCode's prune",
    ]);
  });

  it('have the budgets', () => {
    const filled = withBudgets(page('modes.md'), results);

    expect(rows(filled, 'budgets')[2]).toMatch(/^\| `swe`, 0\.1 \| 0\.\d{3} \|/);
    expect(rows(filled, 'spread')[2]).toBe('| 16 k | 0 of 2 | 50 % | 0.0 % | – |');
  });

  it('have the reasoning that moves lose', () => {
    const filled = withBenchmark(page('benchmark.md'), results);

    expect(rows(filled, 'reasoning').slice(2)).toEqual([
      '| `gpt-6`, `auto`, 32 k | 4 | 90 | 22.5 | 0 | 3 | 0 | 0.500 | 0.600 | 75.0 % |',
      '| `gpt-6`, `native`, 32 k | 4 | 90 | 22.5 | 0 | 3 | 0 | 0.500 | 0.600 | 75.0 % |',
    ]);
    expect(rows(filled, 'reasoning-sets').slice(0, 3)).toEqual([
      '| | `mcp` |',
      expect.stringMatching(/^\| -+ \| -+ \|$/),
      '| `auto`, 32 k | 22.5, 0.500 (0.600), 75.0 % |',
    ]);
  });

  it('have the budget that a price makes, with half and twice of it, and the end of the window', () => {
    const filled = withBenchmark(page('benchmark.md'), results);

    expect(rows(filled, 'windows')[2]).toBe(
      '| 0.1 / 1 | 100 k | 0.600 (1) | 0.500 (2) | 0.700 (1) | 0.800 (0) | 75.0 % (100 %) | 50.0 % (60.0 %) |',
    );
  });

  it('have the returns after pauses', () => {
    const filled = withBenchmark(page('benchmark.md'), results);

    expect(rows(filled, 'returns')[2]).toBe(
      '| `swe`, 5 minutes | 40 of 1,500 | 9 | 0.400 | 0.300 | 0.500 | 0.250 |',
    );
  });

  it('stay as they are when they are filled again', () => {
    const once = withBenchmark(page('benchmark.md'), results);
    expect(withBenchmark(once, results)).toBe(once);
  });
});

describe('the picture', () => {
  it('has both figures of each policy, once', () => {
    const picture = drawPicture(results.schedules['prefix-128'].all, scheduleBills(results));

    expect(picture.match(/<g /g)).toHaveLength(3);
    expect(picture.match(/>auto, 32k</g)).toHaveLength(2);
    expect(picture.match(/>[^<]*: read [^<]*</g)).toHaveLength(SCHEDULES.length);
    expect(picture.match(/; 0 of 2 unedited</g)).toHaveLength(SCHEDULES.length);
    expect(picture).toMatch(/auto, 32k: bill 0\.\d\d, 0 % and 0 %/);
  });
});
