import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Cell, Figures } from '../../../bench/proxy/measure.ts';
import { withTables } from '../../../bench/proxy/page.ts';
import type { SampledCell } from '../../../bench/proxy/sample.ts';

const figures = (subject: Figures['subject'], p50: number, median: number, cpu: number): Figures => ({
  subject,
  p50,
  p95: 2 * p50,
  ratio: { median, low: median - 0.25, high: median + 0.25 },
  requestsPerSecond: 1_000 / p50,
  cpu,
  bytesUp: 1_000,
});

const cell = (fields: Partial<Cell> = {}): Cell => ({
  bytes: 118_000,
  mode: 'compact',
  situation: 'again',
  deltas: 0,
  connections: 1,
  rounds: 30,
  figures: [figures('bare', 2, 1, 1.44), figures('precis', 5.04, 2.5, 123.4)],
  ...fields,
});

const places = (costs: string, streams: string): string => `Some text.

<!-- bench:proxy costs -->
${costs}
<!-- /bench:proxy -->

<!-- bench:proxy streams -->
${streams}
<!-- /bench:proxy -->

The end.
`;
const page = places('', '');

describe('the tables of the page', () => {
  it('leave out conversations that come again and short streams', () => {
    expect(withTables(page, [cell(), cell({ situation: 'unseen' }), cell({ deltas: 4 })])).toBe(page);
  });

  it('show what a known and an unseen request cost, with the event of an edited conversation', () => {
    const some = (
      situation: Cell['situation'],
      mode: Cell['mode'],
      cpu: number,
      ms?: number,
    ): SampledCell => ({
      ...cell({ situation, mode, figures: [figures('bare', 2, 1, 1), figures('precis', 4, 2, cpu)] }),
      ...(ms === undefined ? {} : { worker: { all: ms, kept: ms - 1, moved: undefined, functions: [] } }),
    });
    const cells = [
      some('growing', 'none', 14, 4),
      some('growing', 'auto', 25, 10),
      some('unseen', 'auto', 90, 50),
      some('growing', 'compact', 5),
      cell({ situation: 'growing', connections: 8 }),
    ];

    const rows = withTables(page, cells)
      .split('\n')
      .filter((line) => line.startsWith('| 118 kB'))
      .map((line) => line.replace(/ +/g, ' '));
    expect(rows).toEqual([
      '| 118 kB, `none` | 3.0 | – | – | 14.0 | – | $0.38 | – |',
      '| 118 kB, `auto` | 9.0 | – | 50.0 | 25.0 | 90.0 | $1.67 | $2.47 |',
      '| 118 kB, `compact` | – | – | – | 5.0 | – | – | – |',
    ]);
  });

  it('show the CPU time of long streams, and the median of the bare Worker', () => {
    const stream = (mode: Cell['mode'], bare: number, cpu: number): Cell =>
      cell({ mode, deltas: 40_000, figures: [figures('bare', 1, 1, bare), figures('precis', 1, 1, cpu)] });
    const cells = [stream('none', 18, 150), stream('auto', 20, 266), stream('rolling_summary', 16, 290)];

    expect(withTables(page, cells)).toBe(
      places(
        '',
        `|                   | CPU     |
| ----------------- | ------- |
| bare Worker       | 18.0 ms |
| \`none\`            | 150 ms  |
| \`auto\`            | 266 ms  |
| \`rolling_summary\` | 290 ms  |`,
      ),
    );
  });

  it('replace an earlier run’s, and stay when a run has nothing for them', () => {
    const first = withTables(page, [cell({ situation: 'growing' }), cell({ deltas: 40_000 })]);

    expect(first).toContain('| 118 kB, ');
    expect(withTables(first, [])).toBe(first);
    const other = withTables(first, [cell({ situation: 'growing', bytes: 1_000 })]);
    expect(other).not.toContain('| 118 kB, ');
    expect(withTables(other, [cell({ situation: 'growing' })])).toBe(first);
  });

  it('are refused by a page without a place for them', () => {
    expect(() => withTables(page.replace('bench:proxy streams', ''), [])).toThrow('table of streams');
    expect(() => withTables(page.replaceAll('<!-- /bench:proxy -->', ''), [])).toThrow('table of costs');
  });

  it('have their place in docs/measurements.md', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../docs/measurements.md'), 'utf8');
    const written = withTables(text, [cell({ situation: 'growing' }), cell({ deltas: 40_000 })]);

    expect(written).toContain('| 118 kB, `compact` | –');
    expect(written).toContain('| bare Worker | 1.4 ms |');
  });
});
