/**
 * `npm run deploy`: `wrangler deploy`, with a question for the secret that a first deployment
 * lacks. Wrangler makes the bucket. Arguments go on to wrangler.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs, stripVTControlCharacters } from 'node:util';

const NAME = 'PRECIS_SECRET';
const args = process.argv.slice(2);

const USAGE = `usage: npm run deploy -- [arguments of wrangler deploy]

Deploys Precis with wrangler. Where the deployment lacks its ${NAME}, the one in the environment is
set, or one is made after a question. \`npx wrangler deploy --help\` lists the arguments; with
--dry-run nothing is deployed.`;

/** Wrangler 4 of a Worker that the account lacks, and the API's codes for that. */
const NO_WORKER = /\bWorker "[^"]*"(?: \(env: [^)]*\))? not found\.|\[code: (?:10007|10090)\]/;

process.exitCode = await run();

/** @returns the exit status */
async function run(): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(USAGE);
    return 0;
  }
  if (args.includes('--dry-run')) return deploy([]);
  const { status, stdout, stderr } = listSecrets();
  if (status === 0) return hasSecret(stdout) ? deploy([]) : deployWithSecret();
  if (NO_WORKER.test(stripVTControlCharacters(stderr))) return deployWithSecret();
  // A deployment may be there, and a new secret would make all that it stores unreadable.
  process.stderr.write(stderr);
  console.error(`Nothing is deployed: wrangler can't tell whether the deployment has its ${NAME}.`);
  return status ?? 1;
}

function listSecrets() {
  return spawnSync('wrangler', ['secret', 'list', '--format', 'json', ...target()], {
    encoding: 'utf8',
    // It may ask for a login.
    stdio: ['inherit', 'pipe', 'pipe'],
  });
}

/** @param list as wrangler prints it, after its notices */
function hasSecret(list: string): boolean {
  const secrets = JSON.parse(list.slice(list.search(/^\[/m))) as { readonly name: string }[];
  return secrets.some(({ name }) => name === NAME);
}

/** The arguments that say which deployment is meant, in any spelling. */
function target(): string[] {
  const { values } = parseArgs({
    args,
    options: {
      env: { type: 'string', short: 'e' },
      config: { type: 'string', short: 'c' },
      name: { type: 'string' },
      cwd: { type: 'string' },
    },
    strict: false,
  });
  return ['env', 'name', 'config', 'cwd'].flatMap((flag) => {
    const value = values[flag];
    return typeof value === 'string' ? [`--${flag}=${value.replace(/^=/, '')}`] : [];
  });
}

/**
 * A signal ends wrangler, and this process only after it, so that no copy of the secret stays.
 *
 * @returns the exit status of wrangler
 */
async function deploy(more: readonly string[]): Promise<number> {
  const child = spawn('wrangler', ['deploy', ...more, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
}

/** Hands the secret over in a file that only its owner reads, and that is gone afterwards. */
async function deployWithSecret(): Promise<number> {
  const secret = process.env[NAME] || (await askForSecret());
  if (secret === undefined) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'precis-deploy-'));
  try {
    const file = join(folder, 'secrets.json');
    writeFileSync(file, JSON.stringify({ [NAME]: secret }), { mode: 0o600 });
    return await deploy(['--secrets-file', file]);
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
  const answer = await terminal.question(`${words} Make one now? [y/N] `);
  terminal.close();
  if (!/^y/i.test(answer.trim())) return undefined;
  const secret = randomBytes(32).toString('base64');
  console.log(`\n  ${secret}\n\nKeep it in your password manager: Cloudflare never shows it again.\n`);
  return secret;
}
