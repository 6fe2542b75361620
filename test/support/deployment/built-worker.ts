/** Starts the Worker that worker-build.ts has built, with temporary storage. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import type { WorkerServer } from '../../../tools/own-worker.ts';
import type { BuiltWorker } from '../../../tools/worker-modules.ts';
import type { BuiltWorkerOptions } from './run-worker.ts';

/** To worker-host.ts: start a Worker, or close the one with this number. */
export interface HostOrder {
  readonly id: number;
  readonly start?: { readonly built: BuiltWorker; readonly options: BuiltWorkerOptions };
}

/** From worker-host.ts, about the Worker with this number. */
export interface HostReply {
  readonly id: number;
  /** Its address: it answers. */
  readonly url?: string;
  /** A part of its output. */
  readonly printed?: string;
  readonly closed?: boolean;
  /** Why it could not be started or closed. */
  readonly failed?: string;
}

/** The process with the Workers of this one. */
class Host {
  private readonly process: ChildProcess;
  private readonly heard = new Map<number, (reply: HostReply) => void>();
  private orders = 0;

  constructor() {
    const quick = pathToFileURL(join(import.meta.dirname, 'quick-config.ts')).href;
    this.process = fork(join(import.meta.dirname, 'worker-host.ts'), { execArgv: ['--import', quick] });
    this.process.on('message', (reply: HostReply) => this.heard.get(reply.id)?.(reply));
    this.process.once('exit', (code) => {
      for (const [id, hear] of this.heard) hear({ id, failed: `its process has ended: ${code}` });
    });
  }

  /** Resolves when the Worker answers. @throws if it does not start */
  async start(options: BuiltWorkerOptions): Promise<WorkerServer> {
    const id = this.orders++;
    let printed = '';
    let settle: PromiseWithResolvers<HostReply>;
    const order = (message: HostOrder): Promise<HostReply> => {
      settle = Promise.withResolvers();
      this.process.send(message);
      return settle.promise;
    };
    this.heard.set(id, (reply) => {
      printed += reply.printed ?? '';
      if (reply.failed !== undefined) settle.reject(new Error(`A Worker failed: ${reply.failed}`));
      else if (reply.url !== undefined || reply.closed) settle.resolve(reply);
    });
    const { url = '' } = await order({ id, start: { built: inject('builtWorker'), options } });
    const close = async () => {
      await order({ id });
      this.heard.delete(id);
    };
    return { url, output: () => printed, close };
  }
}

let host: Host | undefined;

/** Resolves when the Worker answers. @param options variables beside the ones in wrangler.toml */
export function startBuiltWorker(options: BuiltWorkerOptions): Promise<WorkerServer> {
  host ??= new Host();
  return host.start(options);
}
