/** Starts the Worker that worker-build.ts has built, with temporary storage. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { BuiltWorker } from '../../../tools/worker-build.ts';
import type { WorkerServer } from '../../../tools/worker-server.ts';
import { type BuiltWorkerOptions, runWorker } from './run-worker.ts';

/** The message to a process of worker-host.ts. */
export interface HostedWorker {
  readonly built: BuiltWorker;
  readonly options: BuiltWorkerOptions;
}

/** A message from such a process: the Worker's address, or a part of its output. */
export interface HostMessage {
  readonly url?: string;
  readonly printed?: string;
}

/** Resolves when the Worker answers. @param options variables beside those of wrangler.toml */
export async function startBuiltWorker(options: BuiltWorkerOptions): Promise<WorkerServer> {
  let printed = '';
  const worker = await runWorker(inject('builtWorker'), options, (line) => {
    printed += line;
  });
  return { ...worker, output: () => printed };
}

/** The same in a separate process, which ends with this one, even when this one is killed. */
export function startHostedWorker(options: BuiltWorkerOptions): Promise<WorkerServer> {
  const host = fork(join(import.meta.dirname, 'worker-host.ts'), { execArgv: [] });
  let printed = '';
  const close = async () => host.disconnect();
  return new Promise((resolve, reject) => {
    host.once('exit', (code) => reject(new Error(`The Worker did not start: ${code}`)));
    host.on('message', (told: HostMessage) => {
      printed += told.printed ?? '';
      if (told.url !== undefined) resolve({ url: told.url, output: () => printed, close });
    });
    host.send({ built: inject('builtWorker'), options } satisfies HostedWorker);
  });
}
