/** Reads CPU profiles (https://chromedevtools.github.io/devtools-protocol/tot/Profiler/). */
import { quantile } from './figures.ts';

export interface Profile {
  /** Microseconds of the monotonic clock that `process.hrtime` reads too. */
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly lineNumber: number };
  }[];
  /** The node of each sample. */
  readonly samples: readonly number[];
  /** Microseconds from each sample to the one before; of the first one from the start. */
  readonly timeDeltas: readonly number[];
}

/**
 * Two samples are this many intervals apart, unless the isolate waits, or the first one is late and
 * the next follows at once.
 */
const FEWEST_INTERVALS = 0.5;
const MOST_INTERVALS = 3;
/** The quantile of these distances that is the usual one: waiting makes some of them longer. */
const USUAL = 0.25;

/** What V8 calls the time of an isolate that waits for something. */
const IDLE = '(idle)';

export interface SelfTime {
  /** Of the function; V8 puts its own work into parentheses. */
  readonly name: string;
  /** Milliseconds in the function itself, without the functions that it calls. */
  readonly ms: number;
}

/**
 * The time in each function itself: most first. Together it is the CPU time of the isolate.
 *
 * No samples are taken while no thread runs the isolate, or while the system runs something else
 * instead. So a sample counts for the time since the one before, and at most for the usual distance
 * of two: that is longer than the interval, since the sampler is always a little late.
 *
 * @param intervalUs between two samples, in microseconds
 * @param counts whether a time counts, in microseconds of the profile's clock; absent: all
 */
export function selfTimes(
  { startTime, nodes, samples, timeDeltas }: Profile,
  intervalUs: number,
  counts: (us: number) => boolean = () => true,
): SelfTime[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const near = timeDeltas.filter(
    (us) => us >= FEWEST_INTERVALS * intervalUs && us <= MOST_INTERVALS * intervalUs,
  );
  const distanceUs = near.length > 0 ? quantile(near, USUAL) : intervalUs;
  const times = new Map<string, number>();
  let at = startTime;
  for (const [index, node] of samples.entries()) {
    const since = timeDeltas[index] ?? 0;
    at += since;
    const name = names.get(node) ?? '';
    if (name === IDLE || !counts(at)) continue;
    times.set(name, (times.get(name) ?? 0) + Math.min(since, distanceUs) / 1_000);
  }
  return [...times].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);
}

/** Milliseconds of all functions together. */
export function totalOf(times: readonly SelfTime[]): number {
  return times.reduce((sum, { ms }) => sum + ms, 0);
}

function nameOf({ functionName, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  return functionName === '' ? `(line ${lineNumber + 1})` : functionName;
}
