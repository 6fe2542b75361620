/**
 * Runs the built Worker on this machine, for others than its developer: workerd with R2 and Durable
 * Objects in a folder. The Worker's variables come from the environment.
 */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Miniflare } from 'miniflare';
import { VARIABLES } from '../src/config.ts';
import { startRuntime } from './local-runtime.ts';
import { type BuiltWorker, modulesOf } from './worker-modules.ts';

const USAGE = `usage: npm run self-host -- [--host <address>] [--port <number>] [--data <folder>]
                             [--build <folder> | --built <folder>]

  --host   the address to listen on: 127.0.0.1, or HOST
  --port   the port: 8787, or PORT; 0 is any free one
  --data   the folder of everything that is stored: ./data, or DATA_DIR
  --build  builds the Worker into a folder, and ends
  --built  runs the Worker of such a folder, and builds none

All variables of docs/deploying.md are read from the environment. PRECIS_SECRET is required.`;

/** As in wrangler.toml, where Cloudflare runs the scheduled handler. */
const SCHEDULE = { cron: '*/15 * * * *', ms: 15 * 60_000 };
/** Beside the code of a built Worker: its settings from wrangler.toml. */
const SETTINGS = 'settings.json';

interface Options {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly build: string | undefined;
  readonly built: string | undefined;
}

await main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));

async function main(): Promise<void> {
  const options = readOptions();
  if (options.build !== undefined) return build(options.build);
  if (!process.env.PRECIS_SECRET) {
    fail(`PRECIS_SECRET is not set. Make one, and keep it: all that is stored needs it.\n
  export PRECIS_SECRET="$(openssl rand -base64 32)"`);
  }
  await keepFromOthers(options.data);
  if (options.built === undefined) await build(join(options.data, 'worker'));
  await serve(await readBuilt(options.built ?? join(options.data, 'worker')), options);
}

/**
 * What is stored, part of it as text, is for no other user of the machine: not for those who could
 * read new files, nor for those who could read what an earlier version has written.
 */
async function keepFromOthers(data: string): Promise<void> {
  process.umask(0o077);
  const storage = join(data, 'storage');
  await mkdir(storage, { recursive: true });
  await chmod(storage, 0o700);
}

/** @throws if an argument is not known */
function readOptions(): Options {
  const { HOST = '127.0.0.1', PORT = '8787', DATA_DIR = 'data' } = process.env;
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: HOST },
      port: { type: 'string', default: PORT },
      data: { type: 'string', default: DATA_DIR },
      build: { type: 'string' },
      built: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535)
    fail(`--port takes 0 to 65535\n\n${USAGE}`);
  const { host, data, build, built } = values;
  return { host, port: Number(values.port), data: resolve(data), build, built };
}

async function build(into: string): Promise<void> {
  // Takes a second to load, and only a build needs it.
  const { buildWorker } = await import('./worker-build.ts');
  await mkdir(into, { recursive: true });
  const { options } = await buildWorker(into);
  await writeFile(join(into, SETTINGS), JSON.stringify(options));
}

async function readBuilt(folder: string): Promise<BuiltWorker> {
  const options = JSON.parse(await readFile(join(folder, SETTINGS), 'utf8')) as BuiltWorker['options'];
  return { module: join(folder, 'index.js'), options };
}

/** Serves until the process gets a signal to end; Miniflare ends workerd then. */
async function serve(built: BuiltWorker, { host, port, data }: Options): Promise<void> {
  const miniflare = startRuntime({
    built,
    modules: await modulesOf(built),
    vars: variables(),
    storage: join(data, 'storage'),
    print: (line) => console.log(line),
    // Miniflare's own address has routes for development; one of them reads the bucket.
    moreOfWorker: { unsafeDirectSockets: [{ host, port }] },
  });
  const url = await miniflare.unsafeGetDirectURL();
  const health = await miniflare.dispatchFetch(`${url.origin}/healthz`);
  if (!health.ok) {
    console.error(await health.text());
    await miniflare.dispose();
    fail('Precis did not start, see above.');
  }
  setInterval(() => collect(miniflare), SCHEDULE.ms);
  console.log(`Precis listens on http://${host}:${url.port}/v1. Its data is in ${data}.`);
}

/** The variables of the Worker that the environment has. */
function variables(): Record<string, string> {
  return Object.fromEntries(
    VARIABLES.flatMap((name) => {
      const value = process.env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** Runs the scheduled handler, which deletes what is no longer used (`RETENTION_DAYS`). */
async function collect(miniflare: Miniflare): Promise<void> {
  try {
    const worker = await miniflare.getWorker();
    await worker.scheduled({ cron: SCHEDULE.cron });
  } catch (error) {
    console.error(`The scheduled handler failed: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
