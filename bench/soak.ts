/**
 * A load test: recorded conversations of eight clients, through all modes, in both protocols
 * (`npm run bench:soak -- [--minutes N] [--json]`; default: ten minutes). Each request goes to
 * Precis and to a bare Worker in turn, so that both are measured in the same minutes. Memory is
 * read at the start and after each third: of the runtime's process, which includes the simulated
 * storage, and of the Worker's isolate after a garbage collection.
 *
 * The conversations are those under TRACES_DIR, or generated ones without it. The test fails on any
 * error, on a text that reaches another tenant, and on a byte that mode `none` has changed.
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCommandLine, readPositive } from './command-line.ts';
import { printTable, thousands } from './figures.ts';
import { type Memory, type Runtime, startRuntime } from './runtime.ts';
import { soakClient, soakedTraces, type Tally } from './soak/clients.ts';
import { SUMMARIZER_KEY, startSoakUpstream } from './soak/upstream.ts';

const CLIENTS = 8;
const THIRDS = 3;
const MOST_MINUTES = 60;
const MOST_REQUESTS = 500_000;

/** Time for work after the answers, in milliseconds. */
const SETTLING_MS = 3_000;

/** Maximum of problems to print. */
const MOST_SHOWN = 10;

const MEGABYTE = 1024 * 1024;

const { values: options } = readCommandLine('npm run bench:soak -- [--minutes N] [--json]', {
  json: { type: 'boolean', default: false },
  minutes: { type: 'string', default: '10' },
});
const minutes = Math.min(readPositive('--minutes', options.minutes), MOST_MINUTES);

const { source, traces } = soakedTraces();
const upstream = await startSoakUpstream();
const workers: Runtime[] = [];
try {
  workers.push(
    await startRuntime('precis', {
      PRECIS_SECRET: 'the secret of the benchmarks',
      UPSTREAM_BASE_URL: `${upstream.url}/v1`,
      SUMMARIZER_BASE_URL: `${upstream.url}/summarizer/v1`,
      SUMMARIZER_MODEL: 'a-model',
      SUMMARIZER_API_KEY: SUMMARIZER_KEY,
      VERIFY_KEYS: 'false',
      LOG_LEVEL: 'error',
    }),
    await startRuntime('bare', { BARE_UPSTREAM: upstream.url }, { entry: 'bench/workers/bare.ts' }),
  );
  const tallies = workers.map(newTally);
  const marks = await soak(tallies);
  const found = foundIn(tallies);
  if (options.json)
    console.log(JSON.stringify({ ...subject(), marks, found, tallies: tallies.map(summaryOf) }, null, 2));
  else print(tallies, marks, found);
  if (found.length > 0) process.exitCode = 1;
} finally {
  for (const worker of workers) await worker.close();
  await upstream.close();
}

/** @returns the memory of each Worker, at the start and after each third */
async function soak(tallies: readonly Tally[]): Promise<Memory[][]> {
  const marks = [await memories()];
  const urls = workers.map(({ url }) => url);
  for (let third = 0; third < THIRDS; third++) {
    const end = Date.now() + (minutes * 60_000) / THIRDS;
    const isOver = () => Date.now() >= end || requestsIn(tallies) >= MOST_REQUESTS;
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, client) =>
        // Start at another part of the conversations in each third.
        soakClient(client, traces.slice(third).concat(traces.slice(0, third)), urls, tallies, isOver),
      ),
    );
    await sleep(SETTLING_MS);
    marks.push(await memories());
  }
  return marks;
}

function memories(): Promise<Memory[]> {
  return Promise.all(workers.map((worker) => worker.memory()));
}

function newTally(): Tally {
  return { requests: 0, byMode: new Map(), errors: [], crossings: [], changed: [] };
}

function requestsIn(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, { requests }) => sum + requests, 0);
}

/** The problems found. */
function foundIn(tallies: readonly Tally[]): string[] {
  const [precis, bare] = tallies;
  const named = (what: string, lines: readonly string[] = []): string[] =>
    lines.map((line) => `${what}: ${line}`);
  return [
    ...named('error', precis?.errors),
    ...named('error of the bare Worker', bare?.errors),
    ...named('crossing', [...(precis?.crossings ?? []), ...upstream.crossings]),
    ...named('changed bytes', precis?.changed),
    ...named('logged', workers[0]?.errors),
  ];
}

function summaryOf({ requests, byMode }: Tally): object {
  return { requests, byMode: Object.fromEntries(byMode) };
}

function subject() {
  return { minutes, clients: CLIENTS, source, node: process.version, cpu: cpus()[0]?.model ?? 'unknown' };
}

function print(tallies: readonly Tally[], marks: readonly Memory[][], found: readonly string[]): void {
  const { node, cpu } = subject();
  const [precis] = tallies;
  const { requests, summaries, fetches } = upstream.counts;
  console.log(`${minutes} minutes, ${CLIENTS} clients, ${source} conversations. Node ${node}, ${cpu}.\n`);
  printTable(
    ['MB', 'start', '1st third', '2nd third', '3rd third'],
    ['Precis', 'bare Worker'].flatMap((name, index) => [
      [`${name}, live heap`, ...marks.map((mark) => megabytes(mark[index]?.heap))],
      [`${name}, RSS`, ...marks.map((mark) => megabytes(mark[index]?.rss))],
    ]),
  );
  const modes = [...(precis?.byMode ?? [])].map(([mode, count]) => `${mode} ${thousands(count)}`);
  console.log(`\n${thousands(precis?.requests ?? 0)} requests to Precis: ${modes.join(', ')}.`);
  console.log(
    `${thousands(requests)} at the upstream, ${thousands(summaries)} of them summaries; ${thousands(fetches)} fetched by ref.`,
  );
  console.log(
    `One isolate holds ${megabytes(marks.at(-1)?.[0]?.heap)} MB in the end; the platform gives it 128.`,
  );
  if (found.length === 0) console.log('No error, no crossing of tenants, no changed byte in mode none.');
  const kinds = Map.groupBy(found, (line) => line.slice(0, line.indexOf(':')));
  for (const [kind, lines] of kinds) console.log(`${kind}: ${lines.length}`);
  for (const line of found.slice(0, MOST_SHOWN)) console.log(line);
}

function megabytes(bytes = Number.NaN): string {
  return (bytes / MEGABYTE).toFixed(1);
}
