/**
 * The figures of a run as a file (`bench/results/`): numbers and names, and nothing that the
 * conversations say. A hash names the conversations of each set.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import type { ReuseTrace } from '../reuse.ts';
import type { Bill } from './bill.ts';
import type { BudgetFigures, Spread } from './budgets.ts';
import type { ReasoningFigures } from './reasoning.ts';
import { type DataSetFigures, DEARER, type PolicyFigures } from './results.ts';
import { DRAWS, type ReturnFigures } from './returns.ts';
import type { ScheduleName } from './schedules.ts';
import type { Sensitivity } from './sensitivity.ts';
import type { WindowFigures } from './windows.ts';

/** What a run was made of. */
export interface Run {
  readonly source: 'recorded' | 'generated';
  readonly schedule: ScheduleName;
  readonly prices: RelativePrices;
  /** The published code of peers that took part, with its versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** By the name of its set. */
  readonly traces: ReadonlyMap<string, readonly ReuseTrace[]>;
}

export interface ResultsFile extends Omit<Run, 'traces'> {
  readonly dearerFrom: number;
  /** The hash of each set's conversations. */
  readonly conversations: Readonly<Record<string, string>>;
  readonly sets: readonly SetRow[];
  readonly lengths: readonly SetRow[];
  readonly all: SetRow;
}

export type SetRow = Omit<DataSetFigures, 'policies'> & { readonly policies: readonly PolicyRow[] };
export type PolicyRow = Omit<
  PolicyFigures,
  Exclude<keyof Bill, 'peak' | 'broken' | 'fetchRounds'> | 'ratios'
> &
  Partial<Pick<PolicyFigures, 'ratios'>>;

/** Digits of a ratio. */
const DIGITS = 4;

/** Writes `SOURCE-SCHEDULE.json`. */
export function writeResults(
  folder: string,
  run: Run,
  sets: readonly DataSetFigures[],
  lengths: readonly DataSetFigures[],
  all: DataSetFigures,
): void {
  const file: ResultsFile = {
    ...aboutOf(run),
    sets: sets.map(setRow),
    lengths: lengths.map(setRow).map(withoutRatios),
    all: withoutRatios(setRow(all)),
  };
  write(folder, `${run.source}-${run.schedule}`, file);
}

/** Writes `SOURCE-SCHEDULE-sensitivity.json`. */
export function writeSensitivity(folder: string, run: Run, policies: readonly Sensitivity[]): void {
  write(folder, `${run.source}-${run.schedule}-sensitivity`, { ...aboutOf(run), policies });
}

/** Writes `SOURCE-SCHEDULE-budgets.json`. */
export function writeBudgets(
  folder: string,
  run: Run,
  figures: { readonly budgets: readonly BudgetFigures[]; readonly spreads: readonly Spread[] },
): void {
  write(folder, `${run.source}-${run.schedule}-budgets`, { ...aboutOf(run), ...figures });
}

/** Writes `SOURCE-SCHEDULE-pauses.json`. */
export function writeReturns(folder: string, run: Run, returns: readonly ReturnFigures[]): void {
  write(folder, `${run.source}-${run.schedule}-pauses`, { ...aboutOf(run), draws: DRAWS, returns });
}

/** Writes `SOURCE-SCHEDULE-reasoning.json`. */
export function writeReasoning(folder: string, run: Run, reasoning: readonly ReasoningFigures[]): void {
  write(folder, `${run.source}-${run.schedule}-reasoning`, { ...aboutOf(run), reasoning });
}

/** Writes `SOURCE-SCHEDULE-windows.json`. */
export function writeWindows(folder: string, run: Run, windows: readonly WindowFigures[]): void {
  write(folder, `${run.source}-${run.schedule}-windows`, { ...aboutOf(run), windows });
}

type About = Omit<ResultsFile, 'sets' | 'lengths' | 'all'>;

function aboutOf({ traces, ...run }: Run): About {
  const hashes = [...traces].map(([name, of]) => [name, hashOf(of)]);
  const conversations = Object.fromEntries(hashes);
  return { ...run, dearerFrom: DEARER, conversations };
}

function setRow({ policies, ...set }: DataSetFigures): SetRow {
  return { ...set, policies: policies.map(policyRow) };
}

/** Each conversation is in one of the sets, and its ratio there. */
function withoutRatios({ policies, ...set }: SetRow): SetRow {
  return { ...set, policies: policies.map(({ ratios, ...row }) => row) };
}

/** Without sums that follow from the others. */
function policyRow(figures: PolicyFigures): PolicyRow {
  const { requests, tokens, cached, paid, summaries, fetches, returns, ...row } = figures;
  return row;
}

function hashOf(traces: readonly ReuseTrace[]): string {
  const json = JSON.stringify(traces.map(({ messages, tools, reuse }) => ({ messages, tools, reuse })));
  return createHash('sha256').update(json).digest('hex').slice(0, 16);
}

/** One policy per line, so that a diff shows which figures have changed. */
function write(folder: string, name: string, file: object): void {
  mkdirSync(folder, { recursive: true });
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toFixed(DIGITS)) : value;
  const lines = JSON.stringify(file, rounded).replaceAll(
    /(?=\{"(?:name|set)":)|(?=\],"lengths"|\],"all")/g,
    '\n',
  );
  writeFileSync(join(folder, `${name}.json`), `${lines}\n`);
}
