/**
 * The tables of docs/measurements.md that this benchmark makes. Each is between two comments:
 * `<!-- bench:proxy NAME -->` and `<!-- /bench:proxy -->`.
 */
import { quantile } from '../figures.ts';
import { LONG_STREAM } from './loads.ts';
import type { Cell, Figures } from './measure.ts';

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const KILOBYTE = 1_000;
const MEGABYTE = 1_000_000;

/** Of the proxies that have no modes. */
const NAMES: Partial<Record<Figures['subject'], string>> = { floor: 'the floor', portkey: 'Portkey' };

/** Milliseconds have one decimal below this. */
const WHOLE_FROM = 99.95;

/**
 * The page with the tables of a run in it. A table without rows stays as it is.
 *
 * @throws Error if a table's comments are not in the page
 */
export function withTables(page: string, cells: readonly Cell[]): string {
  return withTable(withTable(page, 'answers', answersOf(cells)), 'streams', streamsOf(cells));
}

/** JSON answers in all situations but `unseen`: times, ratios and CPU time of each proxy. */
function answersOf(cells: readonly Cell[]): Table {
  const answers = cells.filter(({ deltas, situation }) => deltas === 0 && situation !== 'unseen');
  const connections = answers.find((cell) => cell.connections > 1)?.connections ?? 8;
  const rows = answers
    .filter((cell) => cell.connections === 1)
    .flatMap((cell) => {
      const parallel = answers.find(
        ({ bytes, mode, situation, connections }) =>
          connections > 1 && bytes === cell.bytes && mode === cell.mode && situation === cell.situation,
      );
      return proxiesOf(cell).map((proxy) => [
        `${sizeOf(cell.bytes)}, ${nameOf(proxy, cell)}`,
        cell.situation,
        milliseconds(bareOf(cell)?.p50),
        milliseconds(proxy.p50),
        `${ratio(proxy.ratio.median)} (${ratio(proxy.ratio.low)}–${ratio(proxy.ratio.high)})`,
        milliseconds(bareOf(cell)?.cpu),
        milliseconds(proxy.cpu),
        ratio(parallel?.figures.find(({ subject }) => subject === proxy.subject)?.ratio.median),
      ]);
    });
  const times = ['bare', 'proxy', 'ratio', 'CPU, bare', 'CPU, proxy'];
  return { head: ['body, proxy', 'situation', ...times, `ratio, ${connections} connections`], rows };
}

/** CPU time of a long stream: the bare Worker's, and each proxy's. */
function streamsOf(cells: readonly Cell[]): Table {
  const streams = cells.filter(({ deltas }) => deltas >= LONG_STREAM);
  const bare = streams.flatMap((cell) => bareOf(cell)?.cpu ?? []);
  const rows = streams.flatMap((cell) =>
    proxiesOf(cell).map((proxy) => [nameOf(proxy, cell), `${milliseconds(proxy.cpu)} ms`]),
  );
  if (rows.length > 0) rows.unshift(['bare Worker', `${milliseconds(quantile(bare, 0.5))} ms`]);
  return { head: ['', 'CPU'], rows };
}

const bareOf = ({ figures }: Cell): Figures | undefined => figures.find(({ subject }) => subject === 'bare');

const proxiesOf = ({ figures }: Cell): Figures[] => figures.filter(({ subject }) => subject !== 'bare');

const nameOf = ({ subject }: Figures, { mode }: Cell): string => NAMES[subject] ?? `\`${mode}\``;

const sizeOf = (bytes: number): string =>
  bytes < MEGABYTE ? `${bytes / KILOBYTE} kB` : `${bytes / MEGABYTE} MB`;

function milliseconds(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(value < WHOLE_FROM ? 1 : 0);
}

function ratio(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(2);
}

function withTable(page: string, name: string, table: Table): string {
  const [before, after] = [`<!-- bench:proxy ${name} -->\n`, '<!-- /bench:proxy -->'];
  const start = page.indexOf(before) + before.length;
  const end = page.indexOf(after, start);
  if (start < before.length || end < 0) throw new Error(`the page has no place for the table of ${name}`);
  if (table.rows.length === 0) return page;
  return `${page.slice(0, start)}\n${markdownOf(table)}\n\n${page.slice(end)}`;
}

/** The columns have the width of their longest cell. */
function markdownOf({ head, rows }: Table): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows]
    .map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n');
}
