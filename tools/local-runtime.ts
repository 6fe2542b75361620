/** A built Worker in Miniflare: workerd with R2 and Durable Objects on this machine. */
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
