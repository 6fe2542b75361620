/**
 * The costs and benefits of policies (`npm run bench:replay -- --help`; docs/benchmark.md).
 * Conversations are replayed request by request under Precis' strategies and under the policies of
 * other tools. For each: how much is sent, what it costs with an upstream that caches prompts, and
 * whether a value that the agent needs again much later is still in its view, or can be fetched.
 *
 * The conversations are those in the transcripts (see `tracesIn`), else those under TRACES_DIR, or
 * generated ones without it. A value that the agent needs again and that only a ref leads to is
 * billed as one more round (see `replay/fetches.ts`).
 */
import { writeFileSync } from 'node:fs';
import type { RelativePrices } from '../src/memory/models/schedules.ts';
import type { ModelTerms } from '../src/memory/models/terms.ts';
import { loadTokenize } from '../src/memory/tokens/tokens.ts';
import { orRefuse, readCommandLine } from './command-line.ts';
import { createIsolate } from './pipeline.ts';
import { BUDGETS, budgetFigures, printBudgets } from './replay/budgets.ts';
import { compare } from './replay/compare.ts';
import type { ChatJson } from './replay/conversation.ts';
import { findReuse } from './replay/find-reuse.ts';
import { makeTraces } from './replay/generator.ts';
import { byLength } from './replay/lengths.ts';
import { loadPolicy } from './replay/load-policy.ts';
import { PEER_PACKAGES, publishedPeers } from './replay/peers/published/packages.ts';
import { drawPicture } from './replay/picture.ts';
import { type Policies, policiesOf } from './replay/policies.ts';
import type { Policy } from './replay/policy.ts';
import { boundTermsOf, printReasoning, reasoningFigures } from './replay/reasoning.ts';
import { type DataSet, figuresOf, together } from './replay/results.ts';
import {
  type Run,
  writeBudgets,
  writeReasoning,
  writeResults,
  writeReturns,
  writeSensitivity,
  writeWindows,
} from './replay/results-file.ts';
import { printReturns, returnFigures } from './replay/returns.ts';
import { readCached, readSchedule, SCHEDULES, termsOfSchedule, termsWith } from './replay/schedules.ts';
import { printSensitivity, sensitivityOf } from './replay/sensitivity.ts';
import { printConstraints, printFigures, printLegend, printLengths } from './replay/table.ts';
import { printWindows, windowFigures } from './replay/windows.ts';
import { type ReuseTrace, readTraces, tracesIn } from './reuse.ts';

const { values: options } = readCommandLine(
  `npm run bench:replay -- [option]…

  --transcripts FILE  conversations of yours: JSON Lines, each an object with messages in the format
                      of chat completions, and optional tools and reuse; may be compressed (.gz)
  --strategy JSON     a strategy, or the name of a mode, in place of the usual settings
  --policy FILE       a module whose default export is a policy (docs/benchmark.md)
  --peers             adds the published code of other tools, which npm installs on demand
  --schedule NAME     how the cache is billed: ${SCHEDULES.join(', ')} (the first)
  --cached PRICE      of cached input, relative to fresh input, in place of the schedule's
  --sensitivity       varies the prices of the schedule
  --budgets           varies the budget of auto, and the price of cached input
  --windows           varies where auto begins without a budget, and the prices
  --pauses            bills requests after pauses, with and without moves at cold returns
  --reasoning         the reasoning that moves lose, for schedules whose models bind it
  --json              prints JSON
  --svg FILE          draws a picture
  --results FOLDER    writes the figures into files

--transcripts, --strategy and --policy may be repeated. Without --transcripts the conversations are
those in the folder that TRACES_DIR names, or else generated ones.`,
  {
    json: { type: 'boolean', default: false },
    svg: { type: 'string' },
    results: { type: 'string' },
    schedule: { type: 'string', default: 'prefix-128' },
    cached: { type: 'string' },
    sensitivity: { type: 'boolean', default: false },
    budgets: { type: 'boolean', default: false },
    windows: { type: 'boolean', default: false },
    pauses: { type: 'boolean', default: false },
    reasoning: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    policy: { type: 'string', multiple: true, default: [] },
    strategy: { type: 'string', multiple: true, default: [] },
    transcripts: { type: 'string', multiple: true, default: [] },
  },
);
/** Settings of `auto` beside the first, which differ little under other prices. */
const VARIANT = /^auto, (?!32k$)/;

const schedule = await orRefuse(() => readSchedule(options.schedule));
const isolate = createIsolate(await loadTokenize('o200k_base'));
const cached = await orRefuse(() => readCached(options.cached));
const prices = { ...termsOfSchedule(schedule).prices, ...cached };
const published = options.peers ? await peers() : [];
const more = [...published, ...(await orRefuse(() => Promise.all(options.policy.map(loadPolicy))))];

const own = (await orRefuse(() => options.transcripts.flatMap(tracesIn))).map(withReuse);
const recorded = own.length > 0 ? own : readTraces();
if (!recorded && process.env.TRACES_DIR !== undefined) {
  console.error('TRACES_DIR is not a directory of recorded conversations.');
  process.exit(2);
}
const all = recorded ?? makeTraces();
const source = recorded ? 'recorded' : 'generated';
const run: Run = {
  source,
  schedule,
  prices,
  packages: published.length > 0 ? PEER_PACKAGES : {},
  traces: Map.groupBy(all, ({ file }) => file),
};

const { skipped } = await orRefuse(() => policies());
for (const sentence of skipped) console.error(sentence);
if (!options.json) console.log(`The conversations are ${source}, and billed by ${schedule}.\n`);
if (options.pauses) await showPauses();
else if (options.reasoning) await showReasoning();
else if (options.windows) await showWindows();
else await (options.budgets ? showBudgets() : options.sensitivity ? showSensitivity() : showFigures());

async function showFigures(): Promise<void> {
  const sets: DataSet[] = [];
  for (const [name, traces] of run.traces)
    sets.push(await compare(name, traces, policies(), prices, isolate.counter));
  const figures = sets.map(figuresOf);
  const lengths = byLength(together(sets)).map(figuresOf);
  const total = figuresOf(together(sets));
  if (options.json)
    console.log(JSON.stringify({ source, schedule, dataSets: figures, lengths, total }, null, 2));
  else {
    for (const set of [...figures, total]) printFigures(set);
    printLengths(lengths);
    printConstraints(total);
    printLegend();
  }
  if (options.svg !== undefined) writeFileSync(options.svg, drawPicture(total));
  if (options.results !== undefined) writeResults(options.results, run, figures, lengths, total);
}

async function showSensitivity(): Promise<void> {
  const rows = await sensitivityOf(all, prices, withoutVariants, isolate.counter);
  if (options.json) console.log(JSON.stringify({ source, schedule, policies: rows }, null, 2));
  else printSensitivity(rows);
  if (options.results !== undefined) writeSensitivity(options.results, run, rows);

  function withoutVariants(priced: RelativePrices): Policies {
    const { others, ...rest } = policies(termsWith(priced));
    return { ...rest, others: others.filter(({ name }) => !VARIANT.test(name)) };
  }
}

async function showBudgets(): Promise<void> {
  const strategies = BUDGETS.map((token_budget) =>
    JSON.stringify({ mode: 'auto', token_budget, compact_retrieval: 'tool' }),
  );
  const found = await budgetFigures(
    run.traces,
    prices,
    (priced) => ownPolicies(priced, strategies),
    isolate.counter,
  );
  if (options.json) console.log(JSON.stringify({ source, schedule, ...found }, null, 2));
  else printBudgets(found);
  if (options.results !== undefined) writeBudgets(options.results, run, found);
}

async function showWindows(): Promise<void> {
  const found = await windowFigures(run.traces, prices, ownPolicies, isolate.counter);
  if (options.json) console.log(JSON.stringify({ source, schedule, windows: found }, null, 2));
  else printWindows(found);
  if (options.results !== undefined) writeWindows(options.results, run, found);
}

/** None, and these strategies alone. */
function ownPolicies(priced: RelativePrices, strategies: readonly string[]): Policies {
  const { others, ...rest } = policiesOf(isolate, termsWith(priced), strategies);
  return { ...rest, others: others.filter(({ maker }) => maker === 'precis') };
}

async function showPauses(): Promise<void> {
  const terms = termsOfSchedule(schedule);
  const strategy = { mode: 'auto', token_budget: 32_000 };
  const found = await returnFigures(run.traces, strategy, policies(), terms, isolate);
  if (options.json) console.log(JSON.stringify({ source, schedule, returns: found }, null, 2));
  else printReturns(found);
  if (options.results !== undefined) writeReturns(options.results, run, found);
}

async function showReasoning(): Promise<void> {
  await orRefuse(() => boundTermsOf(schedule));
  const found = await reasoningFigures(run.traces, policies().none, schedule, isolate);
  if (options.json) console.log(JSON.stringify({ source, schedule, reasoning: found }, null, 2));
  else printReasoning(found);
  if (options.results !== undefined) writeReasoning(options.results, run, found);
}

function policies(terms: ModelTerms = termsWith(prices)): Policies {
  return policiesOf(isolate, terms, options.strategy, more);
}

async function peers(): Promise<Policy[]> {
  return publishedPeers().catch((error: Error) => {
    console.error(`Without the published code of other tools: ${error.message}`);
    return [];
  });
}

/** A transcript with the values that its agent needed again: those it lists, or the ones found. */
function withReuse(trace: ReuseTrace): ReuseTrace {
  return trace.reuse.length > 0 ? trace : { ...trace, reuse: findReuse(trace.messages as ChatJson[]) };
}
