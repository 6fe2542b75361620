/**
 * The cost of a view: from the bytes of a body to the bytes that go upstream, compared with
 * `JSON.parse` + `JSON.stringify` of the same text (`npm run bench:plan -- [bytes] [--runs N]
 * [--json]`).
 *
 * Each round measures every case once, so that disturbances affect all of them alike. Agents send
 * their conversation again and again, so an editing strategy is measured in three states of a warm
 * isolate:
 *
 * - known: the same body as before; all counts are cached.
 * - one step more: the body before, with a new call and its output at the end. The usual case.
 * - new: a new conversation in each run; everything is counted. It is also compared with
 *   gpt-tokenizer's own `countTokens` over the texts of the same messages.
 */

import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { loadTokenize } from '../src/memory/tokens/tokens.ts';
import { readChatRequest } from '../src/protocol/chat/request.ts';
import { levels } from '../src/protocol/json/outline.ts';
import { scanJson } from '../src/protocol/json/spans.ts';
import type { ColdCase, ColdTimes } from './cold-start.ts';
import { readCommandLine, readPositive } from './command-line.ts';
import { bodyOf, DEFAULT_BYTES, makeConversation, nextStep } from './conversation.ts';
import { ms, printTable, quantile, summarize, thousands, times } from './figures.ts';
import { createIsolate, strategyOf, viewBytes } from './pipeline.ts';
import { NONE, STRATEGIES } from './strategies.ts';

const WARM_UP = 10;
const COLD_RUNS = 5;

/** Characters of the output in the extra step. */
const STEP_OUTPUT = 4_000;

/** Of the conversations that are new. */
const FIRST_NEW_SEED = 1_000_000;

/** Spans that the scan keeps: the body's fields, the messages, and their fields. */
const OUTLINE = levels(3);

/** The expected maximum for a conversation that the isolate knows. */
const EXPECTED_RATIO = 3;

interface Case {
  readonly name: string;
  readonly seen: '' | 'known' | 'one step more' | 'new';
  /** Prepares the work to measure; the preparation is not measured. */
  prepare(run: number): () => unknown;
}

const { values: options, positionals } = readCommandLine(
  'npm run bench:plan -- [bytes] [--runs N] [--json]',
  { json: { type: 'boolean', default: false }, runs: { type: 'string', default: '60' } },
  true,
);
const bytes = readPositive('bytes', positionals[0] ?? `${DEFAULT_BYTES}`);
const runs = readPositive('--runs', options.runs);

const tokenize = await loadTokenize('o200k_base');
const conversation = makeConversation(bytes);
const body = bodyOf(conversation);
const text = Buffer.from(body).toString();

const COUNTING = 'countTokens of gpt-tokenizer';
const warm = measureWarm([...plainCases(), countingCase(), ...editingCases()]);
const base = warm[0]?.median ?? Number.NaN;
const cold = (['json', 'none', 'compact'] as const).map(measureCold);
if (options.json) console.log(JSON.stringify(report(), null, 2));
else print();

function plainCases(): Case[] {
  const none = strategyOf(NONE);
  const works = {
    'JSON.parse + JSON.stringify': () => JSON.stringify(JSON.parse(text)),
    'scan alone': () => scanJson(body, OUTLINE),
    'none: read and write': () => viewBytes(body, none, undefined),
  };
  return Object.entries(works).map(([name, work]) => ({ name, seen: '', prepare: () => work }));
}

function countingCase(): Case {
  return {
    name: COUNTING,
    seen: 'new',
    prepare: (run) => {
      const texts = textsOf(newBody(run));
      return () => texts.reduce((tokens, one) => tokens + countTokens(one), 0);
    },
  };
}

/** A conversation that no earlier run has seen. */
function newBody(run: number): Uint8Array {
  return bodyOf(makeConversation(bytes, FIRST_NEW_SEED + run));
}

/** All that a plan counts of the messages. */
function textsOf(body: Uint8Array): string[] {
  const read = readChatRequest(body);
  if (!read.ok) throw new Error(read.reason.message);
  return read.value.messages.flatMap((message) => [
    ...message.content().weight.texts,
    ...message.otherTexts(),
  ]);
}

function editingCases(): Case[] {
  return Object.entries(STRATEGIES).flatMap(([name, input], index): Case[] => {
    const strategy = strategyOf(input);
    const isolate = createIsolate(tokenize);
    const seed = (run: number) => 1_000_000 * (index + 1) + run;
    return [
      { name, seen: 'known', prepare: () => () => viewBytes(body, strategy, isolate) },
      {
        name,
        seen: 'one step more',
        prepare: (run) => {
          const longer = bodyOf(conversation, nextStep(STEP_OUTPUT, seed(run)));
          return () => viewBytes(longer, strategy, isolate);
        },
      },
      {
        name,
        seen: 'new',
        prepare: (run) => {
          const other = newBody(run);
          const fresh = createIsolate(tokenize);
          return () => viewBytes(other, strategy, fresh);
        },
      },
    ];
  });
}

function measureWarm(cases: readonly Case[]) {
  const spent = cases.map((): number[] => []);
  for (let run = 0; run < WARM_UP + runs; run++) {
    for (const [index, { prepare }] of cases.entries()) {
      const work = prepare(run);
      const start = performance.now();
      work();
      const took = performance.now() - start;
      if (run >= WARM_UP) spent[index]?.push(took);
    }
  }
  const counting = spent[cases.findIndex(({ name }) => name === COUNTING)] ?? [];
  return cases.map(({ name, seen }, index) => {
    const own = spent[index] ?? [];
    const ratios = own.map((took, round) => took / (counting[round] ?? Number.NaN));
    return {
      name,
      seen,
      ...summarize(own),
      ...(seen === 'new' ? { toCounting: quantile(ratios, 0.5) } : {}),
    };
  });
}

/** The first run in a fresh process, repeated in several processes. */
function measureCold(name: ColdCase) {
  const script = join(import.meta.dirname, 'cold-start.ts');
  const measured = Array.from({ length: COLD_RUNS }, (): ColdTimes => {
    const { status, stdout } = spawnSync(process.execPath, [script, name], {
      input: body,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`cold start '${name}' has failed`);
    return JSON.parse(stdout.toString());
  });
  const loads = measured.flatMap(({ tokenizer }) => tokenizer ?? []);
  return {
    name,
    first: quantile(
      measured.map(({ first }) => first),
      0.5,
    ),
    ...(loads.length > 0 ? { tokenizer: quantile(loads, 0.5) } : {}),
  };
}

function report() {
  const ratios = warm.map((row) => ({ ...row, ratio: row.median / base }));
  return { ...subject(), milliseconds: { warm: ratios, cold }, views: viewSizes() };
}

function subject() {
  return {
    bytes: body.length,
    messages: conversation.messages.length,
    tokens: tokenize(text),
    runs,
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
  };
}

/** Bytes that go upstream, by strategy. */
function viewSizes(): Record<string, number> {
  const sizes = Object.entries(STRATEGIES).map(([name, input]) => [
    name,
    viewBytes(body, strategyOf(input), createIsolate(tokenize)).length,
  ]);
  return Object.fromEntries(sizes);
}

function print(): void {
  const { bytes, messages, tokens, node, cpu } = subject();
  console.log(
    `A body of ${thousands(bytes)} bytes: ${messages} messages, about ${thousands(tokens)} tokens.`,
  );
  console.log(`Node ${node}, ${cpu}. Milliseconds over ${runs} runs each.\n`);

  const sizes = viewSizes();
  printTable(
    ['warm process', 'conversation', 'median', 'p95', 'to JSON', 'to counting', 'bytes sent up'],
    warm.map(({ name, seen, median, p95, toCounting }) => [
      name,
      seen,
      ms(median),
      ms(p95),
      times(median / base),
      toCounting === undefined ? '' : times(toCounting),
      seen === 'known' ? thousands(sizes[name] ?? 0) : '',
    ]),
  );
  console.log(`
known          the same body as before: every count is remembered
one step more  with a new call and its output of ${thousands(STEP_OUTPUT)} characters at the end
new            no message was seen before: all are counted
to counting    the time that gpt-tokenizer's countTokens needs for the same texts, by rounds
Expected of known and of one step more: at most ${times(EXPECTED_RATIO)} JSON.\n`);

  const names = {
    json: 'JSON.parse + JSON.stringify',
    none: 'none: read and write',
    compact: 'compact, 32k, without the tokenizer',
  };
  const tokenizer = cold.find(({ name }) => name === 'compact')?.tokenizer ?? Number.NaN;
  printTable(
    [`first time in a process (median of ${COLD_RUNS})`, 'ms'],
    [
      ...cold.map(({ name, first }) => [names[name], ms(first)]),
      ['tokenizer o200k_base: load its tables, count a word', ms(tokenizer)],
    ],
  );
}
