/**
 * The tables that the results of the replay fill in, in docs/benchmark.md, docs/measurements.md and
 * docs/modes.md. Each is between `<!-- bench:replay NAME -->` and `<!-- /bench:replay -->`.
 */
import { percent } from '../figures.ts';
import { type Table, withTable } from '../page-tables.ts';
import type { Interval } from './bootstrap.ts';
import { BUDGETS, type BudgetFigures, CACHED_PRICES, type Spread } from './budgets.ts';
import { MOST_ROLL_UPS } from './constraints.ts';
import type { ReasoningFigures } from './reasoning.ts';
import type { PolicyRow, ResultsFile, SetRow } from './results-file.ts';
import type { ReturnFigures } from './returns.ts';
import type { ScheduleBill } from './schedule-bills.ts';
import { SCHEDULES, type ScheduleName } from './schedules.ts';
import type { Sensitivity } from './sensitivity.ts';
import { WINDOW_END, type WindowFigures } from './windows.ts';

/** The results of recorded conversations. */
export interface RecordedResults {
  readonly schedules: Readonly<Record<ScheduleName, ResultsFile>>;
  readonly sensitivity: { readonly policies: readonly Sensitivity[] };
  readonly budgets: { readonly budgets: readonly BudgetFigures[]; readonly spreads: readonly Spread[] };
  readonly windows: { readonly windows: readonly WindowFigures[] };
  readonly pauses: { readonly returns: readonly ReturnFigures[] };
  /** Likewise under `anthropic-5m`. */
  readonly markedPauses: { readonly returns: readonly ReturnFigures[] };
  readonly reasoning: Readonly<Partial<Record<ScheduleName, readonly ReasoningFigures[]>>>;
}

/** The names of policies in tables, by their form in the results. */
const NAMES: readonly (readonly [form: RegExp, name: string])[] = [
  [/^none$/, '`none`'],
  [/^auto, (\d+)k$/, '`auto`, $1 k'],
  [/^auto, 32k, whole at sight$/, '`auto`, 32 k, new outputs whole'],
  [/^auto, 32k, 8k at sight$/, '`auto`, 32 k, new outputs up to 8 k'],
  [/^auto, 32k, rehydrated$/, '`auto`, 32 k, `rehydrate: true`'],
  [/^auto, 32k, digests$/, '`auto`, 32 k, `offload_digest: "model"`'],
  [/^auto, 32k, retrieval off$/, '`auto`, 32 k, `compact_retrieval: "off"`'],
  [/^native, (\d+)k$/, '`native`, $1 k'],
  [/^compact, slide, 32k$/, '`compact`, `slide`, 32 k'],
  [/^clear_tool_uses, 100k, keep 3$/, "Anthropic's `clear_tool_uses`, 100 k / 3"],
  [/^clear_tool_uses, 32k, keep 3$/, 'the same, 32 k / 3'],
  [/^keep 10 outputs$/, 'all but the last 10 outputs'],
  [/^OpenCode prune$/, "OpenCode's prune"],
  [/^ai@(\S+) pruneMessages$/, '`pruneMessages` of ai $1'],
];

/** The settings that every table compares, and those that the first two have besides. */
const MAIN = /^auto, \d+k$|^compact|^clear|^keep 10|^OpenCode|^ai@/;
const COMPARED = new RegExp(`${MAIN.source}|at sight$`);
const MEASURED = /^none$|^auto(?!.*(?:48k|at sight))|^clear|^keep 10|^OpenCode/;
const SETS = ['swe', 'mcp', 'images_parallel', 'tau', 'textmode'];

export function withBenchmark(page: string, results: RecordedResults): string {
  const { 'prefix-128': first } = results.schedules;
  return filled(page, {
    results: { head: RESULTS_HEAD, rows: rowsOf(first.all, COMPARED, resultsCells) },
    sets: setsTable(first),
    schedules: schedulesTable(results),
    lengths: lengthsTable(first),
    prices: pricesTable(results),
    constraints: constraintsTable(first),
    returns: returnsTable(results.pauses.returns),
    'marked-returns': returnsTable(results.markedPauses.returns),
    windows: windowsTable(results.windows.windows),
    reasoning: reasoningTable(results),
    'reasoning-sets': reasoningSetsTable(results),
  });
}

export function withMeasurements(page: string, { schedules }: RecordedResults): string {
  const { 'prefix-128': first } = schedules;
  return filled(page, {
    replay: {
      head: ['', 'bill', 'cached', 'broken prefixes', 'dearer than `none` by 3 %', 'near use', 'visible'],
      rows: rowsOf(first.all, MEASURED, ({ paidToNone, hitRate, broken, dearer, near, visible }, set) => [
        ...[ratio(paidToNone), share(hitRate, 1), broken.toLocaleString('en-US'), `${dearer}`],
        ...[share(near, set.nearValues), share(visible, set.values)],
      ]),
    },
  });
}

export function withBudgets(page: string, { budgets: { budgets, spreads } }: RecordedResults): string {
  const sets = [...SETS.slice(0, 3), 'all'];
  const price = (set: string, cached: number): string[] => [
    `${setName(set)}, ${cached}`,
    ...BUDGETS.map((budget) => {
      const found = budgets.find((row) => row.set === set && row.cached === cached && row.budget === budget);
      return found ? ratio(found.paidToNone) + (found.dearer > 0 ? ` (${found.dearer})` : '') : '–';
    }),
  ];
  return filled(page, {
    budgets: {
      head: ['kind of work, price of cached input', ...BUDGETS.map(kilo)],
      rows: sets.flatMap((set) => CACHED_PRICES.map((cached) => price(set, cached))),
    },
    spread: {
      head: [
        'budget',
        'unedited',
        `share of the ${spreads[0]?.longest ?? 0} longest`,
        'near use',
        'older values',
      ],
      rows: spreads.map(({ budget, changed, conversations, ofLongest }) => {
        const all = budgets.find((row) => row.set === 'all' && row.budget === budget);
        return [
          ...[
            kilo(budget),
            `${conversations - changed} of ${conversations}`,
            `${(100 * ofLongest).toFixed(0)} %`,
          ],
          ...(all ? [share(all.near, all.nearValues), share(all.visible, all.values)] : ['–', '–']),
        ];
      }),
    },
  });
}

function filled(page: string, tables: Readonly<Record<string, Table>>): string {
  return Object.entries(tables).reduce(
    (text, [name, table]) => withTable(text, 'bench:replay', name, table),
    page,
  );
}

const RESULTS_HEAD = [
  ...['', 'bill', '95 %', 'no fetches', 'fetches', 'dearer', 'worst', 'near use', '95 %', 'of large'],
  ...['visible', '95 %', 'view or ref', 'saved', 'once'],
];

function resultsCells(row: PolicyRow, { values, nearValues, nearLargeValues }: SetRow): string[] {
  return [
    ...[ratio(row.paidToNone), range(row.paidInterval, 1, 2), ratio(row.paidWithoutFetches)],
    ...[`${row.fetchRounds}`, `${row.dearer}`, row.worst.toFixed(2)],
    ...[share(row.near, nearValues), rangeShare(row.nearInterval), share(row.nearLarge, nearLargeValues)],
    ...[share(row.visible, values), rangeShare(row.visibleInterval), share(row.reachable, values)],
    ...[millions(row.savedGross, 1), millions(row.savedUnique, 2)],
  ];
}

/** Fewer are decided by single conversations. */
const FEWEST_MOVES = 5;

/** What requests after pauses cost, without and with moves at cold returns. */
function returnsTable(returns: readonly ReturnFigures[]): Table {
  const row = (of: ReturnFigures): string[] => [
    `${setName(of.set)}, ${of.lifetime} minutes`,
    ...[`${of.returns} of ${of.requests.toLocaleString('en-US')}`, `${of.made}`],
    ...[ratio(of.returnsWithout), ratio(of.returnsWith), ratio(of.allWithout), ratio(of.allWith)],
  ];
  return {
    head: ['set, lifetime', 'returns', 'moves', 'their bill', 'with moves', 'all requests', 'with moves'],
    rows: returns.filter(({ made }) => made >= FEWEST_MOVES).map(row),
  };
}

/** The budget that the prices make, a row per pair of them, and what others would have cost. */
function windowsTable(windows: readonly WindowFigures[]): Table {
  const rows = windows.filter(({ budget, goal }) => budget === goal);
  const at = (row: WindowFigures, budget: number): WindowFigures =>
    windows.find(
      (one) => one.cached === row.cached && one.written === row.written && one.budget === budget,
    ) ?? row;
  const cells = (row: WindowFigures): string[] => {
    const end = at(row, WINDOW_END);
    const shares = (part: 'near' | 'visible', whole: 'nearValues' | 'values'): string =>
      `${share(row[part], row[whole])} (${share(end[part], end[whole])})`;
    return [
      `${row.cached} / ${row.written}`,
      kilo(row.goal),
      ...[row, at(row, row.goal / 2), at(row, 2 * row.goal), end].map((one) => priced(one)),
      ...[shares('near', 'nearValues'), shares('visible', 'values')],
    ];
  };
  const head = ['read / write', 'budget', 'bill', 'half of it', 'twice', `at ${kilo(WINDOW_END)}`];
  return { head: [...head, 'near use', 'older values'], rows: rows.map(cells) };
}

const priced = ({ paidToNone, dearer }: WindowFigures): string => `${ratio(paidToNone)} (${dearer})`;

const OWN_OR_NATIVE = /^(?:auto|native), \d+k$/;

/** What moves lose where reasoning is bound, over all sets. */
function reasoningTable({ reasoning }: RecordedResults): Table {
  const rows = Object.entries(reasoning).flatMap(([schedule, figures]) =>
    figures.flatMap((row) => {
      const name = nameOf(row.policy);
      if (row.set !== 'all' || name === undefined || !OWN_OR_NATIVE.test(row.policy)) return [];
      const { moves, lost, carried, open, early } = row;
      return [
        [
          ...[`\`${schedule}\`, ${name}`, ...[moves, lost].map(count), perMove(row), count(carried)],
          ...[open, early].map(count),
          ...[ratio(row.paidToNone), ratio(row.thoughtAgain), share(row.near, row.nearValues)],
        ],
      ];
    }),
  );
  const head = ['', 'moves', 'items lost', 'per move', 'carried', 'in a turn', 'with room'];
  return { head: [...head, 'bill', 'thought again', 'near use'], rows };
}

/** The same by set, of the families that both `auto` and `native` have. */
function reasoningSetsTable({ reasoning }: RecordedResults): Table {
  const figures = reasoning['gpt-6'] ?? [];
  const sets = SETS.filter((set) => figures.some((row) => row.set === set && row.moves > 0));
  const names = [...new Set(figures.map(({ policy }) => policy))].filter((name) => OWN_OR_NATIVE.test(name));
  const cell = (set: string, policy: string): string => {
    const row = figures.find((one) => one.set === set && one.policy === policy);
    return row
      ? `${perMove(row)}, ${ratio(row.paidToNone)} (${ratio(row.thoughtAgain)}), ${share(row.near, row.nearValues)}`
      : '–';
  };
  return {
    head: ['', ...sets.map(setName)],
    rows: names.map((policy) => [nameOf(policy) ?? policy, ...sets.map((set) => cell(set, policy))]),
  };
}

const perMove = ({ moves, lost }: ReasoningFigures): string =>
  moves === 0 ? '–' : (lost / moves).toFixed(1);

const count = (value: number): string => value.toLocaleString('en-US');

/** Bill and near use of each set, with the near use of large outputs. */
function setsTable({ sets }: ResultsFile): Table {
  const shown = SETS.flatMap((name) => sets.find((set) => set.name === name) ?? []);
  const [first] = shown;
  const cells = (_: PolicyRow, __: SetRow, at: number): string[] =>
    shown.map(({ policies, nearValues, nearLargeValues }) => {
      const row = policies[at];
      if (!row) return '–';
      const large = nearLargeValues > 0 ? `, ${share(row.nearLarge, nearLargeValues)}` : '';
      return `${ratio(row.paidToNone)}, ${share(row.near, nearValues)}${large}`;
    });
  const heads = shown.map(
    ({ name, nearValues, nearLargeValues }) => `${setName(name)} (${nearValues}, ${nearLargeValues})`,
  );
  return { head: ['', ...heads], rows: first ? rowsOf(first, COMPARED, cells) : [] };
}

function schedulesTable({ schedules }: RecordedResults): Table {
  const cells = (_: PolicyRow, __: SetRow, at: number): string[] =>
    SCHEDULES.map((name) => {
      const row = schedules[name].all.policies[at];
      return row ? `${ratio(row.paidToNone)} (${row.dearer}, ${row.worst.toFixed(2)})` : '–';
    });
  const heads = SCHEDULES.map((name) => {
    const { cached, written } = schedules[name].prices;
    return `\`${name}\`, ${cached} / ${written}`;
  });
  return { head: ['', ...heads], rows: rowsOf(schedules['prefix-128'].all, MAIN, cells) };
}

/** The bills of a policy under each schedule, for the picture. */
export function scheduleBills({ schedules }: RecordedResults, policy = 'auto, 32k'): ScheduleBill[] {
  return SCHEDULES.flatMap((schedule) => {
    const { prices, all } = schedules[schedule];
    const row = all.policies.find(({ name }) => name === policy);
    if (!row) return [];
    const { cached: read, written: write } = prices;
    return [
      { schedule, read, write, paidToNone: row.paidToNone, unchanged: all.conversations - row.changed },
    ];
  });
}

function lengthsTable({ lengths, all }: ResultsFile): Table {
  const heads = lengths.map(({ name, conversations }) => `${name} (${conversations})`);
  const cells = (_: PolicyRow, __: SetRow, at: number): string[] =>
    lengths.map(({ policies, values }) => {
      const row = policies[at];
      return row ? `${ratio(row.paidToNone)}, ${percent(row.visible, values).replace(/\.\d/, '')}` : '–';
    });
  return { head: ['', ...heads], rows: rowsOf(all, /^auto, \d+k$|^clear/, cells) };
}

/**
 * A row for each pair of prices, without writes at 1.25, which the schedules have; of `auto` with
 * the first budget alone.
 */
function pricesTable({ sensitivity: { policies } }: RecordedResults): Table {
  const shown = policies.filter(({ name }) => MAIN.test(name) && !/^auto, (?!32k$)/.test(name));
  const pairs = shown[0]?.bills ?? [];
  return {
    head: ['read / write', ...shown.map(({ name }) => nameOf(name) ?? name)],
    rows: pairs.flatMap(({ read, write }, at) => {
      if (write === 1.25) return [];
      const bills = shown.map(({ bills }) => bills[at]);
      const cells = bills.map((bill) => (bill ? `${ratio(bill.paidToNone)} (${bill.dearer})` : '–'));
      return [[`${read} / ${write}`, ...cells]];
    }),
  };
}

function constraintsTable({ all }: ResultsFile): Table {
  const counts = Array.from({ length: MOST_ROLL_UPS + 1 }, (_, rollUps) => rollUps);
  const cells = ({ constraints }: PolicyRow): string[] =>
    counts.map((rollUps) => {
      const found = constraints.find((one) => one.rollUps === rollUps);
      return found ? `${share(found.kept, found.given)} of ${found.given} (${found.conversations})` : '–';
    });
  const head = [
    '',
    ...counts.map((rollUps) => (rollUps < MOST_ROLL_UPS ? `${rollUps}` : `${rollUps} and more`)),
  ];
  return { head, rows: rowsOf(all, /^auto, 32k(?:, retrieval off)?$|^OpenCode/, cells) };
}

/** A row for each of these policies of a set. */
function rowsOf(
  set: SetRow,
  which: RegExp,
  cells: (row: PolicyRow, set: SetRow, index: number) => readonly string[],
): string[][] {
  return set.policies.flatMap((row, at) => {
    const name = nameOf(row.name);
    return which.test(row.name) && name !== undefined ? [[name, ...cells(row, set, at)]] : [];
  });
}

function nameOf(policy: string): string | undefined {
  const found = NAMES.find(([form]) => form.test(policy));
  return found && policy.replace(...found);
}

const setName = (name: string): string => (name === 'all' ? 'all' : `\`${name.replace('_parallel', '')}\``);

const kilo = (tokens: number): string => `${tokens / 1_000} k`;

const ratio = (value: number): string => value.toFixed(3);

const share = (part: number, whole: number): string => percent(part, whole).replace('100.0', '100');

const millions = (tokens: number, digits: number): string => `${(tokens / 1_000_000).toFixed(digits)} M`;

function range(interval: Interval | undefined, times: number, digits: number): string {
  return interval?.map((bound) => (times * bound).toFixed(digits)).join('–') ?? '–';
}

const rangeShare = (interval: Interval | undefined): string =>
  interval ? `${range(interval, 100, 0)} %` : '–';
