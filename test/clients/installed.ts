/** Installs the command-line clients from their npm packages into a temporary directory. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Versions that were examined: it is known what network access their configuration leaves open. */
const CLIENTS = {
  '@continuedev/cli': '1.5.47',
  '@openai/codex': '0.169.0',
  cline: '3.0.65',
  'opencode-ai': '1.18.33',
};

/** The name of a client's executable. */
export type ClientName = 'cline' | 'cn' | 'codex' | 'opencode';

/** The environment variable with the directory. */
const INSTALLED = 'PRECIS_INSTALLED_CLIENTS';

/** The executable of a client. */
export const executable = (name: ClientName): string =>
  join(process.env[INSTALLED] ?? '', 'node_modules/.bin', name);

/** Called by vitest before the first file; the returned function runs after the last one. */
export async function setup(): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'precis-clients-'));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, dependencies: CLIENTS }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const run = promisify(execFile);
  await run('npm', args, { cwd: directory });
  // The only install script that is needed: it puts opencode's executable into its place.
  await run(process.execPath, ['postinstall.mjs'], { cwd: join(directory, 'node_modules/opencode-ai') });
  process.env[INSTALLED] = directory;
  return () => rm(directory, { recursive: true, force: true });
}
