/** Builds the Worker once for all end-to-end files, and reads its settings from wrangler.toml. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { type BuiltWorker, builtIn, SETTINGS } from './worker-modules.ts';
import { ROOT } from './worker-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    builtWorker: BuiltWorker;
  }
}

/** The Worker as tests start it. */
const TESTED = join(ROOT, 'test/support/deployment/tested-worker.ts');

/**
 * Wrangler without the process that starts it, and with a script that writes the settings. It takes
 * a second to load, so what builds asks the one that has built.
 */
const WITH_SETTINGS = [
  '--no-warnings',
  // `--import` would have Node parse wrangler twice more, to learn what it exports.
  '--require',
  join(import.meta.dirname, 'worker-settings.ts'),
  join(ROOT, 'node_modules/wrangler/wrangler-dist/cli.js'),
];

/**
 * Called by vitest before the first file; the returned function runs after the last one. The
 * programs that tests run take this Worker too (own-worker.ts).
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const built = await mkdtemp(join(tmpdir(), 'precis-built-'));
  process.env.PRECIS_TESTED_WORKER = built;
  provide('builtWorker', await buildWorker(built, { entry: TESTED }));
  return () => rm(built, { recursive: true, force: true });
}

export interface BuildOptions {
  /** The path of a Worker other than Precis. */
  readonly entry?: string;
  /** Keeps the names of functions. */
  readonly hasNames?: boolean;
  /** Writes a map of the sources beside the code: a quarter of the work. */
  readonly hasMap?: boolean;
}

/** @param into a directory that need not exist; its settings are written there, too */
export async function buildWorker(
  into: string,
  { entry, hasNames = false, hasMap = false }: BuildOptions = {},
): Promise<BuiltWorker> {
  const named = entry === undefined ? [] : [entry];
  const minified = hasNames ? [] : ['--minify'];
  const maps = hasMap ? [] : ['--no-upload-source-maps'];
  const args = ['deploy', ...named, '--dry-run', ...minified, ...maps, '--outdir', into];
  const env = { ...process.env, CI: '1', SETTINGS_INTO: join(into, SETTINGS) };
  await promisify(execFile)(process.execPath, [...WITH_SETTINGS, ...args], { cwd: ROOT, env });
  const module = join(into, 'index.js');
  // The source map is twice as long as the code, and would be read at every start.
  const code = await readFile(
    entry === undefined ? module : join(into, `${basename(entry, '.ts')}.js`),
    'utf8',
  );
  await writeFile(module, code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  return builtIn(into);
}
