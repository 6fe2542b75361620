/** Runs a piece of work in a process of its own, with a heap of so many megabytes. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

export interface Ended {
  /** Null when the process was killed, as it is when its heap is full. */
  readonly code: number | null;
  /** What it wrote, for the message of a test that fails. */
  readonly output: string;
}

/** @param work its name in `heap-work.ts` */
export function underHeap(megabytes: number, work: string): Promise<Ended> {
  const script = join(import.meta.dirname, 'heap-work.ts');
  const limits = [`--max-old-space-size=${megabytes}`, '--max-semi-space-size=8'];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...limits, script, work], (_, stdout, stderr) =>
      resolve({ code: child.exitCode, output: `${stdout}${stderr}`.slice(-1_000) }),
    );
  });
}
