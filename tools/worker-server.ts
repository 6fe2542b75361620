/**
 * Runs the Worker with `wrangler dev` on a free port, with temporary storage. For the demo and the
 * benchmarks; end-to-end tests use built-worker.ts.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const ROOT = join(import.meta.dirname, '..');
export const WRANGLER = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');
const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;

export interface WorkerServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  url: string;
  /** Everything that the Worker and wrangler have printed so far. */
  output(): string;
  close(): Promise<void>;
}

export interface WorkerOptions {
  readonly vars?: Readonly<Record<string, string>>;
  /** The path of a Worker other than Precis. */
  readonly entry?: string;
}

/** Resolves when `/healthz` answers 200; rejects with the output if it never does. */
export async function startWorker(options: WorkerOptions = {}): Promise<WorkerServer> {
  const state = await mkdtemp(join(tmpdir(), 'precis-worker-'));
  const entry = options.entry ? [options.entry] : [];
  const vars = Object.entries(options.vars ?? {}).flatMap(([name, value]) => ['--var', `${name}:${value}`]);
  const child = spawn(
    process.execPath,
    [
      WRANGLER,
      'dev',
      ...entry,
      // Free ports: one chosen here could be taken by the time it is used.
      ...['--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0'],
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
        // `request.cf` is not used, so don't fetch it from the network.
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that wrangler's children (workerd, esbuild) end with it.
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
  // A parent that exits without close() must not leave the Worker running.
  const killGroup = () => signal(child, 'SIGKILL');
  process.once('exit', killGroup);

  const close = async () => {
    await stop(child);
    process.off('exit', killGroup);
    await rm(state, { recursive: true, force: true });
  };
  const url = await healthyUrl(child, () => printed);
  if (url === undefined) {
    await close();
    throw new Error(`The Worker did not start.\n${printed}`);
  }
  return { url, output: () => printed, close };
}

/** The Worker's URL once it answers; undefined if it never does. */
async function healthyUrl(child: ChildProcess, printed: () => string): Promise<string | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && isRunning(child)) {
    const url = /Ready on (http:\S+)/.exec(printed())?.[1];
    if (url && (await isHealthy(url))) return url;
    await sleep(100);
  }
  return undefined;
}

const isHealthy = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    if (!isRunning(child)) resolve();
    child.once('exit', () => resolve());
  });
  signal(child, 'SIGTERM');
  const timer = setTimeout(() => signal(child, 'SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
  // Kill anything in the group that outlived its leader.
  signal(child, 'SIGKILL');
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Signals the whole group. Does nothing if it is gone. */
function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch {}
}
