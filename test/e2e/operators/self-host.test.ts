/**
 * The package that npm would publish, installed in an empty folder and run by the machine's own
 * Node; and the image, which is that package: its files, build, command and health check, without
 * Docker.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startUpstream, type Upstream } from '../../../tools/upstream/upstream.ts';
import { ROOT } from '../../../tools/worker-server.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';

const SECRET = 'the-secret-of-a-machine-of-ones-own';
const KEY = 'sk-a-caller-of-a-machine-of-ones-own';
const run = promisify(execFile);

/** Without the programs of the repository, and so with the Node that a user has. */
const path = process.env.PATH?.split(delimiter).filter((folder) => !folder.startsWith(ROOT)) ?? [];
// The second is of this machine: what the processes have compiled.
const { NODE_COMPILE_CACHE } = process.env;
const env = { PATH: path.join(delimiter), NODE_COMPILE_CACHE, HOST: '127.0.0.1', PORT: '0' };

/** The image's context, its folder, and the one that a volume would be. */
let source: string;
let app: string;
let data: string;
let dockerfile: string;
let upstream: Upstream;

/** The arguments of an instruction in the form of an array. */
function instruction(name: string): string[] {
  const found = new RegExp(`^${name}[\\s\\S]*?(\\["node".*\\])$`, 'm').exec(dockerfile)?.[1];
  return JSON.parse(found ?? '[]') as string[];
}

beforeAll(async () => {
  source = await mkdtemp(join(tmpdir(), 'precis-source-'));
  app = await mkdtemp(join(tmpdir(), 'precis-app-'));
  data = await mkdtemp(join(tmpdir(), 'precis-volume-'));
  dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const lines = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).trim().split('\n');
  expect(lines[0]).toBe('*');
  for (const line of lines.slice(1))
    await cp(join(ROOT, line.slice(1)), join(source, line.slice(1)), { recursive: true });
  // As `npm ci` makes them.
  await cp(join(ROOT, 'generated'), join(source, 'generated'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'));
  await run('sh', ['-c', /^RUN npm ci && (.*)$/m.exec(dockerfile)?.[1] ?? 'false'], { cwd: source });
  await install();
  upstream = await startUpstream({});
});

/** As the image does, without a network: what the package depends on is installed here. */
async function install(): Promise<void> {
  const [packed = ''] = (await readdir(join(source, 'dist'))).filter((name) => name.endsWith('.tgz'));
  const { dependencies, optionalDependencies } = JSON.parse(
    await readFile(join(source, 'dist/package/package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  const here = Object.keys({ ...dependencies, ...optionalDependencies })
    .map((name) => [name, join(ROOT, 'node_modules', name)] as const)
    .filter(([, folder]) => existsSync(folder));
  const overrides = Object.fromEntries(here.map(([name, folder]) => [name, `file:${folder}`]));
  await writeFile(join(app, 'package.json'), JSON.stringify({ overrides }));
  const args = ['install', '--offline', '--cache', join(source, 'cache'), join(source, 'dist', packed)];
  const { stderr } = await run('npm', args, { cwd: app, env });
  expect(stderr).toBe('');
}

afterAll(async () => {
  await upstream.close();
  for (const folder of [source, app]) await rm(folder, { recursive: true, force: true });
  await rm(data, { recursive: true, force: true });
});

/** One that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Started {
  readonly url: string;
  output(): string;
  /** Ends it, by default as Docker does. */
  end(signal?: NodeJS.Signals): Promise<unknown>;
}

function spawnIt(vars: Record<string, string>, args = instruction('CMD').slice(1)) {
  const child = spawn('node', args, {
    cwd: app,
    env: { ...env, DATA_DIR: data, ...vars },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  return { child, ended, output: () => printed };
}

async function start(vars: Record<string, string> = {}): Promise<Started> {
  const { child, ended, output } = spawnIt({
    PRECIS_SECRET: SECRET,
    UPSTREAM_BASE_URL: upstream.url,
    ...vars,
  });
  const end = (signal: NodeJS.Signals = 'SIGTERM'): Promise<unknown> => {
    child.kill(signal);
    return ended;
  };
  await until('it listens', () => output().includes('Precis listens on'), 60_000);
  const url = /http:\/\/\S+?(?=\/v1)/.exec(output())?.[0] ?? '';
  return { url, output, end };
}

interface Compacted {
  readonly view: string;
  readonly ref: string;
}

const OUTPUT = linesAbout('a volume');

/** Sends a conversation. @returns the view that was sent, and the ref in it */
async function compacted(url: string): Promise<Compacted> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
  const body = {
    model: 'gpt-4.1',
    messages: conversationOf([OUTPUT]),
    memory_strategy: COMPACT_OLD_TURNS,
    memory_report: true,
  };
  const { memory } = (await client.chat.completions.create(
    body as ChatCompletionCreateParamsNonStreaming,
  )) as unknown as WithMemory;
  const view = upstream.requests.at(-1)?.rawBody.toString() ?? '';
  return { view, ref: memory?.refs[0]?.ref ?? '' };
}

const contentOf = async (url: string, ref: string): Promise<string> =>
  (await fetch(`${url}/v1/refs/${ref}`, { headers: { authorization: `Bearer ${KEY}` } })).text();

describe('a machine of one’s own', () => {
  let before: Compacted;
  let first: Started;
  /** After a restart. */
  let second: Started | undefined;

  beforeAll(async () => {
    first = await start();
    before = await compacted(first.url);
    expect(before.view).toContain(before.ref);
    expect(await contentOf(first.url, before.ref)).toContain(OUTPUT);
    await first.end();
    // As an earlier version has left it.
    await chmod(join(data, 'storage'), 0o755);
    second = await start();
  });
  afterAll(() => second?.end());

  it('keeps in its volume what it has stored, and makes the same views of it after a restart', async () => {
    const { url } = second as Started;
    expect(await contentOf(url, before.ref)).toContain(OUTPUT);
    expect(await compacted(url)).toEqual(before);
    for (const { output } of [first, second as Started]) {
      expect(output()).not.toContain(SECRET);
      expect(output()).not.toContain(KEY);
    }
  });

  it('B11: lets no other user of the machine read what it has stored, by whichever version', async () => {
    const others = 0o077;
    expect((await stat(join(data, 'storage'))).mode & others).toBe(0);
    const made = (await readdir(data, { recursive: true })).map((name) => join(data, name));
    const files = await Promise.all(made.map(async (path) => ({ path, mode: (await stat(path)).mode })));
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter(({ mode }) => (mode & others) !== 0)).toEqual([]);
  });

  it('is healthy by the image’s check while it answers, and has no routes but the Worker’s', async () => {
    const { url, end } = second as Started;
    const [, ...check] = instruction('HEALTHCHECK');
    const healthy = () => run('node', check, { env: { ...env, PORT: new URL(url).port } });
    await expect(healthy()).resolves.toBeDefined();
    for (const path of [
      'local/r2/public/precis-refs/x',
      'local/platform-proxy',
      'local/explorer',
      'local/scheduled',
    ]) {
      const response = await fetch(`${url}/cdn-cgi/${path}`);
      expect([response.status, await response.json()]).toMatchObject([
        404,
        { error: { code: 'not_forwarded' } },
      ]);
    }
    await end();
    await expect(healthy()).rejects.toMatchObject({ code: 1 });
  });

  it('leaves nobody that listens, or writes to its volume, when it is killed', async () => {
    const { url, end } = await start({ DATA_DIR: join(data, 'killed') });
    await end('SIGKILL');
    await expect.poll(() => fetch(url).catch(() => 'ended'), { timeout: 20_000 }).toBe('ended');
  });

  it.each<[string, Record<string, string>, string]>([
    ['it is for others, without a secret', { HOST: '0.0.0.0', PRECIS_SECRET: '' }, 'openssl rand'],
    ['what is stored has a secret that is missing', { PRECIS_SECRET: '' }, 'openssl rand -base64 32'],
    ['a variable can’t be read', { RETENTION_DAYS: 'a-value-nobody-sees' }, 'RETENTION_DAYS'],
    ['the folder can’t be made', { DATA_DIR: '/proc/precis' }, "/proc/precis (or DATA_DIR) can't be written"],
    ['the port is none', { PORT: 'eighty' }, 'takes 0 to 65,535, not eighty'],
  ])('ends at once and says why where %s', async (_, vars, words) => {
    const { ended, output } = spawnIt({ PRECIS_SECRET: SECRET, UPSTREAM_BASE_URL: upstream.url, ...vars });
    expect(await ended).toBe(1);
    expect(output()).toContain(words);
    expect(output()).not.toContain('a-value-nobody-sees');
  });
});

describe('the package in an empty folder', () => {
  const precis = (...args: string[]) =>
    run('node', [join('node_modules', '.bin', 'precis'), ...args], { cwd: app, env });

  it('starts with a secret of its own, for `auto`, and says how to change that and what a client needs', async () => {
    const home = join(data, 'home');
    // As a first start on a full disk leaves it.
    await mkdir(join(home, 'storage'), { recursive: true });
    for (const name of ['.gitignore', 'secret']) await writeFile(join(home, 'storage', name), '');
    const first = await start({ PRECIS_SECRET: '', DATA_DIR: home });
    for (const line of [
      `export OPENAI_BASE_URL=${first.url}/v1 `,
      `export ANTHROPIC_BASE_URL=${first.url} `,
      `below 100,000 tokens; ${first.url}/agents/coding has one of 64,000.`,
      'Requests that name no strategy get auto; the variable DEFAULT_MEMORY_STRATEGY changes that.',
    ])
      expect(first.output()).toContain(line);
    const answer = await fetch(`${first.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'gpt-4.1', messages: conversationOf([OUTPUT]) }),
    });
    expect(answer.headers.get('x-memory-mode')).toBe('auto');
    const { ref } = await compacted(first.url);
    await first.end();

    const second = await start({ PRECIS_SECRET: '', DATA_DIR: home, DEFAULT_MEMORY_STRATEGY: 'none' });
    expect(second.output()).toContain('get none;');
    expect(second.output()).not.toContain('token_budget');
    expect(await contentOf(second.url, ref)).toContain(OUTPUT);
    const { stdout } = await precis('doctor', '--url', second.url);
    expect(stdout).toContain('✓ configuration');
    await second.end();

    const other = spawnIt({ PRECIS_SECRET: SECRET, DATA_DIR: home });
    expect(await other.ended).toBe(1);
    expect(other.output()).toContain('PRECIS_SECRET is a different one');
  });

  it('runs a client through a Precis that it starts, which ends with the client', async () => {
    const [home, port] = [join(data, 'run'), String(await freePort())];
    const client = `fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST',
      headers: { authorization: 'Bearer ${KEY}' }, body: process.argv[1] }).then((answer) =>
      console.log(process.env.OPENAI_BASE_URL, answer.headers.get('x-memory-source')))`;
    const body = JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello' }] });
    const args = ['run', '--port', port, '--data', home, '--', 'node', '-e', client, body];
    const { stdout, stderr } = await run('node', [join('node_modules', '.bin', 'precis'), ...args], {
      cwd: app,
      env: { ...env, OPENAI_BASE_URL: upstream.url },
    });

    const url = `http://127.0.0.1:${port}`;
    expect(stdout).toBe(`${url}/agents/coding/v1 agent\n`);
    expect(stderr).toMatch(/^precis: starts Precis on /);
    expect(stderr).toContain(`${url}/inspect`);
    await expect.poll(() => fetch(url).catch(() => 'ended'), { timeout: 20_000 }).toBe('ended');
  });

  it('plans what a log holds, and answers in a sentence', async () => {
    const file = join(data, 'log.jsonl');
    const messages = conversationOf([
      linesAbout('a log', 3_000),
      ...Array.from({ length: 20 }, () => OUTPUT),
    ]);
    const body = { model: 'gpt-4.1', messages };
    await writeFile(
      file,
      [messages.slice(0, 2), messages].map((some) => JSON.stringify({ ...body, messages: some })).join('\n'),
    );
    const { stdout, stderr } = await precis('replay', file);

    expect(stdout).toMatch(
      /^Of \$\d\.\d+ for \d+ requests in 1 conversation, auto with a budget of 32,000 tokens would have saved/,
    );
    expect(stderr).toBe('');
  });

  it('plays the demo, without a warning', async () => {
    const { stdout, stderr } = await precis('demo');
    expect(stdout).toMatch(/^Paid \$0\.\d{4}; without Precis it would have been \$0\.\d{4}: \d+ % less\.$/m);
    expect(stderr).toBe('');
  });
});
