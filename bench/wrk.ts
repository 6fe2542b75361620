/**
 * The cost of Precis compared with a bare Worker, measured by a client in C
 * (`npm run bench:wrk -- --help`). `wrk` itself needs a few microseconds for a request, so that the
 * proxy and the upstream have nearly all of the time.
 *
 * The proxies take turns, a second each. A ratio compares the medians of two adjacent turns, and
 * the figure is the median of all rounds.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { orRefuse, readCommandLine, readNames, readNumbers, readPositive } from './command-line.ts';
import { bodyOf } from './conversation.ts';
import { medianInterval, ms, printTable, quantile, thousands } from './figures.ts';
import { BENCH_CACHE } from './install.ts';
import { type Table, withTable } from './page-tables.ts';
import { cpuOf } from './process.ts';
import { conversationOf, MODES, type Mode, stepOf } from './proxy/loads.ts';
import { headersOf } from './proxy/measure.ts';
import { sizeOf } from './proxy/page.ts';
import {
  comparedIn,
  type Subject,
  startBare,
  startFloor,
  startPortkey,
  startPrecis,
} from './proxy/subjects.ts';
import { startUpstream } from './proxy/upstream.ts';

const SCRIPT = join(import.meta.dirname, 'wrk/requests.lua');

/** After this many the conversation begins anew. */
const STEPS = 60;
/** Before each request of a conversation that grows: the work after the last answer ends in it. */
const PAUSE_MS = 20;
/** Rounds that are not counted, for compilers and caches. */
const WARM_UP = 2;

const { values: options } = readCommandLine(
  `npm run bench:wrk -- [option]…    (needs wrk; Debian: apt-get install wrk)

  --rounds N        rounds of each case (7)
  --seconds N       of a round of each proxy (1)
  --bytes N,…       lengths of bodies (1000,118000,1000000)
  --modes M,…       ${MODES.join(', ')} (none,compact,auto)
  --connections N,… (1,8)
  --growing         the array grows by a step with each request, over one connection
  --renew N         after N requests the same array is of another conversation, by its name
  --events on|off   whether Precis keeps an event of each request (on)
  --bridge API      also measures chat over another API (responses, messages), in its own process
  --portkey         also measures a gateway in Node that forwards the same bodies, installed on demand
  --json            prints JSON
  --page FILE       writes the table into docs/measurements.md, or a page with the same comments`,
  {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    bytes: { type: 'string', default: '1000,118000,1000000' },
    modes: { type: 'string', default: 'none,compact,auto' },
    connections: { type: 'string', default: '1,8' },
    growing: { type: 'boolean', default: false },
    renew: { type: 'string' },
    events: { type: 'string', default: 'on' },
    bridge: { type: 'string' },
    portkey: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    page: { type: 'string' },
  },
);
const rounds = readPositive('--rounds', options.rounds);
const seconds = readPositive('--seconds', options.seconds);
const sizes = readNumbers('--bytes', options.bytes);
const modes = readNames('--modes', options.modes, MODES);
const connections = options.growing ? [1] : readNumbers('--connections', options.connections);
const renew = options.renew === undefined ? 0 : readPositive('--renew', options.renew);
const [api] = options.bridge ? readNames('--bridge', options.bridge, ['responses', 'messages']) : [];
const [events = 'on'] = readNames('--events', options.events, ['on', 'off']);

await orRefuse(() => {
  if (spawnSync('wrk', ['--version']).error) throw new Error('There is no wrk on this machine.');
});

/** What wrk has measured: milliseconds, and requests that got no answer of status 200. */
interface Measured {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly requests: number;
  readonly ms: number;
  readonly failed: number;
}

interface Round extends Measured {
  /** CPU milliseconds of the proxy's process. */
  readonly cpu: number;
}

interface Row {
  readonly bytes: number;
  readonly mode: Mode;
  readonly connections: number;
  readonly subject: Subject['name'];
  readonly p50: number;
  /** The slowest one of a hundred, and of a thousand, in the median round. */
  readonly p99: number;
  readonly p999: number;
  readonly perSecond: number;
  /** CPU milliseconds of the proxy's process per request. */
  readonly cpu: number;
  readonly ratio: ReturnType<typeof medianInterval>;
}

const folder = mkdtempSync(join(tmpdir(), 'precis-wrk-'));
const upstream = await startUpstream();
const subjects: Subject[] = [];
const rows: Row[] = [];
try {
  subjects.push(
    await startBare(upstream.url),
    await startFloor(upstream.url),
    await startPrecis(upstream.url, { events }),
  );
  if (api) subjects.push(await startPrecis(upstream.url, { events, api }));
  if (options.portkey) subjects.push(await startPortkey(upstream.url, BENCH_CACHE));
  for (const bytes of sizes)
    for (const mode of modes)
      for (const count of connections) rows.push(...(await measure(bytes, mode, count)));
} finally {
  for (const { close } of subjects) await close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
}
if (options.json)
  console.log(JSON.stringify({ cpu: cpus()[0]?.model, growing: options.growing, rows }, null, 2));
else print();
const { page } = options;
if (page !== undefined)
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), 'bench:wrk', tableName(), tableOf()));

async function measure(bytes: number, mode: Mode, count: number): Promise<Row[]> {
  const others = comparedIn(mode, subjects);
  const files = writeParts(bytes);
  const all = others.map((): Round[] => []);
  for (let round = 0; round < WARM_UP + rounds; round++)
    for (const [index, subject] of others.entries()) {
      const before = cpuOfSubject(subject);
      const measured = await run(subject, mode, bytes, count, files);
      const cpu = cpuOfSubject(subject) - before;
      if (round >= WARM_UP) all[index]?.push({ ...measured, cpu });
    }
  return others.map(({ name }, index) => {
    const own = all[index] ?? [];
    const bare = all[0] ?? [];
    // Over several connections, the time of a request includes all who wait for a core.
    const time = ({ p50, ms, requests }: Measured) => (count === 1 ? p50 : ms / requests);
    const ratios = own.map((one, round) => time(one) / time(bare[round] ?? one));
    const median = (of: (round: Round) => number) => quantile(own.map(of), 0.5);
    return {
      bytes,
      mode,
      connections: count,
      subject: name,
      p50: median(({ p50 }) => p50),
      p99: median(({ p99 }) => p99),
      p999: median(({ p999 }) => p999),
      perSecond: median(({ requests, ms }) => (1_000 * requests) / ms),
      cpu: median(({ cpu, requests }) => cpu / requests),
      ratio: medianInterval(ratios),
    };
  });
}

function cpuOfSubject({ pid }: Subject): number {
  return pid === undefined ? Number.NaN : cpuOf(pid);
}

/** The files that the script reads, by the names of its variables. */
function writeParts(bytes: number): Readonly<Record<string, string>> {
  const conversation = conversationOf(bytes, 1);
  const body = Buffer.from(bodyOf(conversation)).toString();
  const end = body.lastIndexOf(']');
  const steps = options.growing
    ? Array.from({ length: STEPS }, (_, seed) =>
        stepOf(bytes, seed + 1)
          .map((message) => `,${JSON.stringify(message)}`)
          .join(''),
      )
    : [];
  const parts = { BODY: body.slice(0, end), REST: body.slice(end), STEPS: steps.join('\n') };
  return Object.fromEntries(
    Object.entries(parts).map(([name, text]) => {
      const file = join(folder, `${name}-${bytes}`);
      writeFileSync(file, text);
      return [name, file];
    }),
  );
}

function run(
  subject: Subject,
  mode: Mode,
  bytes: number,
  count: number,
  files: Readonly<Record<string, string>>,
): Promise<Measured> {
  const headers = headersOf(subject, { mode, bytes, deltas: 0 }, 0);
  const file = join(folder, `headers-${subject.name}-${mode}-${bytes}`);
  writeFileSync(
    file,
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(''),
  );
  const pause = options.growing ? PAUSE_MS : 0;
  const args = ['-t1', `-c${count}`, `-d${seconds}s`, '--timeout', '30s', '-s', SCRIPT, subject.url];
  const env = {
    ...process.env,
    ...files,
    HEADERS: file,
    PAUSE: `${pause}`,
    RENEW: `${renew}`,
    BEGUN: `${Date.now()}`,
  };
  const child = spawn('wrk', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      const found = /^RESULT (.*)$/m.exec(out)?.[1];
      const measured = found === undefined ? undefined : (JSON.parse(found) as Measured);
      if (measured?.failed === 0) resolve(measured);
      else reject(new Error(`${subject.name} in mode ${mode}: ${out}`));
    });
  });
}

function tableName(): string {
  return options.growing ? 'growing' : 'again';
}

/**
 * A row for each body and proxy: over one connection, and requests per second over several, with
 * the slowest ones there.
 */
function tableOf(): Table {
  const several = connections.find((count) => count > 1);
  const single = rows.filter((row) => row.connections === 1 && row.subject !== 'bare');
  const cells = single.map((row): string[] => {
    const same = rows.filter(({ bytes, mode }) => bytes === row.bytes && mode === row.mode);
    const find = (subject: string, count: number | undefined) =>
      same.find((one) => one.subject === subject && one.connections === count);
    const bare = find('bare', 1);
    const both = [find('bare', several), find(row.subject, several)];
    const perSecond = both.map((one) => thousands(Math.round(one?.perSecond ?? 0))).join(' / ');
    const { low, median, high } = row.ratio;
    return [
      `${sizeOf(row.bytes)}, ${row.subject === 'precis' ? `\`${row.mode}\`` : row.subject}`,
      `${ms(bare?.p50 ?? Number.NaN)} / ${ms(row.p50)}`,
      `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`,
      `${ms(bare?.cpu ?? Number.NaN)} / ${ms(row.cpu)}`,
      ...(several === undefined ? [] : [perSecond, both[1]?.ratio.median.toFixed(2) ?? '–']),
      ...slowest(several === undefined ? [bare, row] : both),
    ];
  });
  const parallel = several === undefined ? [] : [`requests/s, ${several} at once`, 'ratio'];
  const slow = ['p99, bare / proxy', 'p99.9'];
  const head = ['body, proxy', 'ms, bare / proxy', 'ratio', 'CPU ms, bare / proxy', ...parallel, ...slow];
  return { head, rows: cells };
}

/** The quantiles of a bare Worker and a proxy, in milliseconds. */
function slowest(both: readonly (Row | undefined)[]): string[] {
  const of = (read: (row: Row) => number) => both.map((row) => (row ? ms(read(row)) : '–')).join(' / ');
  return [of(({ p99 }) => p99), of(({ p999 }) => p999)];
}

function print(): void {
  const head = [
    'bytes, mode, connections',
    'proxy',
    'p50 ms',
    'ratio',
    '95 %',
    'p99',
    'p99.9',
    'req/s',
    'CPU ms',
  ];
  printTable(
    head,
    rows.map(({ bytes, mode, connections, subject, p50, p99, p999, perSecond, cpu, ratio }) => [
      subject === 'bare' ? `${thousands(bytes)} ${mode} ${connections}` : '',
      subject,
      ms(p50),
      ratio.median.toFixed(2),
      `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
      ms(p99),
      ms(p999),
      thousands(Math.round(perSecond)),
      ms(cpu),
    ]),
  );
}
