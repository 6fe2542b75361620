/** Installs packages that only benchmarks use, in a folder of their own. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where they go: `npm ci` clears it. */
export const BENCH_CACHE = join(import.meta.dirname, '../node_modules/.cache/precis-bench');

/** The members of a package.json that say what to install. Versions are exact. */
interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

/**
 * @param folder is created
 * @throws Error that says what can't be installed, with npm's code (as `ECONNREFUSED`)
 */
export async function install(folder: string, packages: Packages): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...packages }));
  // Its error names the code, which a silent npm that runs this would not print.
  const options = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel', 'error'];
  await promisify(execFile)('npm', ['install', ...options]).catch(({ code, stderr }) => {
    const cause = /^npm error code (\w+)$/m.exec(`${stderr}`)?.[1] ?? code;
    const names = Object.entries(packages.dependencies).map(([name, version]) => `${name}@${version}`);
    throw new Error(`npm can't install ${names.join(', ')} (${cause}); is the registry reachable?`);
  });
}
