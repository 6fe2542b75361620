/**
 * The tables of docs/measurements.md that this benchmark makes. Each is between two comments:
 * `<!-- bench:proxy NAME -->` and `<!-- /bench:proxy -->`.
 */
import { quantile } from '../figures.ts';
import { type Table, withTable } from '../page-tables.ts';
import { LONG_STREAM } from './loads.ts';
import type { Cell, Figures } from './measure.ts';
import type { SampledCell } from './sample.ts';

const MARK = 'bench:proxy';

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
export function withTables(page: string, cells: readonly SampledCell[]): string {
  const costs = withTable(page, MARK, 'costs', costsOf(cells));
  return withTable(costs, MARK, 'streams', streamsOf(cells));
}

/** Dollars per million: of requests, and of milliseconds of CPU time (docs/measurements.md). */
const REQUESTS = 0.3;
const MILLISECONDS = 0.02;
/** Of events that are kept alone. */
const EVENTS = 1.17;

/**
 * What a request costs: a step more of a known conversation, and an array never seen. Dollars are
 * the price of the Worker's own CPU time.
 */
function costsOf(cells: readonly SampledCell[]): Table {
  const single = cells.filter(({ deltas, connections }) => deltas === 0 && connections === 1);
  const cpuOf = ({ bytes, mode }: Cell, situation: Cell['situation']) => {
    const same = single.find(
      (cell) => cell.bytes === bytes && cell.mode === mode && cell.situation === situation,
    );
    return {
      ...same?.worker,
      process: same?.figures.find(({ subject }) => subject === 'precis')?.cpu,
    };
  };
  const rows = single
    .filter(({ situation }) => situation === 'growing')
    .map((cell) => {
      const [known, first] = [cpuOf(cell, 'growing'), cpuOf(cell, 'unseen')];
      const events = cell.mode === 'none' ? 0 : EVENTS;
      return [
        `${sizeOf(cell.bytes)}, \`${cell.mode}\``,
        milliseconds(known.kept),
        milliseconds(known.moved),
        milliseconds(first.all),
        milliseconds(known.process),
        milliseconds(first.process),
        dollars(known.all, events),
        dollars(first.all, events),
      ];
    });
  const head = [
    'body, mode',
    'CPU ms of the Worker, a step more',
    'a move',
    'never seen',
    'of the process, a step more',
    'never seen',
    '$ per million, a step more',
    'never seen',
  ];
  return { head, rows };
}

function dollars(cpu: number | undefined, events: number): string {
  return cpu === undefined ? '–' : `$${(REQUESTS + MILLISECONDS * cpu + events).toFixed(2)}`;
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

export const sizeOf = (bytes: number): string =>
  bytes < MEGABYTE ? `${bytes / KILOBYTE} kB` : `${bytes / MEGABYTE} MB`;

function milliseconds(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(value < WHOLE_FROM ? 1 : 0);
}
