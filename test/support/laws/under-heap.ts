/** Runs works in a separate process with a heap of this many megabytes. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

export interface Ended {
  /** Null if the process was killed, as when its heap is full. */
  readonly code: number | null;
  /** The names of the works that ended, a line each, and what else it printed: its last part. */
  readonly output: string;
}

/** What it answers if all works end. @param works their names */
export const toTheEnd = (...works: readonly string[]): Ended => ({
  code: 0,
  output: works.map((name) => `${name}\n`).join(''),
});

/** @param works their names in `heap-work.ts` */
export function underHeap(megabytes: number, ...works: readonly string[]): Promise<Ended> {
  const script = join(import.meta.dirname, 'heap-work.ts');
  // A collector with threads of its own finishes late on a busy machine, and the heap is full.
  const limits = [`--max-old-space-size=${megabytes}`, '--max-semi-space-size=8', '--single-threaded-gc'];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...limits, script, ...works], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, output: `${stdout}${stderr}`.slice(-1_000) }),
    );
  });
}
