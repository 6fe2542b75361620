/**
 * CPU time of the Worker alone. The process of a local runtime also simulates the storage, serves
 * the connections, and runs the Durable Objects. Cloudflare limits and bills the time of a
 * Worker's isolate, so that one is sampled, in rounds of their own.
 *
 * It is blind to what the runtime does outside of the isolate: HTTP, TLS, the streams that it pumps
 * by itself. Cloudflare's processors are others, and the sampling itself is in the figure.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type SelfTime, selfTimes, totalOf } from '../profile.ts';
import type { Runtime } from '../runtime.ts';
import { ask } from './client.ts';
import { Load } from './loads.ts';
import { type Case, type Cell, headersOf, PATH, SETTLING_MS, THINKING_MS } from './measure.ts';
import type { Subject } from './subjects.ts';

/** Milliseconds per request, including work after the answers. */
export interface Sampled {
  readonly all: number;
  /** Of requests whose views keep their frontier, and of those that move it; if there are any. */
  readonly kept: number | undefined;
  readonly moved: number | undefined;
  /** Of all requests, by function. */
  readonly functions: readonly SelfTime[];
}

/** A cell with the CPU time of the Worker. It is sampled in the cases over one connection. */
export type SampledCell = Cell & { readonly worker?: Sampled; readonly bridged?: Sampled };

/** Microseconds between two samples: for a figure, and for the functions. */
const FIGURE_US = 1_000;
const FUNCTIONS_US = 100;

/**
 * Rounds with one conversation, so that a growing one stays near its size: those before the samples
 * and those with them.
 */
const FIRST_ROUNDS = 3;
const ROUNDS = 20;

/** Conversations, until the time is over. */
const CONVERSATIONS = 4;
/** In milliseconds. */
const SAMPLED_MS = 4_000;

/** A request and the work after its answer, in microseconds of the monotonic clock. */
interface Span {
  readonly from: number;
  readonly moves: boolean;
  to: number;
}

/**
 * Samples Precis in a case, over one connection.
 *
 * @param byFunction samples often enough to tell functions apart, which costs as much as they do
 */
export async function sample(
  precis: Subject & Pick<Runtime, 'profile'>,
  subject: Case,
  seed: number,
  byFunction: boolean,
): Promise<Sampled> {
  const intervalUs = byFunction ? FUNCTIONS_US : FIGURE_US;
  const times = new Map<string, number>();
  const sums = { kept: 0, moved: 0 };
  const counts = { kept: 0, moved: 0 };
  const start = performance.now();
  for (let index = 0; index < CONVERSATIONS && performance.now() - start < SAMPLED_MS; index++) {
    const play = player(precis, subject, seed + index);
    await play(FIRST_ROUNDS);
    let spans: readonly Span[] = [];
    const profile = await precis.profile(intervalUs, async () => {
      spans = await play(ROUNDS);
    });
    for (const { name, ms } of selfTimes(profile, intervalUs)) times.set(name, (times.get(name) ?? 0) + ms);
    for (const { from, to, moves } of spans) {
      const kind = moves ? 'moved' : 'kept';
      counts[kind]++;
      sums[kind] += totalOf(selfTimes(profile, intervalUs, (us) => us >= from && us < to));
    }
  }
  const requests = counts.kept + counts.moved;
  const functions = [...times].map(([name, ms]) => ({ name, ms: ms / requests }));
  return {
    all: totalOf(functions),
    kept: counts.kept > 0 ? sums.kept / counts.kept : undefined,
    moved: counts.moved > 0 ? sums.moved / counts.moved : undefined,
    functions: functions.sort((a, b) => b.ms - a.ms),
  };
}

/** Plays rounds of one conversation. */
function player(precis: Subject, subject: Case, seed: number): (rounds: number) => Promise<readonly Span[]> {
  const { bytes, situation, deltas } = subject;
  const load = new Load(bytes, situation, deltas, seed);
  return async (rounds) => {
    const spans: Span[] = [];
    const settle = async (ms: number): Promise<void> => {
      await sleep(ms);
      const last = spans.at(-1);
      if (last) last.to = nowUs();
    };
    for (let round = 0; round < rounds; round++) {
      if (situation === 'growing') await settle(THINKING_MS);
      const body = load.next();
      const from = nowUs();
      const answer = await ask(precis.url + PATH, headersOf(precis, subject, 0, load), body);
      spans.push({ from, to: nowUs(), moves: answer.headers['x-memory-frontier'] === 'moved' });
    }
    await settle(SETTLING_MS);
    return spans;
  };
}

/** Of the monotonic clock. */
function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
