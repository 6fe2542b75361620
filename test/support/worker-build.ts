/** Builds the Worker once for all end-to-end files, and reads from wrangler.toml how it is run. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { type Unstable_MiniflareWorkerOptions, unstable_getMiniflareWorkerOptions } from 'wrangler';
import { ROOT, WRANGLER } from './worker-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    builtWorker: {
      /** Of the one module, a path. */
      readonly module: string;
      /** What Miniflare runs it with: bindings, compatibility, classes. */
      readonly options: Unstable_MiniflareWorkerOptions['workerOptions'];
    };
  }
}

/** Called by vitest before the first file; what it returns, after the last one. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const built = await mkdtemp(join(tmpdir(), 'precis-built-'));
  const args = [WRANGLER, 'deploy', '--dry-run', '--minify', '--outdir', built];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, CI: '1' } });
  const module = join(built, 'index.js');
  // The map of the sources is twice as long as the code, and would be read at every start.
  const code = await readFile(module, 'utf8');
  await writeFile(module, code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  const { workerOptions } = unstable_getMiniflareWorkerOptions(join(ROOT, 'wrangler.toml'));
  provide('builtWorker', { module, options: workerOptions });
  return () => rm(built, { recursive: true, force: true });
}
