/** What the programs print before they load packages: the client, the runtime, zod. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PRECIS = join(import.meta.dirname, '../../../bin/precis.js');

/** Lets no package be loaded. */
const WITHOUT_PACKAGES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    if (url.includes('/node_modules/')) throw new Error('a package was loaded');
    return next(url, context);
  } });
`)}`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'precis-late-'));
});
afterAll(() => rm(folder, { recursive: true }));

function precis(...args: readonly string[]) {
  const command = ['--import', WITHOUT_PACKAGES, PRECIS, ...args];
  return spawnSync(process.execPath, command, { cwd: folder, env: {}, encoding: 'utf8' });
}

it.each(['demo', 'start', 'replay', 'run'])('precis %s --help loads no package', (program) => {
  const { status, stdout, stderr } = precis(program, '--help');

  expect(stdout).toMatch(new RegExp(`^usage: precis ${program} `));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

it('precis start says that it starts before it loads a package', () => {
  const { status, stdout, stderr } = precis('start', '--data', 'kept');

  expect(stdout).toBe(`Precis starts, with its data in ${join(folder, 'kept')}.\n`);
  expect(stderr).toContain('a package was loaded');
  expect(status).toBe(1);
});
