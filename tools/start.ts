/**
 * `precis start`, and `npm start` in a clone: runs Precis on this machine, for its user or for
 * others, on workerd with R2 and Durable Objects in a folder.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { chmod, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Miniflare } from 'miniflare';
import { digestOfAddresses, isAlive, isOwnAddress, makeFolder } from '../bin/running.js';
import type { VariableName } from '../src/config.ts';
import { isLocalHost } from '../src/lib/request-url.ts';
import { nearest } from '../src/memory/strategy/hint.ts';
import { CRON, eachRun } from './schedule.ts';

const USAGE = `usage: precis start [--host <address>] [--port <number>] [--data <folder>]
                    [--var <NAME>:<value>] [--holders <folder>]

  --host  the address to listen on: 127.0.0.1, or HOST
  --port  the port: 8787, or PORT; 0 is any free one
  --data  the folder that stores everything: ./data, or DATA_DIR
  --var   a variable of docs/deploying.md; repeat it for more. The environment may have them, too.
  --holders  a folder of files named by process ids: ends when none of these processes is alive

In a clone: npm start -- [the same]. Requests that name no strategy get auto, unless
DEFAULT_MEMORY_STRATEGY says otherwise. Without PRECIS_SECRET a secret is made at the first start
and kept in the folder; if other machines can reach it, PRECIS_SECRET is required.`;

/** How often those who use it are counted. */
const HOLDERS_MS = 1_000;

type Variables = Partial<Record<VariableName, string>>;

await main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));

async function main(): Promise<void> {
  const { host, port, holders, ...given } = readArguments();
  const data = resolve(given.data);
  console.log(`Precis starts, with its data in ${data}.`);
  // It takes a part of a second to load, for which neither `--help` nor this line waits.
  const { VARIABLES } = await import('../src/config.ts');
  const own = variablesIn(given.var, VARIABLES);
  for (const name of ['UPSTREAM_BASE_URL', 'ANTHROPIC_BASE_URL'] as const)
    if (isOwnAddress(own[name], port))
      fail(`${name} is the address of this Precis itself: name the API that it forwards to.`);
  await checkAddress(host, Number(port));
  const storage = await keepFromOthers(data);
  const checkAlone = await keepAlone(join(data, 'lock'));
  const vars = {
    DEFAULT_MEMORY_STRATEGY: 'auto',
    ...own,
    PRECIS_SECRET: await secretOf(storage, host, own),
  };
  // They take a second to load, for which no refusal waits.
  const [{ startRuntime }, { ownWorker }, { modulesOf }] = await Promise.all([
    import('./local-runtime.ts'),
    import('./own-worker.ts'),
    import('./worker-modules.ts'),
  ]);
  checkAlone();
  const built = await ownWorker(join(data, 'worker'));
  const miniflare = startRuntime({
    built,
    modules: await modulesOf(built),
    vars,
    storage,
    print: (line) => console.log(line),
    // Miniflare's own address has routes for development; one of them reads the bucket.
    moreOfWorker: { unsafeDirectSockets: [{ host, port: Number(port) }] },
  });
  const url = await miniflare.unsafeGetDirectURL();
  const health = await miniflare.dispatchFetch(`${url.origin}/healthz`);
  if (!health.ok) {
    console.error(await health.text());
    await miniflare.dispose();
    fail('Precis did not start, see above.');
  }
  // Serves until the process is ended; Miniflare ends workerd then.
  eachRun((at) => collect(miniflare, at));
  if (holders !== undefined) {
    await noteServer(holders, vars);
    endWithout(holders, miniflare);
  }
  console.log(greeting(`http://${nameOf(host)}:${url.port}`, vars.DEFAULT_MEMORY_STRATEGY));
}

/** Nothing is made for an address that can't be used, and no message of the runtime is about it. */
async function checkAddress(host: string, port: number): Promise<void> {
  const server = createServer();
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
  if (code === 'EADDRINUSE')
    fail(`Port ${port} of ${host} is in use. End what listens there, or name another port by --port.`);
  if (code) fail(`--host ${host} (or HOST) and --port ${port} can't be listened on: ${code}.`);
}

/**
 * Two processes must not write to the same databases. A socket, since it ends with its process.
 *
 * @returns what ends this process if another, started in the same moment, has replaced its socket
 */
async function keepAlone(socket: string): Promise<() => void> {
  const used = 'Another Precis uses this folder. End it, or name another folder by --data.';
  const inode = () => statSync(socket, { throwIfNoEntry: false })?.ino;
  const isUsed = await new Promise((resolve) => {
    const other = connect(socket, () => resolve(other.destroy())).once('error', () => resolve(undefined));
  });
  if (isUsed) fail(used);
  rmSync(socket, { force: true });
  // Where the path is too long for a socket, nothing is checked.
  const server = createServer((other) => other.destroy()).once('error', () => undefined);
  server.listen(socket).unref();
  const own = inode();
  process.once('exit', () => inode() === own && rmSync(socket, { force: true }));
  return () => {
    if (inode() !== own) fail(used);
  };
}

/** An address as URLs have it. */
function nameOf(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** The address, what happens without a strategy, and the lines for clients. */
function greeting(url: string, strategy: string): string {
  const late =
    strategy === 'auto'
      ? `\nWithout a token_budget it rarely edits below 100,000 tokens; ${url}/agents/coding has one of 64,000.`
      : '';
  return `Precis listens on ${url}/v1.
Requests that name no strategy get ${strategy}; the variable DEFAULT_MEMORY_STRATEGY changes that.${late}

  export OPENAI_BASE_URL=${url}/v1       # clients of OpenAI's API
  export ANTHROPIC_BASE_URL=${url}       # clients of Anthropic's API, Claude Code
  ${url}/inspect                         # what the model saw`;
}

/**
 * What is stored, part of it as text, is for no other user of the machine: not for those who could
 * read new files, nor for those who could read what an earlier version has written.
 *
 * @returns the folder of the storage
 */
async function keepFromOthers(data: string): Promise<string> {
  process.umask(0o077);
  const storage = join(data, 'storage');
  try {
    makeFolder(storage);
    await chmod(storage, 0o700);
  } catch (error) {
    fail(`--data ${data} (or DATA_DIR) can't be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
  return storage;
}

/**
 * The secret of what the folder stores: the caller's, or the one that was made for it. Another one
 * would leave everything there unreadable, so no start takes one by mistake.
 */
async function secretOf(storage: string, host: string, vars: Variables): Promise<string> {
  const file = join(storage, 'secret');
  const names = await readdir(storage);
  // A start on a full disk leaves it empty.
  const made = names.includes('secret') ? (await readFile(file, 'utf8')).trim() || undefined : undefined;
  const { PRECIS_SECRET: given, PRECIS_SECRET_PREVIOUS: previous } = vars;
  if (given !== undefined) {
    if (made === undefined || [given, previous].includes(made)) return given;
    return fail(`What is stored belongs to the secret in ${file}, and PRECIS_SECRET is a different one.
Set PRECIS_SECRET_PREVIOUS to the one in the file, or use another folder.`);
  }
  if (made !== undefined && isLocalHost(nameOf(host))) return made;
  const isNew = names.every((name) => name === '.gitignore' || name === 'secret');
  if (!isNew || !isLocalHost(nameOf(host)))
    return fail(`PRECIS_SECRET is not set. Make one, and keep it: everything stored depends on it.\n
  export PRECIS_SECRET="$(openssl rand -base64 32)"`);
  const secret = randomBytes(32).toString('base64');
  // The folder may be in a repository.
  await writeFile(join(storage, '.gitignore'), '*\n');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  console.log(`Made a secret for what is stored, in ${file}: keep it with the data.`);
  return secret;
}

/** Ends the process after `--help`, and for an argument that it does not know. */
function readArguments() {
  const values = parsed();
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const { HOST, PORT, DATA_DIR } = process.env;
  // An empty one is not set: an empty host would be all addresses of the machine.
  const host = values.host || HOST || '127.0.0.1';
  const port = values.port || PORT || '8787';
  const data = values.data || DATA_DIR || 'data';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    fail(`--port, or PORT, takes 0 to 65,535, not ${port}.\n\n${USAGE}`);
  return { ...values, host, port, data };
}

function parsed() {
  try {
    return parseArgs({
      options: {
        host: { type: 'string' },
        port: { type: 'string' },
        data: { type: 'string' },
        var: { type: 'string', multiple: true, default: [] },
        holders: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

/** The variables of the Worker that have a value: arguments come before the environment. */
function variablesIn(texts: readonly string[], names: readonly VariableName[]): Variables {
  const named = texts.map((text): [VariableName, string] => {
    // What follows the name may be a secret.
    const [word = ''] = /^\w*/.exec(text) ?? [];
    const name = nearest(word, names);
    if (name === word && text[word.length] === ':') return [name, text.slice(word.length + 1)];
    if (name === undefined && text[word.length] === ':')
      return fail(`There is no variable ${word}: docs/deploying.md lists all.`);
    return fail(`--var takes ${name ?? '<NAME>'}:<value>, not ${text.slice(0, word.length + 1)}…`);
  });
  const given = Object.fromEntries(named.filter(([, value]) => value !== ''));
  const values: Readonly<Record<string, string | undefined>> = { ...process.env, ...given };
  return Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
}

/**
 * Says in a folder, for `precis run`, which process listens and where it forwards. Not the
 * addresses themselves, which may hold keys.
 */
async function noteServer(folder: string, vars: Variables): Promise<void> {
  const upstreams = digestOfAddresses(vars.UPSTREAM_BASE_URL, vars.ANTHROPIC_BASE_URL);
  const file = join(folder, 'server');
  await writeFile(`${file}.new`, JSON.stringify({ pid: process.pid, upstreams }), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Ends when no process lives that is noted in a folder, as `precis run` notes each of its own. */
function endWithout(folder: string, miniflare: Miniflare): void {
  setInterval(async () => {
    const ids = (await readdir(folder).catch(() => [])).filter((name) => /^\d+$/.test(name));
    if (ids.some((id) => isAlive(Number(id)))) return;
    await miniflare.dispose();
    process.exit(0);
  }, HOLDERS_MS);
}

/** Runs the scheduled handler, which deletes what is no longer used (`RETENTION_DAYS`). */
async function collect(miniflare: Miniflare, scheduledTime: Date): Promise<void> {
  try {
    const worker = await miniflare.getWorker();
    await worker.scheduled({ cron: CRON, scheduledTime });
  } catch (error) {
    console.error(`The scheduled handler failed: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
