/**
 * The Worker as worker-build.ts has built it, on a free port and with storage of its own that goes
 * when it is closed. It is the runtime of `wrangler dev` without wrangler: a command line, a
 * bundler and a proxy before each Worker are more than half of what a start costs.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { inject } from 'vitest';
import type { WorkerOptions, WorkerServer } from '../../tools/worker-server.ts';

export interface BuiltWorkerOptions extends Pick<WorkerOptions, 'vars'> {
  /** A folder of stored data, as a path. The Worker reads and changes it. */
  readonly state?: string;
}

/** Resolves when the Worker answers. @param vars beside those of wrangler.toml */
export async function startBuiltWorker({ vars = {}, state }: BuiltWorkerOptions = {}): Promise<WorkerServer> {
  const { module, options } = inject('builtWorker');
  let printed = '';
  const miniflare = new Miniflare({
    ...convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: 0,
      // `request.cf` is not used: do not ask the network for one.
      cf: false,
      // The scheduled handler has a path.
      unsafeTriggerHandlers: true,
      handleStructuredLogs: ({ message }) => {
        printed += `${message}\n`;
      },
      workers: [
        {
          ...options,
          name: 'precis',
          bindings: { ...(options.bindings as object), ...vars },
          modules: [{ type: 'ESModule', path: basename(module), contents: await readFile(module, 'utf8') }],
        },
      ],
    }),
    ...(state === undefined ? {} : { resourcePersistencePath: state }),
  });
  const url = await miniflare.ready;
  return { url: url.origin, output: () => printed, close: () => miniflare.dispose() };
}
