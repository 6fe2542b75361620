/**
 * `npm run deploy`: `wrangler deploy`, with a question for the secret that a first deployment
 * lacks. Wrangler makes the bucket. Arguments go on to wrangler.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';

const NAME = 'PRECIS_SECRET';
const args = process.argv.slice(2);

process.exitCode = args.includes('--dry-run') || hasSecret() ? deploy([]) : await deployWithSecret();

/** Whether the deployment has its secret. False if there is no deployment yet. */
function hasSecret(): boolean {
  const { status, stdout } = spawnSync('wrangler', ['secret', 'list', '--format', 'json', ...target()], {
    encoding: 'utf8',
    // It may ask for a login.
    stdio: ['inherit', 'pipe', 'ignore'],
  });
  if (status !== 0) return false;
  const secrets = JSON.parse(stdout.slice(stdout.indexOf('['))) as { readonly name: string }[];
  return secrets.some(({ name }) => name === NAME);
}

/** The arguments that say which deployment is meant. */
function target(): string[] {
  return ['--env', '--name', '--config'].flatMap((flag) => {
    const at = args.indexOf(flag);
    const value = args[at + 1];
    return at < 0 || value === undefined ? [] : [flag, value];
  });
}

/** @returns the exit status of wrangler */
function deploy(more: readonly string[]): number {
  return spawnSync('wrangler', ['deploy', ...more, ...args], { stdio: 'inherit' }).status ?? 1;
}

/** Hands the secret over in a file that only its owner reads, and that is gone afterwards. */
async function deployWithSecret(): Promise<number> {
  const secret = process.env[NAME] || (await askForSecret());
  if (secret === undefined) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'precis-deploy-'));
  try {
    const file = join(folder, 'secrets.json');
    writeFileSync(file, JSON.stringify({ [NAME]: secret }), { mode: 0o600 });
    return deploy(['--secrets-file', file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A new secret, if the person at the terminal agrees. */
async function askForSecret(): Promise<string | undefined> {
  const words = `The deployment has no ${NAME}, the root of all keys of what Precis stores.`;
  if (!process.stdin.isTTY) {
    console.error(
      `${words} Set ${NAME} in the environment (\`openssl rand -base64 32\` makes one), and keep it.`,
    );
    return undefined;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${words} Make one now? [Y/n] `);
  terminal.close();
  if (/^n/i.test(answer.trim())) return undefined;
  const secret = randomBytes(32).toString('base64');
  console.log(`\n  ${secret}\n\nKeep it in your password manager: Cloudflare never shows it again.\n`);
  return secret;
}
