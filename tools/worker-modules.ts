/**
 * A built Worker as Miniflare takes it. Not in worker-build.ts, since only a build needs wrangler,
 * which takes a second to load.
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Unstable_MiniflareWorkerOptions } from 'wrangler';

/** Beside the code of a built Worker: its settings from wrangler.toml. */
export const SETTINGS = 'settings.json';

/** A Worker as a module of code and modules of data, with its settings from wrangler.toml. */
export interface BuiltWorker {
  /** Path of the module with all code. The modules of data lie beside it. */
  readonly module: string;
  /** Miniflare's options: bindings, compatibility, classes. */
  readonly options: Unstable_MiniflareWorkerOptions['workerOptions'];
}

/** The Worker that is built in this folder. */
export async function builtIn(folder: string): Promise<BuiltWorker> {
  const options = JSON.parse(await readFile(join(folder, SETTINGS), 'utf8')) as BuiltWorker['options'];
  return { module: join(folder, 'index.js'), options: { ...options, rootPath: folder } };
}

/** The modules of a built Worker, for Miniflare. */
export async function modulesOf({ module }: BuiltWorker) {
  const folder = dirname(module);
  const code = {
    type: 'ESModule',
    path: basename(module),
    contents: await readFile(module, 'utf8'),
  } as const;
  const names = await readdir(folder);
  const data = names
    .filter((name) => name.endsWith('.bin'))
    .map(async (path) => {
      return { type: 'Data', path, contents: await readFile(join(folder, path)) } as const;
    });
  // Wrangler writes a page of its own beside them, whose name has no hash.
  const texts = names
    .filter((name) => /\.(?:md|txt)$/.test(name) && name !== 'README.md')
    .map(async (path) => {
      return { type: 'Text', path, contents: await readFile(join(folder, path), 'utf8') } as const;
    });
  return [code, ...(await Promise.all([...data, ...texts]))];
}
