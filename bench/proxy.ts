/**
 * What Precis adds to a request, against a bare Worker that only forwards, measured in the same
 * run: the time from the first byte of the request to the first byte of the answer's body, of a
 * stream to its first text delta (`npm run bench:proxy -- [--runs N] [--json]`).
 *
 * Client and upstream live in this process, both Workers run by `wrangler dev`, which has a proxy
 * of its own before each: what counts is the difference to the bare Worker, not the time as such.
 * Routes take turns request by request, in another order in each round: what one leaves in the
 * background is felt by the next. Each request is the next one of its conversation: it ends with a
 * step that nobody has seen.
 */
import { Agent, type IncomingHttpHeaders, request as send } from 'node:http';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { MemoryStrategyRequest } from '../src/memory/strategy/strategy.ts';
import { startWorker } from '../tools/worker-server.ts';
import { bodyOf, makeConversation, nextStep } from './conversation.ts';
import { medianInterval, ms, printTable, summarize, thousands } from './figures.ts';
import { Random } from './random.ts';
import { FIRST_TEXT, RECEIVED_HEADER, startUpstream } from './upstream.ts';

const SIZES = [2_000, 100_000, 1_000_000];
const KINDS = ['json', 'stream'] as const;
const MOST_RUNS = 100;
const WARM_UP = 10;

const KEY = 'sk-the-key-of-a-benchmark-0001';
const CHAT = '/v1/chat/completions';
const BARE = 'bare Worker';
const WITHOUT_TOOL = 'Precis, compact over budget, refs';
const WITH_TOOL = 'Precis, the same, the model may fetch';

/**
 * Tokens by byte: half of that is more than any of the bodies has, a twentieth is a fraction of
 * what it has.
 */
const UNDER = 1 / 2;
const OVER = 1 / 20;

/** Tokens of a body of which no part is worth a summary. */
const TOO_FEW = 1_000;

type Kind = (typeof KINDS)[number];

interface Route {
  readonly name: string;
  readonly url: string;
  strategy?(bytes: number): MemoryStrategyRequest;
  /** What the headers of the answer must say for this to be what its name says. */
  holds?(headers: IncomingHttpHeaders): boolean;
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly milliseconds: number;
}

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: `${MOST_RUNS}` },
  },
});
const runs = Math.min(Number(options.runs), MOST_RUNS);
const agent = new Agent({ keepAlive: true });

const upstream = await startUpstream();
const [bare, precis] = await Promise.all([
  startWorker({ entry: 'bench/bare-worker.ts', vars: { BARE_UPSTREAM: upstream.url } }),
  startWorker({
    vars: { PRECIS_SECRET: 'the secret of the benchmarks', UPSTREAM_BASE_URL: `${upstream.url}/v1` },
  }),
]);
try {
  const routes = routesTo(upstream.url, bare.url, precis.url);
  const cells = [];
  for (const bytes of SIZES) for (const kind of KINDS) cells.push(...(await measure(routes, bytes, kind)));
  if (options.json) console.log(JSON.stringify({ ...subject(), milliseconds: cells }, null, 2));
  else print(cells);
} finally {
  agent.destroy();
  await Promise.all([bare.close(), precis.close()]);
  await upstream.close();
}

function routesTo(direct: string, forwarding: string, proxy: string): Route[] {
  const applied = (headers: IncomingHttpHeaders) => headers['x-memory-applied'];
  const namesRefs = (headers: IncomingHttpHeaders) =>
    applied(headers) !== 'none' &&
    Number(headers['x-memory-refs']) > 0 &&
    !headers['x-memory-warning']?.includes('store_failed');
  return [
    { name: 'upstream, direct', url: direct + CHAT },
    { name: BARE, url: forwarding + CHAT },
    { name: 'Precis, another path', url: `${proxy}/v1/moderations` },
    {
      name: 'Precis, none',
      url: proxy + CHAT,
      holds: (headers) => headers['x-memory-mode'] === 'none',
    },
    {
      name: 'Precis, compact under budget',
      url: proxy + CHAT,
      strategy: (bytes) => ({ mode: 'compact', token_budget: bytes * UNDER }),
      holds: (headers) => applied(headers) === 'none' && headers['x-memory-tokens-before'] !== undefined,
    },
    {
      name: 'Precis, compact over budget, no refs',
      url: proxy + CHAT,
      strategy: (bytes) => ({ ...overBudget(bytes), compact_offload: false }),
      holds: (headers) => applied(headers) !== 'none',
    },
    {
      name: WITHOUT_TOOL,
      url: proxy + CHAT,
      strategy: overBudget,
      holds: namesRefs,
    },
    {
      name: WITH_TOOL,
      url: proxy + CHAT,
      strategy: (bytes) => ({ ...overBudget(bytes), compact_retrieval: 'tool' }),
      holds: namesRefs,
    },
    {
      // What this upstream answers is no summary: the digest is kept, and found by every later
      // request as a summary would be.
      name: 'Precis, summarize over budget, known text',
      url: proxy + CHAT,
      strategy: (bytes) => ({ mode: 'summarize', token_budget: bytes * OVER }),
      holds: (headers) =>
        !headers['x-memory-warning']?.includes('store_failed') &&
        (applied(headers) === 'summarize' || Number(headers['x-memory-tokens-before']) < TOO_FEW),
    },
  ];
}

function overBudget(bytes: number): MemoryStrategyRequest & { mode: 'compact' } {
  return { mode: 'compact', token_budget: bytes * OVER, compact_keep_steps: 1 };
}

/** All routes with bodies of one size, in rounds. */
async function measure(routes: readonly Route[], bytes: number, kind: Kind) {
  const conversation = makeConversation(bytes);
  const fields = kind === 'stream' ? { stream: true } : {};
  const spent = routes.map((): number[] => []);
  const sent = routes.map(() => 0);
  const random = new Random(bytes);
  for (let round = 0; round < WARM_UP + runs; round++) {
    for (const index of random.shuffle([...routes.keys()])) {
      const route = routes[index];
      if (!route) continue;
      const more = nextStep(
        Math.min(4_000, bytes / 10),
        KINDS.indexOf(kind) * 1_000 + round * routes.length + index,
      );
      const answer = await ask(route, bodyOf(conversation, more, fields), bytes);
      if (round < WARM_UP) continue;
      if (route.holds?.(answer.headers) === false)
        throw new Error(`${route.name}, ${bytes} bytes: it did not. ${JSON.stringify(answer.headers)}`);
      spent[index]?.push(answer.milliseconds);
      sent[index] = Number(answer.headers[RECEIVED_HEADER]);
    }
  }
  const timesTo = (route: string): number[] => spent[routes.findIndex(({ name }) => name === route)] ?? [];
  // By round: what the machine did meanwhile is the same for both.
  const over = (times: readonly number[], base: string): number[] =>
    times.map((time, round) => time - (timesTo(base)[round] ?? Number.NaN));
  return routes.map(({ name }, index) => {
    const times = spent[index] ?? [];
    const overBare = summarize(over(times, BARE)).median;
    const more = name === WITH_TOOL ? { overWithoutTool: medianInterval(over(times, WITHOUT_TOOL)) } : {};
    return { bytes, kind, route: name, ...summarize(times), overBare, ...more, received: sent[index] };
  });
}

function ask({ url, strategy }: Route, body: Uint8Array, bytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const memory = strategy?.(bytes);
    const start = performance.now();
    const request = send(url, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/json',
        'content-length': body.length,
        ...(memory ? { 'x-memory-strategy': JSON.stringify(memory) } : {}),
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      let milliseconds = 0;
      let read = '';
      const isStream = response.headers['content-type']?.startsWith('text/event-stream');
      response.on('data', (chunk: Buffer) => {
        if (milliseconds > 0) return;
        if (isStream) read += chunk.toString();
        if (!isStream || read.includes(FIRST_TEXT)) milliseconds = performance.now() - start;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ headers: response.headers, milliseconds });
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    });
    request.end(body);
  });
}

function subject() {
  return { runs, node: process.version, cpu: cpus()[0]?.model ?? 'unknown' };
}

function print(cells: Awaited<ReturnType<typeof measure>>): void {
  const { node, cpu } = subject();
  console.log(
    `Milliseconds to the first byte, of a stream to its first text, over ${runs} requests each. Node ${node}, ${cpu}.`,
  );
  for (const bytes of SIZES) {
    console.log(`\nBodies of ${thousands(bytes)} bytes and one step more`);
    const rows = cells.filter((cell) => cell.bytes === bytes && cell.kind === 'json');
    printTable(
      ['', 'JSON', 'p95', 'over bare', 'SSE', 'p95', 'over bare', 'bytes up'],
      rows.map((row) => {
        const streamed = cells.find(
          (cell) => cell.bytes === bytes && cell.kind === 'stream' && cell.route === row.route,
        );
        return [row.route, ...timesOf(row), ...timesOf(streamed ?? row), thousands(row.received ?? 0)];
      }),
    );
  }
  console.log('\nFirst text of a stream, with the tool over without it, in the same rounds:');
  for (const { bytes, kind, overWithoutTool } of cells)
    if (kind === 'stream' && overWithoutTool) {
      const { median, low, high } = overWithoutTool;
      console.log(`${thousands(bytes)} bytes: ${ms(median)} ms (95 %: ${ms(low)} to ${ms(high)})`);
    }
  console.log(`
JSON, SSE: medians, without and with stream: true.
over bare: median of the differences to the bare Worker in the same round.
bytes up:  of the last body, as the upstream got it.
refs:      those that the view names are written already. The last step's output is written ahead
           in the background, by wrangler's local R2 on the same machine.`);
}

function timesOf(cell: { route: string; median: number; p95: number; overBare: number }): string[] {
  return [ms(cell.median), ms(cell.p95), cell.route === BARE ? '' : ms(cell.overBare)];
}
