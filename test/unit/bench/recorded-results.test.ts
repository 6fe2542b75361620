/**
 * The part of the benchmark that each change runs: generated conversations under `auto`, compared
 * with bench/results/. A change of the plan that is meant needs `npm run bench:results`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createIsolate, type Isolate } from '../../../bench/pipeline.ts';
import { compare } from '../../../bench/replay/compare.ts';
import { makeTraces } from '../../../bench/replay/generator.ts';
import { policiesOf } from '../../../bench/replay/policies.ts';
import { DEARER, figuresOf } from '../../../bench/replay/results.ts';
import type { ResultsFile } from '../../../bench/replay/results-file.ts';
import { SCHEDULES, type ScheduleName, termsOfSchedule } from '../../../bench/replay/schedules.ts';
import type { ReuseTrace } from '../../../bench/reuse.ts';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';

const RESULTS = join(import.meta.dirname, '../../../bench/results');
const POLICY = 'auto, 32k';
/** What the tools of Precis may add to a short conversation from which nothing is removed. */
const TOOLS_ALONE = 1.05;
/** Longer conversations are left to `npm run bench:results`. */
const MOST_MESSAGES = 200;

const read = (name: string): ResultsFile => JSON.parse(readFileSync(join(RESULTS, name), 'utf8'));

/** A generated conversation, and its place in its set. */
interface GeneratedTrace {
  readonly conversation: string;
  readonly file: string;
  readonly index: number;
  readonly trace: ReuseTrace;
}

let part: readonly GeneratedTrace[];
let isolate: Isolate;
beforeAll(async () => {
  part = shortTraces();
  isolate = createIsolate(await loadTokenize('o200k_base'));
});

/** A bill relative to none, as it is recorded. */
interface Ratio {
  readonly conversation: string;
  readonly ratio: number | undefined;
}

interface Replayed extends Ratio {
  /** Whether something was removed; else the tools of Precis are all that it costs. */
  readonly changed: boolean;
}

/** The ratios of the conversations under the policy. */
async function replayed(schedule: ScheduleName): Promise<Replayed[]> {
  const terms = termsOfSchedule(schedule);
  const { none, others } = policiesOf(isolate, terms);
  const auto = others.filter(({ name }) => name === POLICY);
  const ratios: Replayed[] = [];
  for (const { conversation, file, trace } of part) {
    const set = await compare(file, [trace], { none, others: auto }, terms.prices, isolate.counter);
    const figures = figuresOf(set).policies[1];
    const ratio = Number(figures?.ratios[0]?.toFixed(4));
    ratios.push({ conversation, ratio, changed: figures?.changed === 1 });
  }
  return ratios;
}

/** The generated conversations that are short enough to be replayed for each change. */
function shortTraces(): GeneratedTrace[] {
  return [...Map.groupBy(makeTraces(), ({ file }) => file)].flatMap(([file, traces]) =>
    traces.flatMap((trace, index) =>
      trace.messages.length > MOST_MESSAGES ? [] : [{ conversation: `${file} ${index}`, file, index, trace }],
    ),
  );
}

describe.each(SCHEDULES)('generated conversations billed by %s', (schedule) => {
  let measured: readonly Replayed[];
  beforeAll(async () => {
    measured = await replayed(schedule);
  });

  it('have the recorded bills', () => {
    const { sets } = read(`generated-${schedule}.json`);
    const recorded = part.map(({ conversation, file, index }) => {
      const policies = sets.find(({ name }) => name === file)?.policies;
      return { conversation, ratio: policies?.find(({ name }) => name === POLICY)?.ratios?.[index] };
    });

    expect(recorded.filter(({ ratio = 1 }) => ratio < 0.9).length).toBeGreaterThan(4);
    expect(measured.map(({ conversation, ratio }) => ({ conversation, ratio }))).toEqual(recorded);
  });

  it('are never dearer than without a policy by 3 %, or by more than its tools', () => {
    expect(DEARER).toBe(1.03);
    const most = ({ changed }: Replayed): number => (changed ? DEARER : TOOLS_ALONE);
    expect(measured.filter((one) => !((one.ratio ?? Number.NaN) <= most(one)))).toEqual([]);
  });
});

/**
 * Recorded conversations that `POLICY` makes dearer: short ones, by the tools alone, and some that
 * end soon after a move, most of them chats after a summary.
 */
const KNOWN_DEARER: Readonly<Record<ScheduleName, number>> = {
  'prefix-128': 21,
  'gpt-5.6': 14,
  'anthropic-5m': 14,
  'gpt-6': 15,
  'fable-5': 15,
};

describe.each(SCHEDULES)('recorded conversations billed by %s', (schedule) => {
  it('are dearer than without a policy by 3 % in no more cases than are known', () => {
    const { all, dearerFrom } = read(`recorded-${schedule}.json`);
    const auto = all.policies.find(({ name }) => name === POLICY);
    expect(dearerFrom).toBe(DEARER);
    expect(auto?.dearer).toBe(KNOWN_DEARER[schedule]);
  });
});

describe('the files of results', () => {
  const names = readdirSync(RESULTS).filter((name) => name.endsWith('.json'));

  it('are there for each schedule, from recorded and from generated conversations', () => {
    const wanted = SCHEDULES.flatMap((schedule) => [
      `generated-${schedule}.json`,
      `recorded-${schedule}.json`,
    ]);
    expect(names).toEqual(expect.arrayContaining(wanted));
  });

  it('hold figures and short names, and nothing that a conversation says', () => {
    for (const name of names) {
      const texts = new Set<string>();
      JSON.stringify(read(name), (key, value) => {
        texts.add(key);
        if (typeof value === 'string') texts.add(value);
        return value;
      });
      expect([...texts].filter((text) => !/^[\w@/.,– -]{0,40}$/.test(text))).toEqual([]);
    }
  });
});
