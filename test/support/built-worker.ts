/** Builds the Worker once for all end-to-end files: building it is half of what each start would cost. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BUILT_WORKER, ROOT, WRANGLER } from './worker-server.ts';

/** Called by vitest before the first file; what it returns, after the last one. */
export async function setup(): Promise<() => Promise<void>> {
  const built = await mkdtemp(join(tmpdir(), 'precis-built-'));
  const args = [WRANGLER, 'deploy', '--dry-run', '--minify', '--outdir', built];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, CI: '1' } });
  const entry = join(built, 'index.js');
  // wrangler would read the map, which is twice as long, at every start.
  const code = await readFile(entry, 'utf8');
  await writeFile(entry, code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
  await rm(join(built, 'index.js.map'), { force: true });
  process.env[BUILT_WORKER] = entry;
  return () => rm(built, { recursive: true, force: true });
}
