/** Runs the bare Worker as `test/support/worker-server.ts` runs Precis: by `wrangler dev`, with the same settings. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const WRANGLER = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');
const START_TIMEOUT_MS = 90_000;

export interface BareWorker {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Resolves when wrangler says that the Worker is ready; rejects with what was printed if it never does.
 *
 * @param upstream where everything is forwarded to, without `/v1`
 */
export async function startBareWorker(upstream: string): Promise<BareWorker> {
  const state = await mkdtemp(join(tmpdir(), 'bare-worker-'));
  const child = spawn(
    process.execPath,
    [
      WRANGLER,
      'dev',
      join(import.meta.dirname, 'bare-worker.ts'),
      ...['--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0'],
      ...['--persist-to', state, '--show-interactive-dev-session=false'],
      ...['--var', `BARE_UPSTREAM:${upstream}`],
    ],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        CI: '1',
        WRANGLER_SEND_METRICS: 'false',
        WRANGLER_LOG_PATH: join(state, 'logs'),
        CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own: wrangler's children (workerd, esbuild) end with it.
      detached: true,
    },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const killGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group is gone already.
    }
  };
  process.once('exit', killGroup);
  const close = async () => {
    killGroup();
    await ended;
    process.off('exit', killGroup);
    await rm(state, { recursive: true, force: true, maxRetries: 3 });
  };

  let printed = '';
  const ready = new Promise<string | undefined>((resolve) => {
    const read = (text: string) => {
      printed += text;
      const url = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(printed)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    ended.then(() => resolve(undefined));
    setTimeout(() => resolve(undefined), START_TIMEOUT_MS).unref();
  });
  const url = await ready;
  if (url === undefined) {
    await close();
    throw new Error(`The bare Worker did not start.\n${printed}`);
  }
  return { url, close };
}
