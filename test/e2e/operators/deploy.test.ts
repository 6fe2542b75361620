/** `npm run deploy` with a wrangler that writes down what it is asked for. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import { ROOT } from '../../../tools/worker-server.ts';

const SECRET = 'a-secret-that-nobody-prints';

let folder: string;
let told: string;

/** The first line of its list is a notice, as wrangler prints one. */
const WRANGLER = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync, statSync } = require('node:fs');
const [, , ...args] = process.argv;
const at = args.indexOf('--secrets-file');
const file = at < 0 ? null : { text: readFileSync(args[at + 1], 'utf8'), mode: statSync(args[at + 1]).mode & 0o777, path: args[at + 1] };
appendFileSync(process.env.TOLD, JSON.stringify({ args, file }) + '\\n');
if (args[0] === 'secret') {
  if (process.env.SECRETS === undefined) process.exit(1);
  console.log('a notice\\n' + process.env.SECRETS);
}
process.exit(args[0] === 'deploy' ? Number(process.env.STATUS ?? 0) : 0);
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'precis-wrangler-'));
  told = join(folder, 'told');
  writeFileSync(join(folder, 'wrangler'), WRANGLER);
  chmodSync(join(folder, 'wrangler'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Told {
  readonly args: readonly string[];
  readonly file: { readonly text: string; readonly mode: number; readonly path: string } | null;
}

function deploy(vars: Record<string, string>, ...args: string[]) {
  writeFileSync(told, '');
  const env = { PATH: `${folder}:${dirname(process.execPath)}`, TOLD: told, ...vars };
  const ran = spawnSync(process.execPath, [join(ROOT, 'tools/deploy.ts'), ...args], {
    env,
    encoding: 'utf8',
    input: '',
  });
  const calls = readFileSync(told, 'utf8').trim().split('\n').filter(Boolean);
  return { ...ran, calls: calls.map((line) => JSON.parse(line) as Told) };
}

describe('npm run deploy', () => {
  it('deploys as wrangler does where the deployment has its secret', () => {
    const { status, calls } = deploy(
      { SECRETS: '[{"name":"PRECIS_SECRET","type":"secret_text"}]' },
      '--env',
      'team',
    );
    expect(status).toBe(0);
    expect(calls.map(({ args }) => args.join(' '))).toEqual([
      'secret list --format json --env team',
      'deploy --env team',
    ]);
  });

  it.each([
    ['a deployment without a secret', { SECRETS: '[{"name":"METRICS_TOKEN","type":"secret_text"}]' }],
    ['no deployment', {}],
  ])('hands over the secret of the environment, and leaves no copy: %s', (_, vars) => {
    const { status, calls, stdout, stderr } = deploy({ ...vars, PRECIS_SECRET: SECRET });
    expect(status).toBe(0);
    const { file } = calls.at(-1) ?? {};
    expect(file).toMatchObject({ text: JSON.stringify({ PRECIS_SECRET: SECRET }), mode: 0o600 });
    expect(() => readFileSync(file?.path ?? '')).toThrow('ENOENT');
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it('says what is missing where nobody can be asked, and deploys nothing', () => {
    const { status, calls, stderr } = deploy({});
    expect(status).toBe(1);
    expect(stderr).toContain('openssl rand -base64 32');
    expect(calls.map(({ args }) => args[0])).toEqual(['secret']);
  });

  it('ends as wrangler does', () => {
    expect(deploy({ PRECIS_SECRET: SECRET, STATUS: '3' }).status).toBe(3);
  });

  it('asks for nothing in a dry run', () => {
    expect(deploy({}, '--dry-run').calls.map(({ args }) => args.join(' '))).toEqual(['deploy --dry-run']);
  });
});

describe('the button of Cloudflare', () => {
  it('asks for one secret, which nobody can leave as it is', async () => {
    const lines = (await readFile(join(ROOT, '.dev.vars.example'), 'utf8')).split('\n');
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual(['PRECIS_SECRET=']);
  });

  it('describes variables that exist', async () => {
    const { cloudflare } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      readonly cloudflare: { readonly bindings: Record<string, { readonly description: string }> };
    };
    expect(
      Object.keys(cloudflare.bindings).filter(
        (name) => name !== 'REFS' && !VARIABLES.some((known) => known === name),
      ),
    ).toEqual([]);
    expect(Object.keys(cloudflare.bindings)).toContain('PRECIS_SECRET');
  });
});
