/**
 * `precis replay <file>`: what a strategy would have saved of the requests in a log, planned by a
 * Precis on this machine, or by a deployment. Nothing is stored, and no model is asked.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { addressOf, printable, takesKeys } from '../bin/said.js';
import { type Course, courseSums } from '../inspector/read/course.ts';
import { type Recorded, readRecorded } from '../inspector/read/recorded.ts';
import { startWorker } from './own-worker.ts';
import { longestArrays } from './replay/conversations.ts';
import { type Replayed, wordsOf } from './replay/words.ts';

const USAGE = `usage: precis replay <file> [--budget <tokens>] [--strategy <JSON>] [--model <name>] [--all]
                     [--url <deployment>]

The file has bodies of requests, or messages, as JSON or JSONL: logs of your own, batches of OpenAI,
and exports of LiteLLM, Langfuse and OpenRouter.

  --budget    the token_budget of auto: 32000
  --strategy  a memory_strategy instead of auto
  --model     the model, for arrays that name none, or one without a known price
  --all       lists all conversations
  --url       a deployment that plans, with OPENAI_API_KEY; otherwise a Precis on this machine does`;

/** Only plans are made, so nobody is asked about it. */
const LOCAL_KEY = 'sk-replay-of-a-log-without-a-caller';

const options = readOptions();
if (options.url !== undefined) await checkAsksForKeys(options.url);
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1));
await main().catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));

async function main(): Promise<void> {
  const reading = readRecorded(await readFile(options.file, 'utf8'), Number.POSITIVE_INFINITY);
  if (!reading.ok) return fail(printable(`${options.file}: ${reading.message}`));
  const arrays = longestArrays(reading.found);
  const worker =
    options.url === undefined
      ? await startWorker({ PRECIS_SECRET: 'a-secret-for-plans-alone', VERIFY_KEYS: 'false' })
      : undefined;
  try {
    const base = worker?.url ?? options.url ?? '';
    const replayed: Replayed[] = [];
    const skipped: string[] = [];
    for (const array of arrays) {
      const result = await explained(base, worker ? LOCAL_KEY : options.key, array);
      if (typeof result === 'string') skipped.push(`${array.name} (${result})`);
      else replayed.push(replayedOf(array, result));
    }
    if (replayed.length === 0) return fail(printable(`Nothing could be planned: ${skipped.join('; ')}`));
    const { all, budget } = options;
    console.log(wordsOf(printable(replayed), options.words, { all, budget, skipped: printable(skipped) }));
  } finally {
    await worker?.close();
  }
}

function replayedOf({ name, model }: Recorded, course: Course): Replayed {
  return {
    ...courseSums(course),
    name,
    model: options.model ?? model,
    largest: Math.max(...course.map(({ before }) => before)),
    isShortened: course.some(({ before, after }) => after < before),
  };
}

/** The requests of a conversation under the strategy, or why they can't be planned. */
async function explained(base: string, key: string, array: Recorded): Promise<Course | string> {
  const { field, messages, system, tools, model } = array;
  const answer = await fetch(`${base}/v1/explain`, {
    redirect: 'manual',
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      // By it the route knows whose messages these are.
      ...(system ? { 'anthropic-version': '2023-06-01' } : {}),
    },
    body: JSON.stringify({
      [field]: messages,
      ...(system && { system }),
      ...(tools && { tools }),
      model: options.model ?? model,
      memory_strategy: options.strategy,
      course: true,
    }),
  });
  const said: unknown = await answer.json().catch(() => undefined);
  const { course, error } = (said ?? {}) as { course?: Course; error?: { message: string } };
  return course ?? error?.message ?? `status ${answer.status}`;
}

function readOptions() {
  const { values, positionals } = parse();
  const [file, ...others] = positionals;
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (file === undefined || others.length > 0) return fail(USAGE);
  if (!/^[1-9]\d*$/.test(values.budget)) return fail(`--budget takes a number of tokens.\n\n${USAGE}`);
  const budget = Number(values.budget);
  const key = process.env.OPENAI_API_KEY ?? '';
  if (values.url !== undefined && key === '') return fail('OPENAI_API_KEY is not set.');
  return {
    file,
    key,
    url: values.url === undefined ? undefined : addressOf(values.url),
    model: values.model,
    all: values.all,
    budget: values.strategy === undefined ? budget : undefined,
    strategy:
      values.strategy === undefined ? { mode: 'auto', token_budget: budget } : strategyOf(values.strategy),
    words: values.strategy ?? `auto with a budget of ${budget.toLocaleString('en-US')} tokens`,
  };
}

function strategyOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return fail(`--strategy takes JSON, such as '{"mode": "compact"}'.\n\n${USAGE}`);
  }
}

/** The key and the log go to a Precis alone. */
async function checkAsksForKeys(url: string): Promise<void> {
  const answer = await fetch(`${url}/v1/deployment`, { redirect: 'manual' }).catch(() => undefined);
  if (answer && takesKeys(answer.status, await answer.json().catch(() => undefined))) return;
  fail(`${url}: nothing is sent, since no Precis asks for a key there.`);
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        budget: { type: 'string', default: '32000' },
        strategy: { type: 'string' },
        model: { type: 'string' },
        all: { type: 'boolean', default: false },
        url: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
