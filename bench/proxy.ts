/**
 * The cost of Precis compared with a bare Worker that only forwards (`npm run bench:proxy --
 * --help`).
 *
 * Each proxy runs in its own process and is reached by a socket straight into it. They take turns
 * with the same bodies; a ratio is the median of all rounds.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { orRefuse, readCommandLine, readNames, readNumbers, readPositive } from './command-line.ts';
import { ms, percent, printTable, thousands } from './figures.ts';
import { BENCH_CACHE } from './install.ts';
import { peakOf } from './process.ts';
import { agent } from './proxy/client.ts';
import { LONG_STREAM, MODES, SITUATIONS } from './proxy/loads.ts';
import { type Case, measure } from './proxy/measure.ts';
import { withTables } from './proxy/page.ts';
import { type SampledCell, sample } from './proxy/sample.ts';
import {
  comparedIn,
  type Subject,
  startBare,
  startFloor,
  startPortkey,
  startPrecis,
} from './proxy/subjects.ts';
import { startUpstream } from './proxy/upstream.ts';

const MOST_ROUNDS = 100;
const CONNECTIONS = [1, 8];

/** Deltas of a short and of a long answer; 0 is a JSON answer. */
const DELTAS = [0, 4, 40_000];

/** Unseen bodies from this length on keep an isolate busy, so eight of them wait in line. */
const ONE_BY_ONE_FROM = 500_000;
/** Shorter bodies are measured in mode `none` alone, since nothing is left to plan. In bytes. */
const PLANNED_FROM = 10_000;

/** Length of the body of a request for a long stream, in bytes. */
const LONG_STREAM_BODY = 10_000;

/** Functions that a profile lists. */
const PROFILED = 15;

/** Beyond the seeds of a case's rounds: sampled conversations are never seen before. */
const SAMPLED_SEED = 500_000;

const MEGABYTE = 1024 * 1024;

const { values: options } = readCommandLine(
  `npm run bench:proxy -- [option]…

  --rounds N        rounds of each case, ${MOST_ROUNDS} at most (the default)
  --bytes N,…       lengths of bodies (1000,118000,1000000)
  --deltas N,…      deltas of streamed answers; 0 is a JSON answer (${DELTAS.join(',')})
  --modes M,…       ${MODES.join(', ')} (all)
  --situations S,…  ${SITUATIONS.join(', ')} (all)
  --events on|off   whether Precis keeps an event of each request (on)
  --bridge API      also measures chat over another API (responses, messages), in its own process
  --portkey         also measures a gateway in Node that forwards the same bodies, installed on demand
  --profile         shows in which functions Precis spends its time, over one connection
  --json            prints JSON
  --page FILE       writes the tables into docs/measurements.md, or a page with the same comments`,
  {
    json: { type: 'boolean', default: false },
    bridge: { type: 'string' },
    portkey: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    events: { type: 'string', default: 'on' },
    page: { type: 'string' },
    rounds: { type: 'string', default: `${MOST_ROUNDS}` },
    bytes: { type: 'string', default: '1000,118000,1000000' },
    deltas: { type: 'string', default: DELTAS.join(',') },
    modes: { type: 'string', default: MODES.join(',') },
    situations: { type: 'string', default: SITUATIONS.join(',') },
  },
);
const rounds = Math.min(readPositive('--rounds', options.rounds), MOST_ROUNDS);
const answerLengths = readNumbers('--deltas', options.deltas);
const sizes = readNumbers('--bytes', options.bytes);
const modes = readNames('--modes', options.modes, MODES);
const situations = readNames('--situations', options.situations, SITUATIONS);
const [events = 'on'] = readNames('--events', options.events, ['on', 'off']);

// A page without a place for the tables is noticed before they are measured.
const { page } = options;
if (page !== undefined) await orRefuse(() => withTables(readFileSync(page, 'utf8'), []));

const upstream = await startUpstream();
const subjects: Subject[] = [];
try {
  const objectsApart = true;
  const precis = await startPrecis(upstream.url, { events, hasNames: options.profile, objectsApart });
  subjects.push(await startBare(upstream.url), await startFloor(upstream.url), precis);
  const [api] = options.bridge ? readNames('--bridge', options.bridge, ['responses', 'messages']) : [];
  const other =
    api && (await startPrecis(upstream.url, { events, hasNames: options.profile, objectsApart, api }));
  if (other) subjects.push(other);
  if (options.portkey)
    await startPortkey(upstream.url, BENCH_CACHE).then(
      (portkey) => subjects.push(portkey),
      (error: Error) => console.error(`Without Portkey: ${error.message}.`),
    );
  const cells: SampledCell[] = [];
  for (const [index, wanted] of cases().entries()) {
    const seed = index * 1_000_000 + 1;
    const cell = await measure(comparedIn(wanted.mode, subjects), wanted, rounds, seed);
    const sampled = wanted.connections === 1;
    const worker = sampled && (await sample(precis, wanted, seed + SAMPLED_SEED, options.profile));
    const bridged = sampled && other && (await sample(other, wanted, seed + SAMPLED_SEED, options.profile));
    cells.push({ ...cell, ...(worker ? { worker } : {}), ...(bridged ? { bridged } : {}) });
  }
  const peaks = subjects.map(({ name, pid }) => ({
    name,
    peak: pid === undefined ? Number.NaN : peakOf(pid),
  }));
  const about = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown' };
  if (options.json) console.log(JSON.stringify({ ...about, cells, peaks }, null, 2));
  else print(about, cells, peaks);
  if (page !== undefined) writeFileSync(page, withTables(readFileSync(page, 'utf8'), cells));
} finally {
  agent.destroy();
  for (const { close } of subjects) await close();
  await upstream.close();
}

function cases(): Case[] {
  const product = sizes.flatMap((bytes) =>
    modes.flatMap((mode) =>
      situations.flatMap((situation) =>
        answerLengths.flatMap((deltas) =>
          CONNECTIONS.map((connections): Case => ({ bytes, mode, situation, deltas, connections })),
        ),
      ),
    ),
  );
  const long = answerLengths.filter((deltas) => deltas >= LONG_STREAM);
  const longCases = long.flatMap((deltas) =>
    modes.map(
      (mode): Case => ({ bytes: LONG_STREAM_BODY, mode, situation: 'again', deltas, connections: 1 }),
    ),
  );
  return [...product.filter(isWorthwhile), ...(situations.includes('again') ? longCases : [])];
}

/**
 * The form of the answer makes no difference to the situation, so streams are measured in one; over
 * a bridge also in a loop, where what is kept of them is sent again.
 */
function isWorthwhile({ bytes, mode, situation, deltas, connections }: Case): boolean {
  if (bytes < PLANNED_FROM && (mode !== 'none' || situation === 'growing')) return false;
  const isLoop = situation === 'growing' && options.bridge !== undefined;
  if (deltas > 0 && (deltas >= LONG_STREAM || !(isLoop || situation === 'again'))) return false;
  return situation !== 'unseen' || connections === 1 || bytes < ONE_BY_ONE_FROM;
}

/** The floor and the gateway only forward, so they are only compared in mode `none`. */
function print(
  about: { node: string; cpu: string },
  cells: readonly SampledCell[],
  peaks: readonly { name: string; peak: number }[],
): void {
  console.log(`Node ${about.node}, ${about.cpu}.`);
  for (const deltas of answerLengths)
    for (const connections of CONNECTIONS) {
      const rows = cells.filter((cell) => cell.deltas === deltas && cell.connections === connections);
      if (rows.length === 0) continue;
      const answers = deltas === 0 ? 'JSON' : `a stream of ${thousands(deltas)} deltas`;
      console.log(`\n${answers}, ${connections === 1 ? 'one connection' : `${connections} connections`}\n`);
      printTable(
        [
          'bytes, mode, situation',
          'proxy',
          'p50 ms',
          'p95 ms',
          'ratio',
          '95 %',
          'req/s',
          'CPU ms',
          'of the Worker',
          'bytes up',
        ],
        rows.flatMap(rowsOf),
      );
    }
  if (options.profile)
    for (const { worker, bridged, ...cell } of cells)
      for (const sampled of [worker, bridged]) if (sampled) printProfile({ ...cell, worker: sampled });
  const memory = peaks.map(({ name, peak }) => `${name} ${(peak / MEGABYTE).toFixed(0)} MB`);
  console.log(`
p50, p95: to the first byte of the body, of a stream to its first text.
floor:    a Worker that reads the body, copies headers and relays the answer, and no more.
ratio:    to the bare Worker in the same round; with several connections, of the whole round.
CPU ms:   of the proxy's process by request; Precis' holds the storage that it simulates too. That
          of the Worker is sampled in its isolate alone, in rounds of their own.
Peak memory of the processes over the whole run: ${memory.join(', ')}.`);
}

function printProfile({ bytes, mode, situation, deltas, worker }: SampledCell): void {
  if (!worker) return;
  const answers = deltas === 0 ? 'JSON' : `${thousands(deltas)} deltas`;
  console.log(`\n${thousands(bytes)} ${mode} ${situation}, ${answers}: ${ms(worker.all)} ms per request\n`);
  const rows = worker.functions
    .slice(0, PROFILED)
    .map((entry) => [entry.name, ms(entry.ms), percent(entry.ms, worker.all)]);
  printTable(['function', 'ms itself', 'share'], rows);
}

function rowsOf({ bytes, mode, situation, figures, worker, bridged }: SampledCell): string[][] {
  const sampled = new Map([
    ['precis', worker],
    ['bridged', bridged],
  ]);
  return figures.map(({ subject, p50, p95, ratio, requestsPerSecond, cpu, bytesUp }, index) => {
    const own = sampled.get(subject);
    return [
      index === 0 ? `${thousands(bytes)} ${mode} ${situation}` : '',
      subject,
      ms(p50),
      ms(p95),
      ratio.median.toFixed(2),
      `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
      requestsPerSecond.toFixed(0),
      ms(cpu),
      own ? ms(own.all) : '',
      thousands(bytesUp),
    ];
  });
}
