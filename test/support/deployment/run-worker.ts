/**
 * Runs a built Worker on a free port. This is the runtime of `wrangler dev` without wrangler, since
 * its command line, bundler and proxy take more than half of a start.
 */
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import type { BuiltWorker } from '../../../tools/worker-modules.ts';
import type { WorkerOptions } from '../../../tools/worker-server.ts';
import { watchedModules } from './watched-worker.ts';

export interface BuiltWorkerOptions extends Pick<WorkerOptions, 'vars'> {
  /** The path of a folder with stored data. The Worker reads and changes it. */
  readonly state?: string;
}

/**
 * Resolves when the Worker answers.
 *
 * @param vars beside those of wrangler.toml
 * @param print takes the Worker's output, line by line
 */
export async function runWorker(
  built: BuiltWorker,
  { vars = {}, state }: BuiltWorkerOptions,
  print: (line: string) => void,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const miniflare = new Miniflare({
    ...convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: 0,
      // `request.cf` is not used, so don't fetch it from the network.
      cf: false,
      // Gives the scheduled handler a path.
      unsafeTriggerHandlers: true,
      handleStructuredLogs: ({ message }) => print(`${message}\n`),
      workers: [
        {
          ...built.options,
          name: 'precis',
          bindings: { ...(built.options.bindings as object), ...vars },
          modules: await watchedModules(built),
        },
      ],
    }),
    ...(state === undefined ? {} : { resourcePersistencePath: state }),
  });
  const url = await miniflare.ready;
  return { url: url.origin, close: () => miniflare.dispose() };
}
