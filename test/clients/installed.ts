/**
 * Installs the command-line clients from their npm packages, into a directory that goes when the
 * tests are over.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The versions that were looked into: what their configuration leaves open to the network is known.
 */
const CLIENTS = { '@openai/codex': '0.169.0', 'opencode-ai': '1.18.33' };

/** The variable of the environment that names the directory. */
const INSTALLED = 'PRECIS_INSTALLED_CLIENTS';

/** The executable of a client. */
export const executable = (name: 'codex' | 'opencode'): string =>
  join(process.env[INSTALLED] ?? '', 'node_modules/.bin', name);

/** Called by vitest before the first file; what it returns, after the last one. */
export async function setup(): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'precis-clients-'));
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, dependencies: CLIENTS }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const run = promisify(execFile);
  await run('npm', args, { cwd: directory });
  // Of the install scripts, the one that is needed: it puts opencode's executable into its place.
  await run(process.execPath, ['postinstall.mjs'], { cwd: join(directory, 'node_modules/opencode-ai') });
  process.env[INSTALLED] = directory;
  return () => rm(directory, { recursive: true, force: true });
}
