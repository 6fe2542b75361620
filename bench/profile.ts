/** Reads CPU profiles (https://chromedevtools.github.io/devtools-protocol/tot/Profiler/). */

export interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly lineNumber: number };
  }[];
  /** The node of each sample. */
  readonly samples: readonly number[];
  /** Microseconds from each sample to the one before. */
  readonly timeDeltas: readonly number[];
}

/** Samples come this much late when the machine is busy. A longer gap is a pause. */
const MOST_INTERVALS = 3;

export interface SelfTime {
  /** Of the function; V8 puts its own work into parentheses. */
  readonly name: string;
  /** Milliseconds in the function itself, without the functions that it calls. */
  readonly ms: number;
}

/**
 * The time in each function itself: most first. No samples are taken while the isolate waits, so a
 * sample counts for the usual interval at most.
 *
 * @param intervalUs between two samples, in microseconds
 */
export function selfTimes({ nodes, samples, timeDeltas }: Profile, intervalUs: number): SelfTime[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, node] of samples.entries()) {
    const name = names.get(node) ?? '';
    // A sample stands for the time until the next one.
    const us = Math.min(timeDeltas[index + 1] ?? 0, MOST_INTERVALS * intervalUs);
    times.set(name, (times.get(name) ?? 0) + us / 1_000);
  }
  return [...times].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);
}

function nameOf({ functionName, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  return functionName === '' ? `(line ${lineNumber + 1})` : functionName;
}
