/**
 * Starts the Worker that worker-build.ts has built, on a free port, with temporary storage. This is
 * the runtime of `wrangler dev` without wrangler, since its command line, bundler and proxy take
 * more than half of a start.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { inject } from 'vitest';
import type { WorkerOptions, WorkerServer } from '../../tools/worker-server.ts';

export interface BuiltWorkerOptions extends Pick<WorkerOptions, 'vars'> {
  /** The path of a folder with stored data. The Worker reads and changes it. */
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
      // `request.cf` is not used, so don't fetch it from the network.
      cf: false,
      // Gives the scheduled handler a path.
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
