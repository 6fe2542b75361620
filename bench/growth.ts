/**
 * How time and memory grow (`npm run bench:growth -- [--json]`):
 *
 * - one conversation of more and more small messages: time of its first request, and of one that
 *   continues it, per message
 * - a hundred conversations of 1 MB that take turns: the live heap of the isolate after each round,
 *   and after small requests of others when they have ended
 */
import { readCommandLine } from './command-line.ts';
import { bodyOf, makeConversation, nextStep } from './conversation.ts';
import { ms, printTable, quantile, thousands } from './figures.ts';
import { agent, ask } from './proxy/client.ts';
import { startPrecis } from './proxy/subjects.ts';
import { startUpstream } from './proxy/upstream.ts';

const LENGTHS = [1_000, 10_000, 20_000, 100_000];
const MODES = ['compact', 'auto'] as const;
const REPEATS = 5;

const CONVERSATIONS = 100;
const ROUNDS = 2;
const BYTES = 1_000_000;

const MEGABYTE = 1024 * 1024;
const PATH = '/v1/chat/completions';
const HEADERS = { authorization: 'Bearer sk-the-key-of-a-benchmark-0001' };

const { values: options } = readCommandLine('npm run bench:growth -- [--json]', {
  json: { type: 'boolean', default: false },
});

const upstream = await startUpstream();
const precis = await startPrecis(upstream.url);
try {
  const lengths = [];
  for (const mode of MODES) for (const messages of LENGTHS) lengths.push(await growLength(mode, messages));
  const heap = await takeTurns();
  if (options.json) console.log(JSON.stringify({ lengths, heap }, null, 2));
  else print(lengths, heap);
} finally {
  agent.destroy();
  await precis.close();
  await upstream.close();
}

/** Milliseconds of the first request, and the median of those that continue it. */
async function growLength(mode: (typeof MODES)[number], messages: number) {
  const bodies = Array.from({ length: REPEATS + 1 }, (_, more) => smallMessages(mode, messages + 2 * more));
  const times: number[] = [];
  for (const body of bodies) times.push((await ask(precis.url + PATH, HEADERS, body)).first);
  const [first = Number.NaN, ...next] = times;
  return { mode, messages, bytes: bodies[0]?.length ?? 0, first, next: quantile(next, 0.5) };
}

function smallMessages(mode: (typeof MODES)[number], length: number): Uint8Array {
  const messages = Array.from({ length }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `Message ${at} of the ${mode} conversation says little.`,
  }));
  const body = { model: 'gpt-4.1', messages, memory_strategy: { mode, token_budget: 8_000 } };
  return Buffer.from(JSON.stringify(body));
}

/** Bytes of the live heap: at the start, after each round, and after the requests of others. */
async function takeTurns(): Promise<number[]> {
  const fields = { memory_strategy: { mode: 'auto', token_budget: 50_000 } };
  const heap = [(await precis.memory()).heap];
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < CONVERSATIONS; at++) {
      const steps = Array.from({ length: round }, (_, step) => nextStep(2_000, 1_000 * at + step)).flat();
      await ask(precis.url + PATH, HEADERS, bodyOf(makeConversation(BYTES, 10_000 + at), steps, fields));
    }
    heap.push((await precis.memory()).heap);
  }
  return heap;
}

function print(lengths: Awaited<ReturnType<typeof growLength>>[], heap: readonly number[]): void {
  printTable(
    ['mode', 'messages', 'kB', 'first', 'µs a message', 'continued', 'µs a message'],
    lengths.map(({ mode, messages, bytes, first, next }) => [
      mode,
      thousands(messages),
      thousands(Math.round(bytes / 1000)),
      ms(first),
      ((1000 * first) / messages).toFixed(1),
      ms(next),
      ((1000 * next) / messages).toFixed(1),
    ]),
  );
  console.log(`\nLive heap in MB, with ${CONVERSATIONS} conversations of 1 MB in turn, in mode auto:`);
  printTable(
    ['start', ...Array.from({ length: ROUNDS }, (_, round) => `round ${round + 1}`)],
    [heap.map((bytes) => (bytes / MEGABYTE).toFixed(1))],
  );
}
