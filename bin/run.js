/**
 * `precis run -- <command>`: runs a client through Precis. Only this process has the base URL: no
 * file of the client changes. A Precis that runs on this machine is used; else one is started, and
 * ends with the last command that uses it.
 */
import { spawn } from 'node:child_process';
import { openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { digestOfAddresses, isAlive, isOwnAddress, makeFolder } from './running.js';
import { addressOf, fail, NO_WINDOWS, takesKeys } from './said.js';

const USAGE = `usage: precis run [--url <deployment>] [--agent <name>] [--port <number>] [--data <folder>]
                  -- <command> [<argument>]…

  --url    a deployment, or PRECIS_URL: instead of a Precis on this machine
  --agent  the agent whose strategy applies to requests that name none: coding
  --port   the port of the Precis on this machine, which is started if none runs there: 8787
  --data   the folder that stores everything: .precis in the home folder

claude, codex and opencode are set up; all other commands get OPENAI_BASE_URL and
ANTHROPIC_BASE_URL, which the SDKs read.`;

/** How long a Precis may take to start. */
const START_MS = 60_000;
const POLL_MS = 100;
/** One that is started for commands says so within this time after it listens. */
const SETTLED_MS = 1_000;
/** How the files are named that note, by process id, which ones were started. */
const STARTED = 'started-';

/**
 * @param argv the arguments after `run`
 * @returns the exit status of the command, or 128 and the number of the signal that ended it
 */
export async function run(argv) {
  const { values, command } = read(argv);
  if (values.help) return console.log(USAGE);
  if (process.platform === 'win32') return fail(NO_WINDOWS);
  const [name, ...args] = command;
  if (name === undefined) return fail(USAGE);
  const precis = values.url === undefined ? await ownPrecis(values) : deployment(values.url);
  const client = basename(name).replace(/\.(?:exe|cmd)$/, '');
  // A base URL of an agent names it, too.
  const [, address = precis.address, agent = 'coding'] = /^(.*)\/agents\/([^/]+)$/.exec(precis.address) ?? [];
  const { vars, before = [] } = settingsOf(client, `${address}/agents/${values.agent ?? agent}`);
  console.error(`precis: ${name} through ${address}; ${address}/inspect shows what its model sees.`);
  try {
    return await ended(name, [...before, ...args], { ...process.env, ...vars });
  } finally {
    precis.release();
  }
}

/** The options before `--`, and the command after it. */
function read(argv) {
  const at = argv.indexOf('--');
  try {
    const { values } = parseArgs({
      args: at < 0 ? argv : argv.slice(0, at),
      options: {
        url: { type: 'string', default: process.env.PRECIS_URL },
        agent: { type: 'string' },
        port: { type: 'string', default: '8787' },
        data: { type: 'string', default: join(homedir(), '.precis') },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (!/^[1-9]\d{0,4}$/.test(values.port))
      fail(`--port takes 1 to 65,535, not ${values.port}.\n\n${USAGE}`);
    return { values, command: at < 0 ? [] : argv.slice(at + 1) };
  } catch (error) {
    const isBare = error.code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL';
    return fail(`${isBare ? 'The command and its arguments come after --.' : error.message}\n\n${USAGE}`);
  }
}

/**
 * How a client is led to a base URL: variables, and arguments before its own.
 *
 * @param base the address of an agent, without `/v1`
 */
function settingsOf(client, base) {
  const openai = `${base}/v1`;
  switch (client) {
    case 'claude':
      // With the second it says which of its requests are a compaction.
      return { vars: { ANTHROPIC_BASE_URL: base, CLAUDE_CODE_GATEWAY_HINT_HEADERS: '1' } };
    case 'codex':
      return { vars: {}, before: codexArguments(openai) };
    case 'opencode': {
      if (process.env.OPENCODE_CONFIG_CONTENT)
        fail('OPENCODE_CONFIG_CONTENT is already set: add the base URL of Precis to it.');
      const options = { baseURL: openai };
      const config = { provider: { openai: { options }, anthropic: { options } } };
      return { vars: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config) } };
    }
    default:
      return { vars: { OPENAI_BASE_URL: openai, OPENAI_API_BASE: openai, ANTHROPIC_BASE_URL: base } };
  }
}

/** Codex reads no variable: a provider for this command, instead of the configured one. */
function codexArguments(url) {
  const provider = { name: 'Precis', base_url: url, env_key: 'OPENAI_API_KEY', wire_api: 'responses' };
  const values = Object.entries(provider).map(([key, value]) => [`model_providers.precis.${key}`, value]);
  return [['model_provider', 'precis'], ...values].flatMap(([key, value]) => [
    '-c',
    `${key}=${JSON.stringify(value)}`,
  ]);
}

function deployment(url) {
  return { address: addressOf(url), release: () => {} };
}

/** The Precis of this machine: one that runs, or one that is started. */
async function ownPrecis({ port, data }) {
  const address = `http://127.0.0.1:${port}`;
  const folder = join(data, 'holders', port);
  const held = join(folder, String(process.pid));
  try {
    makeFolder(folder);
    // Noted before one is looked for: one that was started for other commands does not end now.
    writeFileSync(held, '');
  } catch ({ code }) {
    fail(`--data ${data} can't be written: ${code}.`);
  }
  const own = { address, release: () => rmSync(held, { force: true }) };
  process.once('exit', own.release);
  const upstreams = ownUpstreams(port);
  const log = join(data, 'precis.log');
  let started;
  for (const until = Date.now() + START_MS; Date.now() < until; await wait(POLL_MS)) {
    if (await isPrecis(address)) {
      if (!serverIn(folder) && isStarting(folder)) await wait(SETTLED_MS);
      const server = serverIn(folder);
      // It listens, and is about to say so.
      if (!server && started?.exitCode === null) continue;
      checkUpstreams(address, server?.upstreams, upstreams);
      return own;
    }
    // It may have ended because another command's is starting.
    if (started && started.exitCode !== null && !isStarting(folder)) break;
    if (!started) console.error(`precis: starts Precis on ${address}, with its data in ${data}.`);
    started ??= startPrecis({ port, data, folder, log, upstreams });
  }
  return fail(`Precis did not start on ${address}: ${log} says why.`);
}

/**
 * Where the client would have sent its requests, as the variables of the Worker. The address of
 * this Precis is no other server: its user has exported it, as `precis start` says.
 */
function ownUpstreams(port) {
  const { OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL, UPSTREAM_BASE_URL } = process.env;
  const other = (...urls) => urls.find((url) => url && !isOwnAddress(url, port));
  const openai = other(OPENAI_BASE_URL, OPENAI_API_BASE, UPSTREAM_BASE_URL);
  const anthropic = other(ANTHROPIC_BASE_URL);
  return {
    ...(openai && { UPSTREAM_BASE_URL: openai }),
    ...(anthropic && { ANTHROPIC_BASE_URL: anthropic.replace(/\/*(?:\/v1\/*)?$/, '/v1') }),
  };
}

/** What a Precis that was started for commands has noted when it listened; undefined if none has. */
function serverIn(folder) {
  try {
    const server = JSON.parse(readFileSync(join(folder, 'server'), 'utf8'));
    return isAlive(server.pid) ? server : undefined;
  } catch {
    return undefined;
  }
}

/** Whether one that was started for commands may not have noted yet that it listens. */
function isStarting(folder) {
  const started = readdirSync(folder).filter((name) => name.startsWith(STARTED));
  const ended = started.filter((name) => !isAlive(Number(name.slice(STARTED.length))));
  for (const name of ended) rmSync(join(folder, name), { force: true });
  return ended.length < started.length;
}

/**
 * A key that is meant for another server must not reach the upstream of a Precis that runs. One
 * that its user has started forwards where its user wants, unless the command names a server.
 */
function checkUpstreams(address, noted, own) {
  const { UPSTREAM_BASE_URL: openai, ANTHROPIC_BASE_URL: anthropic } = own;
  if (noted === undefined ? !openai && !anthropic : noted === digestOfAddresses(openai, anthropic)) return;
  fail(`The Precis on ${address} may forward to another server than this command's (OPENAI_BASE_URL,
OPENAI_API_BASE, ANTHROPIC_BASE_URL, UPSTREAM_BASE_URL). Use another --port and --data.`);
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function startPrecis({ port, data, folder, log, upstreams }) {
  const output = openSync(log, 'a', 0o600);
  const program = fileURLToPath(new URL('precis.js', import.meta.url));
  const args = ['start', '--host', '127.0.0.1', '--port', port, '--data', data, '--holders', folder];
  const others = { ...process.env };
  for (const name of ['UPSTREAM_BASE_URL', 'ANTHROPIC_BASE_URL']) delete others[name];
  const started = spawn(process.execPath, [program, ...args], {
    env: { ...others, ...upstreams },
    // A group of its own: Ctrl+C is for the client.
    detached: true,
    stdio: ['ignore', output, output],
  });
  started.once('error', ({ code }) => fail(`Precis can't be started: ${code}`));
  if (started.pid !== undefined) writeFileSync(join(folder, STARTED + started.pid), '');
  started.unref();
  return started;
}

/** Whether a Precis answers, which asks for a key or needs none. */
async function isPrecis(address) {
  let answer;
  try {
    const signal = AbortSignal.timeout(5_000);
    answer = await fetch(`${address}/v1/deployment`, { redirect: 'manual', signal });
  } catch {
    // Nobody listens there.
    return false;
  }
  if (takesKeys(answer.status, await answer.json().catch(() => undefined))) return true;
  return fail(`${address} is another program, or a Precis that is misconfigured: --port names another port.`);
}

/** Runs a command to its end, with this terminal. */
function ended(name, args, env) {
  return new Promise((resolve) => {
    const child = spawn(name, args, { env, stdio: 'inherit' });
    // A terminal sends these to the client, too, which decides what they mean.
    for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => {});
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.once('error', ({ code }) => {
      console.error(code === 'ENOENT' ? `${name} is not installed, or not in PATH.` : `${name}: ${code}`);
      resolve(127);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}
