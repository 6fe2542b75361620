/** A built Worker in Miniflare: workerd with R2 and Durable Objects on this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { basename } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import type { BuiltWorker, modulesOf } from './worker-modules.ts';

type V4Options = Parameters<typeof convertV4MiniflareOptions>[0];

interface LocalRuntime {
  readonly built: BuiltWorker;
  readonly modules: Awaited<ReturnType<typeof modulesOf>>;
  /** The Worker's variables, beside the ones in wrangler.toml. */
  readonly vars: Readonly<Record<string, string>>;
  /** The folder of everything that is stored; undefined: a temporary one. */
  readonly storage: string | undefined;
  /** Takes the Worker's output, line by line. */
  readonly print: (line: string) => void;
  /** Options of Miniflare, and of its Worker. */
  readonly more?: Partial<V4Options>;
  readonly moreOfWorker?: object;
}

// Miniflare does not give the process that it starts.
subscribe('child_process', (started) => {
  const { process: child } = started as { process: ChildProcess };
  child.once('spawn', () => {
    if (basename(child.spawnfile).startsWith('workerd')) endWithThis(child);
  });
});

/**
 * Has a shell end workerd when this process is gone. Miniflare does so too, but not after `kill
 * -9`, and another Precis would be a second writer of the folder.
 */
function endWithThis(child: ChildProcess): void {
  // It reads until this process, which has the other end of the pipe, is gone.
  const args = ['-c', 'read _; kill -9 "$0"', String(child.pid)];
  const watcher = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Windows has no shell of this name.
  watcher.once('error', () => undefined).unref();
  // Its process id may be another's then.
  child.once('exit', () => watcher.kill('SIGKILL'));
}

/** Starts at a free port of this machine. */
export function startRuntime(runtime: LocalRuntime): Miniflare {
  const { built, modules, vars, storage, print, more, moreOfWorker } = runtime;
  return new Miniflare({
    ...convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: 0,
      // `request.cf` is not used, so don't fetch it from the network.
      cf: false,
      handleStructuredLogs: ({ message }) => print(message),
      ...more,
      workers: [
        {
          ...built.options,
          name: 'precis',
          bindings: { ...(built.options.bindings as object), ...vars },
          modules,
          ...moreOfWorker,
        },
      ],
    } as V4Options),
    ...(storage === undefined ? {} : { resourcePersistencePath: storage }),
  });
}
