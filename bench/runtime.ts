/**
 * Starts Workers in their own runtime, reached by a socket straight into it, and reads their memory
 * and CPU time.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { ownWorker } from '../tools/own-worker.ts';
import { type BuildOptions, buildWorker } from '../tools/worker-build.ts';
import { modulesOf } from '../tools/worker-modules.ts';
import { rssOf } from './process.ts';
import type { Profile } from './profile.ts';

/**
 * How long the inspector may take to answer, in milliseconds: garbage collection stops the isolate.
 */
const INSPECTOR_LIMIT_MS = 30_000;
const INSPECTOR_NEXT_MS = 200;

/** In bytes. */
export interface Memory {
  /** Of the whole runtime: isolates, connection buffers, and the simulated storage. */
  readonly rss: number;
  /** Of the Worker's isolate with its buffers, after a garbage collection. */
  readonly heap: number;
}

export interface Runtime {
  /** A socket straight into the Worker, without `/v1`. */
  readonly url: string;
  /** The process's id; undefined if the system does not list it. */
  readonly pid: number | undefined;
  memory(): Promise<Memory>;
  /**
   * Samples the Worker's isolate while it works.
   *
   * @param intervalUs between two samples, in microseconds. At 1,000 the sampling itself takes a
   *   few percent, and at 100 as much as the Worker.
   */
  profile(intervalUs: number, work: () => Promise<unknown>): Promise<Profile>;
  /** Lines logged as errors. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

interface RuntimeOptions extends BuildOptions {
  /** Whether the Durable Objects have an isolate of their own, which no profile samples. */
  readonly objectsApart?: boolean;
}

export async function startRuntime(
  name: string,
  vars: Readonly<Record<string, string>>,
  { objectsApart = false, ...build }: RuntimeOptions = {},
): Promise<Runtime> {
  const home = await mkdtemp(join(tmpdir(), 'precis-bench-'));
  const into = join(home, 'built');
  const isOwn = build.entry === undefined && build.hasNames !== true;
  const built = isOwn ? await ownWorker(into) : await buildWorker(into, build);
  const worker = {
    ...built.options,
    name,
    bindings: { ...(built.options.bindings as object), ...vars },
    modules: await modulesOf(built),
  };
  const before = new Set(runtimes());
  const errors: string[] = [];
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: 0,
      inspectorPort: 0,
      cf: false,
      // On disk, where the runtime allows it, so that stored data does not count as the isolate's
      // memory.
      defaultPersistRoot: join(home, 'state'),
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'error') errors.push(message);
      },
      workers: withSocket(worker, objectsApart ? `${name}-objects` : undefined),
    }),
  );
  await miniflare.ready;
  const url = (await miniflare.unsafeGetDirectURL(name)).origin;
  const [pid] = runtimes().filter((pid) => !before.has(pid));
  const wake = () => fetch(`${url}/healthz`).catch(() => undefined);
  const inspector = await connect(await miniflare.getInspectorURL(), name, wake);
  await inspector.ask('HeapProfiler.enable');
  return {
    url,
    pid,
    errors,
    async memory() {
      await inspector.ask('HeapProfiler.collectGarbage');
      const { usedSize, backingStorageSize } = await inspector.ask<HeapUsage>('Runtime.getHeapUsage');
      const heap = usedSize + backingStorageSize;
      return { rss: pid === undefined ? Number.NaN : rssOf(pid), heap };
    },
    async profile(intervalUs, work) {
      await inspector.ask('Profiler.enable');
      await inspector.ask('Profiler.setSamplingInterval', { interval: intervalUs });
      await inspector.ask('Profiler.start');
      await work();
      const { profile } = await inspector.ask<{ profile: Profile }>('Profiler.stop');
      return profile;
    },
    async close() {
      inspector.close();
      await miniflare.dispose();
      await rm(home, { recursive: true, force: true });
    },
  };
}

type Options = Parameters<typeof convertV4MiniflareOptions>[0];
type WorkerOptions = Extract<Options, { readonly workers: readonly unknown[] }>['workers'][number];

/**
 * A Worker with a socket of its own.
 *
 * @param host name of a second Worker with the same code, for the objects; undefined: they are the
 *   Worker's own
 */
function withSocket(worker: WorkerOptions, host: string | undefined): WorkerOptions[] {
  const reached = { ...worker, unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] };
  if (host === undefined) return [reached];
  const objects = Object.entries(worker.durableObjects ?? {}).map(([binding, object]) => {
    const designator = typeof object === 'string' ? { className: object } : object;
    return [binding, { ...designator, scriptName: host }];
  });
  return [
    { ...reached, durableObjects: Object.fromEntries(objects) },
    { ...worker, name: host },
  ];
}

/**
 * The runtimes that this process has started, from the system's process list; empty without
 * `/proc`.
 */
function runtimes(): number[] {
  const pids = listed().filter((entry) => /^\d+$/.test(entry));
  return pids.flatMap((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const isOurs = new RegExp(`^PPid:\\s+${process.pid}$`, 'm').test(status);
      return isOurs && /^Name:\s+workerd$/m.test(status) ? [Number(pid)] : [];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}

function listed(): string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

/** In bytes: objects, and the buffers they own outside of the heap. */
interface HeapUsage {
  readonly usedSize: number;
  readonly backingStorageSize: number;
}

interface Inspector {
  ask<Result>(method: string, params?: object): Promise<Result>;
  close(): void;
}

/**
 * Connects to the inspector (https://chromedevtools.github.io/devtools-protocol/).
 *
 * @param wake gives the isolate something to do
 */
async function connect(url: URL, worker: string, wake: () => unknown): Promise<Inspector> {
  const targets = (await (await fetch(new URL('/json', url.href.replace(/^ws/, 'http')))).json()) as {
    id: string;
    webSocketDebuggerUrl: string;
  }[];
  const target = targets.find(({ id }) => id.endsWith(`:${worker}`));
  if (!target) throw new Error(`the runtime has no isolate of ${worker} to inspect`);
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  const waiting = new Map<number, (result: unknown) => void>();
  let asked = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return {
    ask: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++asked;
        // The isolate answers about a garbage collection only when it runs next.
        const next = setInterval(wake, INSPECTOR_NEXT_MS);
        const end = (work: () => void): void => {
          clearInterval(next);
          clearTimeout(timer);
          waiting.delete(id);
          work();
        };
        const timer = setTimeout(
          () => end(() => reject(new Error(`${method} was not answered`))),
          INSPECTOR_LIMIT_MS,
        );
        waiting.set(id, (result) => end(() => resolve(result as never)));
        socket.send(JSON.stringify({ id, method, params }));
      }),
    close: () => socket.close(),
  };
}
