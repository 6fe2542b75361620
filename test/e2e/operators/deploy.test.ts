/** `npm run deploy` with a wrangler that writes down what it is asked for. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import { ROOT } from '../../../tools/worker-server.ts';

const SECRET = 'a-secret-that-nobody-prints';

let folder: string;
let record: string;

/** As wrangler 4 prints it, in color. */
const NO_WORKER = `\u001B[31m✘ \u001B[41;31m[\u001B[41;97mERROR\u001B[41;31m]\u001B[0m \u001B[1mWorker "precis" not found.\u001B[0m

  If this is a new Worker, run \`wrangler deploy\` first to create it.`;

const WITH_SECRET = '[{"name":"PRECIS_SECRET","type":"secret_text"}]';

/**
 * Notes its arguments, and the path, the mode and the text of the file that they name. A shell
 * starts faster than Node. The first line of its list is a notice, as wrangler prints one.
 */
const WRANGLER = `#!/bin/sh
PATH=/usr/bin:/bin
for one; do
  if [ "$before" = --secrets-file ]; then file="$one"; fi
  before="$one"
done
IFS='|'
printf '%s\\t%s\\t%s\\t%s\\n' "$*" "$file" "\${file:+$(ls -l "$file")}" "\${file:+$(cat "$file")}" >> "$RECORD"
if [ "$1" = secret ]; then
  if [ -z "\${SECRETS+set}" ]; then printf '%s\\n' "\${REFUSAL-$NO_WORKER}" >&2; exit "\${LIST_STATUS:-1}"; fi
  printf 'a notice\\n%s\\n' "$SECRETS"
elif [ "$HANGS" ]; then exec sleep 60
else exit "\${STATUS:-0}"
fi
`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'precis-wrangler-'));
  record = join(folder, 'record');
  writeFileSync(join(folder, 'wrangler'), WRANGLER);
  chmodSync(join(folder, 'wrangler'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Reported {
  readonly args: readonly string[];
  readonly file: { readonly text: string; readonly mode: string; readonly path: string } | undefined;
}

const environment = (vars: Record<string, string>) => ({
  PATH: `${folder}:${dirname(process.execPath)}`,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  RECORD: record,
  NO_WORKER,
  ...vars,
});

const calls = (): Reported[] => {
  const lines = readFileSync(record, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [args = '', path = '', listed = '', text = ''] = line.split('\t');
    return {
      args: args.split('|'),
      file: path === '' ? undefined : { path, mode: listed.slice(0, 10), text },
    };
  });
};

function deploy(vars: Record<string, string>, ...args: string[]) {
  writeFileSync(record, '');
  const ran = spawnSync(process.execPath, [join(ROOT, 'tools/deploy.ts'), ...args], {
    env: environment(vars),
    encoding: 'utf8',
    input: '',
  });
  return { ...ran, calls: calls() };
}

describe('npm run deploy', () => {
  it('deploys as wrangler does where the deployment has its secret, whatever the environment has', () => {
    const { status, calls } = deploy({ SECRETS: WITH_SECRET, PRECIS_SECRET: SECRET }, '--env', 'team');
    expect(status).toBe(0);
    expect(calls.map(({ args }) => args.join(' '))).toEqual([
      'secret list --format json --env=team',
      'deploy --env team',
    ]);
  });

  it.each([
    [['-e', 'team'], '--env=team'],
    [['-e=team'], '--env=team'],
    [['--minify', '--env=team'], '--env=team'],
    [['-c', 'other.toml'], '--config=other.toml'],
    [['--config=other.toml', '--name=other'], '--name=other --config=other.toml'],
    [['--cwd', 'elsewhere', '--var', 'OBSERVE:true'], '--cwd=elsewhere'],
  ])('asks for the secrets of the deployment that is meant: %j', (args, target) => {
    const { calls } = deploy({ SECRETS: WITH_SECRET }, ...args);
    expect(calls.map(({ args }) => args)).toEqual([
      ['secret', 'list', '--format', 'json', ...target.split(' ')],
      ['deploy', ...args],
    ]);
  });

  it.each([
    'A request to the Cloudflare API (/accounts/a/workers/scripts/precis/secrets) failed.\n  Authentication error [code: 10000]',
    'fetch failed',
    '',
  ])('deploys nothing where nobody knows of a secret, and says why: %s', (REFUSAL) => {
    const { status, calls, stderr } = deploy({ REFUSAL, LIST_STATUS: '7', PRECIS_SECRET: SECRET });
    expect(status).toBe(7);
    expect(stderr).toContain(REFUSAL);
    expect(stderr).toContain('Nothing is deployed');
    expect(calls.map(({ args }) => args[0])).toEqual(['secret']);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('leaves no copy of the secret after %s', async (signal) => {
    writeFileSync(record, '');
    const env = environment({ PRECIS_SECRET: SECRET, HANGS: 'true' });
    const running = spawn(process.execPath, [join(ROOT, 'tools/deploy.ts')], { env, stdio: 'ignore' });
    const file = await vi.waitUntil(() => calls().find(({ args }) => args[0] === 'deploy')?.file, {
      timeout: 30_000,
    });
    expect(existsSync(file.path)).toBe(true);
    running.kill(signal);
    const [code] = await once(running, 'exit');
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(existsSync(dirname(file.path))).toBe(false);
  });

  it.each([
    ['a deployment without a secret', { SECRETS: '[{"name":"METRICS_TOKEN","type":"secret_text"}]' }],
    ['no deployment', {}],
  ])('hands over the secret of the environment, and leaves no copy: %s', (_, vars) => {
    const { status, calls, stdout, stderr } = deploy({ ...vars, PRECIS_SECRET: SECRET });
    expect(status).toBe(0);
    const { file } = calls.at(-1) ?? {};
    expect(file).toMatchObject({ text: JSON.stringify({ PRECIS_SECRET: SECRET }), mode: '-rw-------' });
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

  it.each(['--help', '-h'])('prints its usage, and asks wrangler nothing, with %s', (flag) => {
    const { status, stdout, calls } = deploy({}, flag);
    expect([status, stdout, calls]).toEqual([0, expect.stringMatching(/^usage: npm run deploy/), []]);
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
