/**
 * `npm test`. Format, lint and types come first; then all suites at the same time, since end-to-end
 * tests wait for much of their time. The output of each script comes in one piece, in order.
 */
import { spawn } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { findChromium } from './chromium.ts';

/** Scripts of package.json that run one after the other. */
type Lane = readonly string[];

const STAGES: readonly (readonly Lane[])[] = [
  [['lint'], ['types']],
  [
    ['test:unit', 'test:worker'],
    ['test:e2e', ...(hasBrowser() ? ['test:browser'] : [])],
  ],
];

/**
 * Whether the inspector can be tested. Where CI asks for it (`BROWSER_TESTS=required`), the tests
 * run and fail without a browser.
 */
function hasBrowser(): boolean {
  return process.env.BROWSER_TESTS === 'required' || findChromium() !== undefined;
}

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

/** Runs a script of package.json. @returns whether it succeeded */
function run(script: string, output: ReturnType<Output['place']>): Promise<boolean> {
  const color = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const env = { ...process.env, TMPDIR: temporaryDirectory(), ...color };
  const child = spawn('npm', ['run', script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
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

/** @returns whether all scripts succeeded. One that fails does not stop those after it. */
async function runStage(lanes: readonly Lane[]): Promise<boolean> {
  const output = new Output();
  const results = await Promise.all(
    lanes
      .map((lane) => lane.map((script) => ({ script, place: output.place() })))
      .map(async (lane) => {
        let succeeded = true;
        for (const { script, place } of lane) succeeded = (await run(script, place)) && succeeded;
        return succeeded;
      }),
  );
  return results.every(Boolean);
}

for (const lanes of STAGES) {
  if (await runStage(lanes)) continue;
  // `process.exit` would cut off output that a pipe has not taken yet.
  process.exitCode = 1;
  break;
}
if (!hasBrowser())
  console.warn(`
****************************************************************************************
* THE INSPECTOR WAS NOT TESTED: there is no Chromium on this machine.                  *
* Install one (Debian: apt-get install chromium), or set CHROMIUM to its path.         *
****************************************************************************************`);
