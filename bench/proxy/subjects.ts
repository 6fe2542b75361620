/** The measured proxies, each in its own process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BridgedApi } from '../../src/protocol/bridges/bridge.ts';
import { install } from '../install.ts';
import { type Runtime, startRuntime } from '../runtime.ts';
import type { Mode } from './loads.ts';
import { DELTAS_HEADER, SUMMARIZER_PATH } from './upstream.ts';

export interface Subject {
  readonly name: 'bare' | 'floor' | 'precis' | 'bridged' | 'portkey';
  /** The API that it sends chat requests over. */
  readonly api?: BridgedApi;
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process's id; undefined if the system does not list it. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

/** A Worker that only forwards. */
export const startBare = (upstream: string): Promise<Subject> => startForwarding('bare', upstream);

/** A Worker that does only what no proxy with a memory can do without. */
export const startFloor = (upstream: string): Promise<Subject> => startForwarding('floor', upstream);

async function startForwarding(name: 'bare' | 'floor', upstream: string): Promise<Subject> {
  const entry = `bench/workers/${name}.ts`;
  const runtime = await startRuntime(name, { BARE_UPSTREAM: upstream }, { entry });
  return { ...runtime, name, headers: {} };
}

interface PrecisOptions {
  /** The variable `EVENTS`; `on` by default. */
  readonly events?: string;
  /** Keeps the names of functions, for a profile. */
  readonly hasNames?: boolean;
  /** See `startRuntime`. */
  readonly objectsApart?: boolean;
  /** Sends chat requests over this API. */
  readonly api?: BridgedApi | undefined;
}

export async function startPrecis(
  upstream: string,
  { events = 'on', api, ...options }: PrecisOptions = {},
): Promise<Subject & Runtime> {
  const vars = {
    PRECIS_SECRET: 'the secret of the benchmarks',
    UPSTREAM_BASE_URL: `${upstream}/v1`,
    ANTHROPIC_BASE_URL: `${upstream}/v1`,
    SUMMARIZER_BASE_URL: `${upstream}${SUMMARIZER_PATH}/v1`,
    SUMMARIZER_MODEL: 'a-model',
    SUMMARIZER_API_KEY: 'sk-the-key-of-the-summarizer',
    LOG_LEVEL: 'error',
    EVENTS: events,
  };
  const runtime = await startRuntime('precis', vars, options);
  return { ...runtime, ...(api ? { name: 'bridged', api } : { name: 'precis' }), headers: {} };
}

/** Those that are compared in a mode: only `none` is what all of them do. */
export function comparedIn(mode: Mode, subjects: readonly Subject[]): Subject[] {
  return subjects.filter(({ name }) => mode === 'none' || !['floor', 'portkey'].includes(name));
}

const PORTKEY = '@portkey-ai/gateway';
const PORTKEY_VERSION = '1.15.2';

/**
 * The package to install. With the newest version of its server, which its range allows, the
 * gateway answers streams with an error (https://github.com/Portkey-AI/gateway/issues/1389).
 */
const PORTKEY_PACKAGE = {
  dependencies: { [PORTKEY]: PORTKEY_VERSION },
  overrides: { '@hono/node-server': '1.13.7' },
};

const START_LIMIT_MS = 30_000;

/**
 * A gateway in Node that forwards.
 *
 * @param cache the folder to install it in, once
 * @throws Error if it can't be installed, or does not start
 */
export async function startPortkey(upstream: string, cache: string): Promise<Subject> {
  const folder = join(cache, `portkey-${PORTKEY_VERSION}`);
  const server = join(folder, 'node_modules', PORTKEY, 'build/start-server.js');
  if (!existsSync(server)) await install(folder, PORTKEY_PACKAGE);
  const port = await freePort();
  const child = spawn(process.execPath, [server, `--port=${port}`, '--headless'], {
    stdio: 'ignore',
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const url = `http://127.0.0.1:${port}`;
  await answering(url, child);
  return {
    name: 'portkey',
    url,
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstream}/v1`,
      'x-portkey-forward-headers': DELTAS_HEADER,
    },
    pid: child.pid,
    close: async () => void child.kill(),
  };
}

/** A port that nothing listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let waited = 0; waited < START_LIMIT_MS && child.exitCode === null; waited += 100) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100);
  }
  child.kill();
  throw new Error(`${PORTKEY} did not start`);
}
