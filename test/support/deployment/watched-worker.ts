/**
 * A Worker that prints each promise that rejects with nobody to handle it, and each rejected work
 * of `waitUntil`. The runtime prints neither by itself. Of what it does print, an uncaught
 * exception is one more fault: an error in a body that breaks off the connection to the caller.
 */
import { basename } from 'node:path';
import { type BuiltWorker, modulesOf } from '../../../tools/worker-modules.ts';

/** What a fault begins with, here and in the runtime's own words. */
const UNCAUGHT = 'Uncaught ';

/** The uncaught errors that a Worker has printed, one a line. */
export function uncaughtIn(output: string): string[] {
  return output.split('\n').filter((line) => line.startsWith(UNCAUGHT));
}

/** The modules of a built Worker below one that watches it, for Miniflare. */
export async function watchedModules(built: BuiltWorker) {
  const modules = await modulesOf(built);
  const contents = watching(basename(built.module), objectsIn(built.options));
  return [{ type: 'ESModule', path: 'watching.js', contents } as const, ...modules];
}

/** The names of the classes of Durable Objects. */
function objectsIn({ durableObjects }: BuiltWorker['options']): string[] {
  return Object.values(durableObjects as Record<string, { readonly className: string }>).map(
    ({ className }) => className,
  );
}

function watching(module: string, objects: readonly string[]): string {
  const classes = objects.map(
    (name) => `export class ${name} extends worker.${name} {
  constructor(ctx, env) {
    watch(ctx);
    super(ctx, env);
  }
}`,
  );
  return `import * as worker from './${module}';

const tell = (where, error) => console.error('${UNCAUGHT}(in ' + where + ') ' + (error?.stack ?? error));

addEventListener('unhandledrejection', ({ reason }) => tell('promise', reason));

const watched = new WeakSet();

/** Watches the method that all contexts of a kind share. */
function watch(ctx) {
  const shared = Object.getPrototypeOf(ctx);
  if (watched.has(shared)) return;
  watched.add(shared);
  const { waitUntil } = shared;
  shared.waitUntil = function (work) {
    Promise.resolve(work).catch((error) => tell('waitUntil', error));
    return waitUntil.call(this, work);
  };
}

export default {
  fetch(request, env, ctx) {
    watch(ctx);
    return worker.default.fetch(request, env, ctx);
  },
};

${classes.join('\n\n')}
`;
}
