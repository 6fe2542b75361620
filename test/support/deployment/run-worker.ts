/**
 * Runs a built Worker on a free port. This is the runtime of `wrangler dev` without wrangler, since
 * its command line, bundler and proxy take more than half of a start.
 */
import { startRuntime } from '../../../tools/local-runtime.ts';
import type { BuiltWorker } from '../../../tools/worker-modules.ts';
import { watchedModules } from './watched-worker.ts';

export interface BuiltWorkerOptions {
  readonly vars?: Readonly<Record<string, string>>;
  /** The path of a folder with stored data. The Worker reads and changes it. */
  readonly state?: string;
}

/**
 * Resolves when the Worker answers.
 *
 * @param vars beside the ones in wrangler.toml
 * @param print takes the Worker's output, line by line
 */
export async function runWorker(
  built: BuiltWorker,
  { vars = {}, state }: BuiltWorkerOptions,
  print: (line: string) => void,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const miniflare = startRuntime({
    built,
    modules: await watchedModules(built),
    vars,
    storage: state,
    print: (line) => print(`${line}\n`),
    // Not by way of Miniflare's own Worker, which takes a quarter of the time of a small request.
    moreOfWorker: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
  });
  const url = await miniflare.unsafeGetDirectURL();
  return { url: url.origin, close: () => miniflare.dispose() };
}
