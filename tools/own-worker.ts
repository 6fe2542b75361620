/**
 * Precis's own Worker, as the programs run it. The package from npm has it built, in a folder
 * beside them; a clone builds it.
 */
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BuildOptions } from './worker-build.ts';
import { type BuiltWorker, builtIn, modulesOf, SETTINGS } from './worker-modules.ts';

/** Beside the programs of the package. Tests build one for all programs that they run. */
const BUILT = process.env.PRECIS_TESTED_WORKER ?? join(import.meta.dirname, 'worker');

export interface WorkerServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  url: string;
  /** Everything that the Worker has printed so far. */
  output(): string;
  close(): Promise<void>;
}

/** @param into the folder that a clone builds it into */
export async function ownWorker(into: string): Promise<BuiltWorker> {
  const isBuilt = existsSync(join(BUILT, SETTINGS));
  if (!isBuilt) await buildInto(into);
  return builtIn(isBuilt ? BUILT : into);
}

/** Builds it, with its settings, into a folder that need not exist. */
export async function buildInto(folder: string, options: BuildOptions = {}): Promise<void> {
  // Takes a second to load, and only a build needs it.
  const { buildWorker } = await import('./worker-build.ts');
  await buildWorker(folder, options);
}

/** Runs it at a free port of this machine, with storage that ends with it, or with the program. */
export async function startWorker(vars: Readonly<Record<string, string>>): Promise<WorkerServer> {
  const home = await mkdtemp(join(tmpdir(), 'precis-worker-'));
  const remove = () => rmSync(home, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    // Takes seconds to load, which `--help` and a replay by a deployment must not wait for.
    const { startRuntime } = await import('./local-runtime.ts');
    const built = await ownWorker(join(home, 'worker'));
    let printed = '';
    const miniflare = startRuntime({
      built,
      modules: await modulesOf(built),
      vars,
      storage: join(home, 'storage'),
      print: (line) => {
        printed += `${line}\n`;
      },
    });
    const { origin } = await miniflare.ready;
    const close = () => miniflare.dispose().finally(remove);
    return { url: origin, output: () => printed, close };
  } catch (error) {
    remove();
    throw error;
  }
}
