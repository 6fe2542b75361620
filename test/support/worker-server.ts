/**
 * The Worker as `wrangler dev` runs it, on a free port and with storage of its own that goes when it is closed. For the
 * end-to-end tests and the demo.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '../..');
const WRANGLER = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');
const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;

export interface WorkerServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  url: string;
  /** All that the Worker and wrangler have printed so far. */
  output(): string;
  close(): Promise<void>;
}

export interface WorkerOptions {
  readonly vars?: Readonly<Record<string, string>>;
  /** A Worker other than Precis, as a path. */
  readonly entry?: string;
}

/** Resolves when `/healthz` answers 200; rejects with what was printed if it never does. */
export async function startWorker(options: WorkerOptions = {}): Promise<WorkerServer> {
  const state = await mkdtemp(join(tmpdir(), 'precis-worker-'));
  const [port, inspectorPort] = await freePorts(2);
  const url = `http://127.0.0.1:${port}`;
  const vars = Object.entries(options.vars ?? {}).flatMap(([name, value]) => ['--var', `${name}:${value}`]);
  const child = spawn(
    process.execPath,
    [
      WRANGLER,
      'dev',
      ...(options.entry ? [options.entry] : []),
      ...['--ip', '127.0.0.1', '--port', `${port}`, '--inspector-port', `${inspectorPort}`],
      ...['--persist-to', state, '--show-interactive-dev-session=false'],
      ...vars,
    ],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        CI: '1',
        WRANGLER_SEND_METRICS: 'false',
        WRANGLER_LOG_PATH: join(state, 'logs'),
        // `request.cf` is not used: do not ask the network for one.
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own: wrangler's children (workerd, esbuild) end with it.
      detached: true,
    },
  );
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  // A parent that exits without close() must not leave the Worker behind.
  const killGroup = () => signal(child, 'SIGKILL');
  process.once('exit', killGroup);

  const close = async () => {
    await stop(child);
    process.off('exit', killGroup);
    await rm(state, { recursive: true, force: true });
  };
  if (!(await isHealthy(child, url))) {
    await close();
    throw new Error(`The Worker did not start.\n${printed}`);
  }
  return { url, output: () => printed, close };
}

async function isHealthy(child: ChildProcess, url: string): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && isRunning(child)) {
    const status = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return true;
    await sleep(100);
  }
  return false;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    if (!isRunning(child)) resolve();
    child.once('exit', () => resolve());
  });
  signal(child, 'SIGTERM');
  const timer = setTimeout(() => signal(child, 'SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
  // Whatever of the group outlived its leader.
  signal(child, 'SIGKILL');
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** To the whole group; nothing happens when it is gone already. */
function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {}
}

/** Held open together until all are known, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
