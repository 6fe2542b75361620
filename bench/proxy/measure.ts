/**
 * Sends requests to the proxies in turn, and compares each with the bare Worker of the same round.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { medianInterval, quantile } from '../figures.ts';
import { cpuOf } from '../process.ts';
import { Random } from '../random.ts';
import { type Answer, ask } from './client.ts';
import { Load, type Mode, type Situation, strategyOf } from './loads.ts';
import type { Subject } from './subjects.ts';
import { ANSWER_HEADER, DELTAS_HEADER, RECEIVED_HEADER } from './upstream.ts';

export interface Case {
  /** Approximate length of the bodies. */
  readonly bytes: number;
  readonly mode: Mode;
  readonly situation: Situation;
  /** Text deltas of the answer; 0 for a JSON answer. */
  readonly deltas: number;
  /** Parallel requests, each of another client. */
  readonly connections: number;
}

export interface Figures {
  readonly subject: Subject['name'];
  /** Milliseconds to the first byte of the body, or to a stream's first text. */
  readonly p50: number;
  readonly p95: number;
  /** Time of a round relative to the bare Worker's, with its 95 % confidence interval. */
  readonly ratio: { readonly median: number; readonly low: number; readonly high: number };
  /** To the last byte, while only this subject is asked. */
  readonly requestsPerSecond: number;
  /** CPU milliseconds of its process per request, including work after the answers. */
  readonly cpu: number;
  /** Length of the last body as the upstream got it. */
  readonly bytesUp: number;
}

export interface Cell extends Case {
  readonly rounds: number;
  readonly figures: readonly Figures[];
}

/** Bodies from this length on exceed their budget by enough to be edited. In bytes. */
const EDITED_FROM = 100_000;

export const PATH = '/v1/chat/completions';

/** Warnings that the benchmark gives no cause for. */
const FAILED = /store_failed|summary_degraded/;

/** Rounds before measuring, for compilers, caches, and refs written at first sight. */
const WARM_UP: Extent = { least: 2, most: 24, ms: 500 };

/** The least number whose range has a median in it with 95 % confidence. */
const LEAST_ROUNDS = 6;

/** In milliseconds: a case is measured for so long, or until it has had the least rounds. */
const MEASURED_MS = 2_000;

/** Time for work after the answers, in milliseconds. */
export const SETTLING_MS = 300;

/**
 * Before each request of a conversation that grows, in milliseconds: an agent's next step comes
 * when the model has answered, and the work after the last answer has ended by then.
 */
export const THINKING_MS = 50;

/** Rounds of a part of a case. It ends after the most, or after the least when the time is over. */
interface Extent {
  readonly least: number;
  readonly most: number;
  readonly ms: number;
}

/** Measurements of one subject in one case. */
interface Spent {
  readonly first: number[];
  readonly rounds: number[];
  cpu: number;
  bytesUp: number;
}

/**
 * @param most rounds
 * @throws Error if Precis did not do what the case says
 */
export async function measure(
  subjects: readonly Subject[],
  subject: Case,
  most: number,
  seed: number,
): Promise<Cell> {
  const { bytes, connections, deltas, situation } = subject;
  const loads = Array.from(
    { length: connections },
    (_, client) => new Load(bytes, situation, deltas, seed + client),
  );
  const all = subjects.map((): Spent => ({ first: [], rounds: [], cpu: 0, bytesUp: 0 }));
  const random = new Random(seed);
  const playRound = async (isMeasured: boolean): Promise<void> => {
    const bodies = loads.map((load) => load.next());
    for (const index of random.shuffle([...subjects.keys()])) {
      const [target, spent] = [subjects[index], all[index]];
      if (!target || !spent) continue;
      if (situation === 'growing') await sleep(THINKING_MS);
      const start = performance.now();
      const answers = await Promise.all(
        bodies.map((body, client) =>
          ask(target.url + PATH, headersOf(target, subject, client, loads[client]), body),
        ),
      );
      const time = performance.now() - start;
      if (!isMeasured) continue;
      check(target, subject, answers);
      spent.first.push(...answers.map(({ first }) => first));
      spent.rounds.push(connections === 1 ? (answers[0]?.first ?? Number.NaN) : time);
      spent.bytesUp = Number(answers.at(-1)?.headers[RECEIVED_HEADER]);
    }
  };
  await repeat(WARM_UP, () => playRound(false));
  await settled(subjects, all, -1);
  const least = Math.min(LEAST_ROUNDS, most);
  const rounds = await repeat({ least, most, ms: MEASURED_MS }, () => playRound(true));
  await settled(subjects, all, 1);
  return { ...subject, rounds, figures: figuresOf(subjects, all, rounds * connections) };
}

/** @returns the number of rounds */
async function repeat({ least, most, ms }: Extent, playRound: () => Promise<void>): Promise<number> {
  const start = performance.now();
  for (let rounds = 1; ; rounds++) {
    await playRound();
    if (rounds >= most || (rounds >= least && performance.now() - start >= ms)) return rounds;
  }
}

function figuresOf(subjects: readonly Subject[], all: readonly Spent[], requests: number): Figures[] {
  const bare = all[subjects.findIndex(({ name }) => name === 'bare')];
  return subjects.flatMap(({ name }, index): Figures[] => {
    const spent = all[index];
    if (!spent) return [];
    const ratios = spent.rounds.map((time, round) => time / (bare?.rounds[round] ?? Number.NaN));
    const seconds = spent.rounds.reduce((sum, time) => sum + time, 0) / 1_000;
    return [
      {
        subject: name,
        p50: quantile(spent.first, 0.5),
        p95: quantile(spent.first, 0.95),
        ratio: medianInterval(ratios),
        requestsPerSecond: requests / seconds,
        cpu: spent.cpu / requests,
        bytesUp: spent.bytesUp,
      },
    ];
  });
}

/** Adds the CPU time so far with a sign; a pair of calls leaves the difference. */
async function settled(subjects: readonly Subject[], all: readonly Spent[], sign: number): Promise<void> {
  await sleep(SETTLING_MS);
  for (const [index, { pid }] of subjects.entries()) {
    const spent = all[index];
    if (spent) spent.cpu += pid === undefined ? Number.NaN : sign * cpuOf(pid);
  }
}

const NO_LOAD = { answer: undefined };

/** Each client has its own key in each mode, since caches are kept by tenant. */
export function headersOf(
  target: Subject,
  { mode, bytes, deltas }: Pick<Case, 'mode' | 'bytes' | 'deltas'>,
  client: number,
  load: Pick<Load, 'answer'> = NO_LOAD,
): Readonly<Record<string, string>> {
  const { api } = target;
  const planned = strategyOf(mode, bytes);
  const strategy = api ? { mode, ...planned, upstream_api: api } : planned;
  const isPrecis = target.name === 'precis' || api !== undefined;
  return {
    authorization: `Bearer sk-client-${client}-of-the-benchmark-in-mode-${mode}`,
    [DELTAS_HEADER]: `${deltas}`,
    ...(load.answer ? { [ANSWER_HEADER]: JSON.stringify(load.answer) } : {}),
    ...(isPrecis && strategy ? { 'x-memory-strategy': JSON.stringify(strategy) } : {}),
    ...target.headers,
  };
}

function check({ name }: Subject, subject: Case, answers: readonly Answer[]): void {
  const { bytes, mode, situation, deltas } = subject;
  const type = deltas > 0 ? 'text/event-stream' : 'application/json';
  if (!answers.every(({ headers }) => headers['content-type']?.startsWith(type)))
    throw new Error(`${name} did not answer with ${type}`);
  if (name !== 'precis') return;
  for (const { headers } of answers) {
    const mayAct = mode !== 'none' && mode !== 'rolling_summary' && bytes >= EDITED_FROM;
    const acts = mayAct && situation !== 'unseen';
    const isSo =
      headers['x-memory-mode'] === mode &&
      (!acts || headers['x-memory-applied'] !== 'none') &&
      !FAILED.test(`${headers['x-memory-warning']}`);
    if (!isSo) throw new Error(`${mode}, ${situation}: it did not. ${JSON.stringify(headers)}`);
  }
}
