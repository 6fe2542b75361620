/** The measured proxies, each in its own process. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Runtime, startRuntime } from '../runtime.ts';
import { SUMMARIZER_PATH } from './upstream.ts';

export interface Subject {
  readonly name: 'bare' | 'precis' | 'portkey';
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process's id; undefined if the system does not list it. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

/** A Worker that only forwards. */
export async function startBare(upstream: string): Promise<Subject> {
  const runtime = await startRuntime('bare', { BARE_UPSTREAM: upstream }, 'bench/bare-worker.ts');
  return { ...runtime, name: 'bare', headers: {} };
}

export async function startPrecis(upstream: string): Promise<Subject & Runtime> {
  const runtime = await startRuntime('precis', {
    PRECIS_SECRET: 'the secret of the benchmarks',
    UPSTREAM_BASE_URL: `${upstream}/v1`,
    SUMMARIZER_BASE_URL: `${upstream}${SUMMARIZER_PATH}/v1`,
    SUMMARIZER_MODEL: 'a-model',
    SUMMARIZER_API_KEY: 'sk-the-key-of-the-summarizer',
    LOG_LEVEL: 'error',
  });
  return { ...runtime, name: 'precis', headers: {} };
}

const PORTKEY = '@portkey-ai/gateway';
const PORTKEY_VERSION = '1.15.2';
const PORTKEY_PORT = 8_787;
const START_LIMIT_MS = 30_000;

/** A gateway in Node that forwards. @param cache the folder to install it in, once */
export async function startPortkey(upstream: string, cache: string): Promise<Subject> {
  const install = ['install', '--prefix', cache, '--no-audit', '--no-fund', `${PORTKEY}@${PORTKEY_VERSION}`];
  await promisify(execFile)('npm', install);
  const server = join(cache, 'node_modules', PORTKEY, 'build/start-server.js');
  const child = spawn(process.execPath, [server, `--port=${PORTKEY_PORT}`, '--headless'], {
    stdio: 'ignore',
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const url = `http://127.0.0.1:${PORTKEY_PORT}`;
  await answering(url, child);
  return {
    name: 'portkey',
    url,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` },
    pid: child.pid,
    close: async () => void child.kill(),
  };
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let waited = 0; waited < START_LIMIT_MS && child.exitCode === null; waited += 100) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100);
  }
  throw new Error(`${PORTKEY} did not start`);
}
