/**
 * The commands of docs/operating.md, one block after another, against a local deployment. Programs
 * that reach Cloudflare, or the repository's origin, write down what they are asked for.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../tools/worker-server.ts';
import { ADMIN_TOKEN, run } from '../../support/deployment/backups.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { commandsIn } from '../../support/documents/shell.ts';
import { SNIPPETS } from '../../support/documents/snippets.ts';

const METRICS_TOKEN = 'the-token-of-the-metrics';
/** The reader's key is one of the deployment's, so the page's callers can be added. */
const ACCESS = { ACCESS_KEYS: `reader=${KEY}`, UPSTREAM_API_KEY: 'sk-the-key-of-the-deployment' };
const home = deploy({ vars: { ADMIN_TOKEN, METRICS_TOKEN, ...ACCESS }, alone: true });
const other = deploy({ vars: { ADMIN_TOKEN, ...ACCESS }, alone: true });

const folder = mkdtempSync(join(tmpdir(), 'precis-walk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const programs = join(folder, 'programs');
const record = join(folder, 'record');
/** What the blocks before have assigned. */
const assigned = join(folder, 'assigned');

/** Writes a line with its name, its arguments and its input. */
const TELL = `printf '%s\\n' "$(basename "$0") $*\${input:+ < $input}" >> "$RECORD"`;
const PROGRAMS: Readonly<Record<string, string>> = {
  git: TELL,
  // A real deployment asks wrangler for its secrets, and then to deploy.
  npm: `if [ "$1 \${2:-}" = 'run deploy' ]; then exec node ${join(ROOT, 'tools/deploy.ts')}; fi\n${TELL}`,
  npx: `program="$1"; shift
case "$program" in wrangler) exec wrangler "$@";; precis) exec node bin/precis.js "$@";; *) exit 127;; esac`,
  wrangler: `if [ "$1 $2" = 'secret put' ]; then input="$(cat)"; fi\n${TELL}
if [ "$1 $2" = 'secret list' ]; then echo '[{"name":"PRECIS_SECRET","type":"secret_text"}]'; fi`,
  // Fails where the deployment does not answer with success.
  curl: `PATH="$REST" exec curl --silent --show-error --fail-with-body "$@"`,
  // The one random token that a command of the page uses belongs to the local deployment.
  openssl: `if [ "$*" = 'rand -hex 32' ]; then echo "$MADE"; else PATH="$REST" exec openssl "$@"; fi`,
};

const REST = process.env.PATH ?? '';

beforeAll(async () => {
  await mkdir(programs);
  for (const [name, script] of Object.entries(PROGRAMS))
    writeFileSync(join(programs, name), `#!/bin/sh\nset -e\n${script}\n`, { mode: 0o755 });
  for (const name of ['bin', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name));
  writeFileSync(record, '');
  writeFileSync(assigned, '');
  await home.fetch('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text: 'Ann leads.' }) });
});

/** A deployer reads them in this order. */
const PAGES = ['docs/production.md', 'docs/operating.md'];
const blocks = PAGES.flatMap((read) =>
  SNIPPETS.filter(({ page, language }) => page === read && language === 'sh'),
);

/** Runs a block in the shell that the blocks before it have left. */
async function runBlock(code: string): Promise<{ code: number; said: string }> {
  const script = code
    .replaceAll('https://precis.example.com', home.url)
    .replaceAll('https://other.example.com', other.url);
  const names = commandsIn(code).flatMap((one) => (one.words.length === 0 ? Object.keys(one.assigned) : []));
  const keep = names.length > 0 ? `\ndeclare -p ${names.join(' ')} >> ${assigned}` : '';
  return run('bash', ['--norc', '-euo', 'pipefail', '-c', `. ${assigned}\n${script}${keep}`], {
    cwd: folder,
    env: {
      PATH: `${programs}:${dirname(process.execPath)}:${REST}`,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      REST,
      RECORD: record,
      MADE: ADMIN_TOKEN,
      // What a reader has: the token was made before the section about backups is read again.
      ADMIN_TOKEN,
      METRICS_TOKEN,
      OPENAI_API_KEY: KEY,
    },
  });
}

describe.skipIf(spawnSync('curl', ['--version']).status !== 0)('the commands of docs/operating.md', () => {
  it.each(blocks.map(({ place, code }) => [place, code] as const))('do their work: %s', async (_, code) => {
    appendFileSync(record, '\n');
    const ran = await runBlock(code);
    expect(ran, ran.said).toMatchObject({ code: 0 });
    if (code.includes('/v1/deployment')) expect(ran.said).toContain('"object":"memory.deployment"');
    if (code.includes('/metrics')) expect(ran.said).toContain('precis_requests_total');
    if (code.includes('precis.js doctor')) expect(ran.said).toContain('Nothing fails.');
    if (code.includes(' restore ')) expect(ran.said).toMatch(/^records of callers +2 restored$/m);
  });

  it('have put what is stored into the other deployment', async () => {
    const block = await other.fetch('/v1/blocks/team');
    expect(await block.json()).toMatchObject({ text: 'Ann leads.' });
  });

  it('have asked Cloudflare for what the page says, in its order', () => {
    const asked = readFileSync(record, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) =>
        line
          .replace(/whsec_\S{44}$/, 'whsec_…')
          .replace(ADMIN_TOKEN, 'the token')
          .trim(),
      );
    expect(asked).toEqual([
      'wrangler secret list --format json',
      'wrangler deploy',
      'wrangler secret put ACCESS_KEYS',
      'git pull',
      'npm ci',
      'npm test',
      'wrangler secret list --format json',
      'wrangler deploy',
      'wrangler deployments list',
      'wrangler rollback',
      'wrangler deploy --var OBSERVE:true',
      'wrangler secret put ADMIN_TOKEN < the token',
      'wrangler secret put METRICS_TOKEN',
      'wrangler secret put OTLP_HEADERS',
      'wrangler deploy --var OTLP_ENDPOINT:https://otlp.example.com',
      'wrangler secret put WEBHOOK_SECRET < whsec_…',
      'wrangler r2 bucket lifecycle add precis-refs unused --expire-days 180',
    ]);
  });
});
