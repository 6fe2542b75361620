/** A command line within the process of its test: one of its own would load all modules again. */
import { vi } from 'vitest';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`the process would end with ${code}`);
    this.code = code;
  }
}

/** Runs a part of a program until it, or its process, would end. The test restores the mocks. */
export async function ended(work: () => unknown): Promise<Ended> {
  const stdout = vi.spyOn(console, 'log').mockImplementation(() => {});
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(Number(code));
  });
  let code = 0;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    code = error.code;
  }
  return { code, stdout: printedBy(stdout), stderr: printedBy(stderr) };
}

function printedBy({ mock }: { mock: { calls: unknown[][] } }): string {
  return mock.calls.map((values) => `${values.join(' ')}\n`).join('');
}
