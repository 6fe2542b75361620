/**
 * The costs and benefits of policies (`npm run bench:replay -- [--json] [--svg FILE]
 * [--schedule NAME] [--strategy JSON]… [--transcripts FILE]…`).
 * Conversations are replayed request by request under Precis' strategies and under the policies of
 * other tools. For each: how much is sent, what it costs with an upstream that caches prompts, and
 * whether a value that the agent needs again much later is still in its view, or can be fetched.
 *
 * `--schedule` is how a vendor bills its cache: `prefix-128` (OpenAI before GPT-5.6), `gpt-5.6` or
 * `anthropic-5m`. Plans are made for it, too.
 *
 * The conversations are those in the transcripts (see `tracesIn`), else those under TRACES_DIR, or
 * generated ones without it. A value that the agent needs again and that only a ref leads to is
 * billed as one more round (see `replay/fetches.ts`).
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadTokenize } from '../src/memory/tokens/tokens.ts';
import { createIsolate } from './pipeline.ts';
import { compare } from './replay/compare.ts';
import type { ChatJson } from './replay/conversation.ts';
import { findReuse } from './replay/find-reuse.ts';
import { makeTraces } from './replay/generator.ts';
import { byLength } from './replay/lengths.ts';
import { drawPicture } from './replay/picture.ts';
import { policiesOf } from './replay/policies.ts';
import { type DataSet, figuresOf, together } from './replay/results.ts';
import { termsOfSchedule } from './replay/schedules.ts';
import { printConstraints, printFigures, printLegend, printLengths } from './replay/table.ts';
import { type ReuseTrace, readTraces, tracesIn } from './reuse.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    svg: { type: 'string' },
    schedule: { type: 'string', default: 'prefix-128' },
    strategy: { type: 'string', multiple: true, default: [] },
    transcripts: { type: 'string', multiple: true, default: [] },
  },
});
const isolate = createIsolate(await loadTokenize('o200k_base'));
const terms = termsOfSchedule(options.schedule);
const policies = policiesOf(isolate, terms, options.strategy);

const own = options.transcripts.flatMap(tracesIn).map(withReuse);
const recorded = own.length > 0 ? own : readTraces();
if (!recorded && process.env.TRACES_DIR !== undefined) {
  console.error('TRACES_DIR is not a directory of recorded conversations.');
  process.exit(1);
}
const source = recorded ? 'recorded' : 'generated';
const files = Map.groupBy(recorded ?? makeTraces(), ({ file }) => file);
const dataSets: DataSet[] = [];
for (const [name, traces] of files)
  dataSets.push(await compare(name, traces, policies, terms.prices, isolate.counter));
const figures = dataSets.map(figuresOf);
const all = together(dataSets);
const total = figuresOf(all);
const lengths = byLength(all).map(figuresOf);

for (const sentence of policies.skipped) console.error(sentence);
if (options.json)
  console.log(
    JSON.stringify({ source, schedule: options.schedule, dataSets: figures, lengths, total }, null, 2),
  );
else {
  console.log(`The conversations are ${source}, and billed by ${options.schedule}.\n`);
  for (const set of [...figures, total]) printFigures(set);
  printLengths(lengths);
  printConstraints(total);
  printLegend();
}
if (options.svg !== undefined) writeFileSync(options.svg, drawPicture(total));

/** A transcript with the values that its agent needed again: those it lists, or the ones found. */
function withReuse(trace: ReuseTrace): ReuseTrace {
  return trace.reuse.length > 0 ? trace : { ...trace, reuse: findReuse(trace.messages as ChatJson[]) };
}
