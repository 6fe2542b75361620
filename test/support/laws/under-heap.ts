/** Runs work in a separate process with a heap of this many megabytes. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

export interface Ended {
  /** Null if the process was killed, as when its heap is full. */
  readonly code: number | null;
  /** Its output, for the message of a failing test. */
  readonly output: string;
}

/** @param work its name in `heap-work.ts` */
export function underHeap(megabytes: number, work: string): Promise<Ended> {
  const script = join(import.meta.dirname, 'heap-work.ts');
  // A collector with threads of its own finishes late on a busy machine, and the heap is full.
  const limits = [`--max-old-space-size=${megabytes}`, '--max-semi-space-size=8', '--single-threaded-gc'];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...limits, script, work], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, output: `${stdout}${stderr}`.slice(-1_000) }),
    );
  });
}
