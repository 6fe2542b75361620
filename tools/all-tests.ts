/**
 * `npm test`: unit tests, types and lint beside the Worker's own tests, which wait for a third of
 * their time, and then the tests before a built Worker. More at once would take longer: the
 * processes would empty each other's caches, and tests that have to be in time would not be. The
 * output of each script comes in one piece, in order.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findChromium } from './chromium.ts';

/** A script of package.json, and what is added to its command. */
type Job = readonly [script: string, ...args: string[]];

const CORES = availableParallelism();

/** Files before a built Worker wait for 14 % of their time, with one more of them than cores. */
const WAITING = `--maxWorkers=${CORES + 2}`;
/** A process keeps a core busy, and loads once what its files share. */
const BUSY = `--maxWorkers=${Math.ceil(CORES / 2)}`;
/** As many as can use all that is left. */
const PATIENT = `--maxWorkers=${CORES}`;

/** All rows run at once, and the scripts of a row one after the other. */
const ROWS: readonly (readonly Job[])[] = [
  [['test:unit', BUSY], ['types'], ['lint']],
  [
    ['test:worker', PATIENT],
    ['test:built', WAITING, ...(hasBrowser() ? [] : ['--exclude', 'test/browser/**'])],
  ],
];

/**
 * Whether the inspector can be tested. Where CI asks for it (`BROWSER_TESTS=required`), the tests
 * run and fail without a browser.
 */
function hasBrowser(): boolean {
  return process.env.BROWSER_TESTS === 'required' || findChromium() !== undefined;
}

/** A file that CI removes when it has installed what only the tests before a built Worker run. */
const { INSTALLING = '' } = process.env;
const untilInstalled = async (): Promise<void> => {
  while (existsSync(INSTALLING)) await setTimeout(200);
};

/**
 * What scripts print: of the first one at once, of each other one when those before it have ended.
 */
class Output {
  private readonly waiting: { readonly chunks: Buffer[]; ended: boolean }[] = [];

  /** For the next script in order: where it writes to, and what is called at its end. */
  place(): { write(chunk: Buffer): void; end(): void } {
    const script = { chunks: [] as Buffer[], ended: false };
    this.waiting.push(script);
    return {
      write: (chunk) => {
        script.chunks.push(chunk);
        this.print();
      },
      end: () => {
        script.ended = true;
        this.print();
      },
    };
  }

  private print(): void {
    for (let first = this.waiting[0]; first; first = this.waiting[0]) {
      for (const chunk of first.chunks.splice(0)) process.stdout.write(chunk);
      if (!first.ended) return;
      this.waiting.shift();
    }
  }
}

/** A file system in memory on Linux. */
const SHARED_MEMORY = '/dev/shm';
/** All tests together write less, in bytes. */
const ENOUGH = 1024 ** 3;

/**
 * Where tests write: in memory if there is room, since the Workers' databases wait for the disk at
 * each write.
 */
function temporaryDirectory(): string {
  if (!existsSync(SHARED_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(SHARED_MEMORY);
  return bavail * bsize >= ENOUGH ? SHARED_MEMORY : tmpdir();
}

/**
 * Where Node.js keeps the code of modules as it has compiled them. Tests start dozens of processes
 * that load the same ones, and the next run does. Emptied before a run where it has grown: modules
 * with a path of their own in each run, such as Vitest's bundled configurations, pile up.
 */
const COMPILED = join(import.meta.dirname, '../node_modules/.cache/compiled');
/** In bytes: three times what a run compiles. */
const MOST_COMPILED = 200 * 1024 ** 2;
if (sizeOf(COMPILED) > MOST_COMPILED) rmSync(COMPILED, { recursive: true });

/** The bytes of all files in a folder, which may be absent. */
function sizeOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/**
 * Of one script. The compiler of types is written in Go and soon ends: its collector takes a
 * quarter of its time, and gives back a tenth of its memory.
 */
const OWN_ENV: Readonly<Record<string, NodeJS.ProcessEnv>> = { types: { GOGC: 'off' } };

/** @returns whether it succeeded */
function run([script, ...args]: Job, output: ReturnType<Output['place']>): Promise<boolean> {
  const color = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const shared = { NODE_COMPILE_CACHE: COMPILED, ...process.env, TMPDIR: temporaryDirectory() };
  const env = { ...shared, ...color, ...OWN_ENV[script] };
  const child = spawn('npm', ['run', script, '--', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', output.write);
  child.stderr.on('data', output.write);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      output.end();
      resolve(code === 0);
    });
  });
}

const output = new Output();
let hasFailed = false;
await Promise.all(
  ROWS.map((jobs) => jobs.map((job) => [job, output.place()] as const)).map(async (row) => {
    // One that fails does not stop the others.
    for (const one of row) {
      if (one[0][0] === 'test:built') await untilInstalled();
      if (!(await run(...one))) hasFailed = true;
    }
  }),
);
// `process.exit` would cut off output that a pipe has not taken yet.
if (hasFailed) process.exitCode = 1;
if (!hasBrowser())
  console.warn(`
****************************************************************************************
* THE INSPECTOR WAS NOT TESTED: there is no Chromium on this machine.                  *
* Install one (Debian: apt-get install chromium-headless-shell), or set CHROMIUM.      *
****************************************************************************************`);
