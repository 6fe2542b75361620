/**
 * How much of a conversation survives five roll-ups (`npm run bench:rollups -- [--json]`). Of the
 * values that the agent wrote again after a long time (`reuse` in the recordings under TRACES_DIR),
 * how many are in the view when they are needed, and how many can be fetched by a ref in it?
 *
 * Each conversation is replayed request by request through the planner. The summaries are
 * extractive digests, each on top of the previous one, as in a deployment without any model.
 */

import { readHistory } from '../src/memory/conversation/history.ts';
import type { SummarizeStrategy } from '../src/memory/modes/summarize.ts';
import type { Plan } from '../src/memory/plan/plan.ts';
import { render } from '../src/memory/plan/view.ts';
import { holds, textsOf } from '../src/memory/run/near-use.ts';
import { tokenSums } from '../src/memory/tokens/sums.ts';
import { loadTokenize, toolTokens } from '../src/memory/tokens/tokens.ts';
import type { ChatRequest } from '../src/protocol/chat/request.ts';
import { readCommandLine } from './command-line.ts';
import { percent, printTable, thousands } from './figures.ts';
import { createIsolate, strategyOf } from './pipeline.ts';
import { type ReuseTrace, readReuse, requestOf } from './reuse.ts';
import { planOf, type RollUp, rollUp, textsUnder } from './roll-up.ts';

/** Roll-ups per conversation. */
const ROLL_UPS = 5;
const SUMMARY_TOKENS = 2_048;
/** Budgets to try, as shares of a conversation's tokens, largest first. */
const SHARES = Array.from({ length: 30 }, (_, index) => (90 - 3 * index) / 100);

interface Outcome {
  readonly file: string;
  readonly rollUps: number;
  readonly values: readonly ValueOutcome[];
}

interface ValueOutcome {
  /** How often the conversation had been rolled up when the value was needed. */
  readonly after: number;
  /** Whether no message that is in the view in full holds it. */
  readonly covered: boolean;
  readonly inView: boolean;
  readonly inRef: boolean;
}

const { values: options } = readCommandLine('npm run bench:rollups -- [--json]', {
  json: { type: 'boolean', default: false },
});
const traces = readReuse();
if (!traces) {
  console.error(
    'TRACES_DIR is not set to a directory of recorded conversations; there is nothing to measure.',
  );
  process.exit(1);
}
const isolate = createIsolate(await loadTokenize('o200k_base'));
const { counter } = isolate;
const outcomes = traces.map(measure);
if (options.json) console.log(JSON.stringify(outcomes.map(figuresOf), null, 2));
else print();

function measure(trace: ReuseTrace): Outcome {
  const request = requestOf(trace);
  const strategy = strategyFor(request);
  const whole = readHistory(request.messages);
  const points = new Set(whole.requestPoints.map(({ messages }) => messages));
  const kept = new Map<string, string>();
  const values: ValueOutcome[] = [];
  let rolled: RollUp | undefined;
  let rollUps = 0;
  let asked = 0;
  for (let messages = 1; messages <= request.messages.length; messages++) {
    if (points.has(messages)) asked = messages;
    const used = trace.reuse.filter((reuse) => reuse.used === messages);
    if (used.length === 0 && !points.has(messages)) continue;
    const planned = planOf(strategy, request, asked, isolate);
    if (planned.prefix && planned.prefix.end !== rolled?.end) {
      rolled = rollUp(planned, rolled, isolate);
      kept.set(rolled.ref, rolled.transcript);
      rollUps++;
    }
    if (used.length === 0) continue;
    const view = seen(trace, planned, rolled, asked);
    for (const { value } of used) {
      const inView = holds(view.texts, value);
      values.push({
        after: rollUps,
        covered: !holds(view.verbatim, value),
        inView,
        inRef: view.ref !== undefined && textsUnder(view.ref, kept).some((text) => holds(text, value)),
      });
    }
  }
  return { file: trace.file, rollUps, values };
}

/**
 * The largest budget that rolls the conversation up five times, else the one with the most
 * roll-ups.
 */
function strategyFor(request: ChatRequest): SummarizeStrategy {
  const history = readHistory(request.messages);
  const fixed = toolTokens(request.tools, counter);
  const sums = tokenSums(history, fixed, counter);
  const preamble = history.messages.reduce(
    (sum, message) => sum + (message.role === 'preamble' ? counter.message(message) : 0),
    fixed,
  );
  const spoken = sums.total - preamble;
  let best: { strategy: SummarizeStrategy; moves: number } | undefined;
  for (const share of SHARES) {
    const strategy = strategyOf({
      mode: 'summarize',
      token_budget: Math.ceil(preamble + share * spoken),
      summary_max_tokens: SUMMARY_TOKENS,
    }) as SummarizeStrategy;
    const moves = planOf(strategy, request, request.messages.length, isolate).replay.moves.length;
    if (!best || moves > best.moves) best = { strategy, moves };
    if (moves >= ROLL_UPS) break;
  }
  if (!best) throw new Error('no budget was tried');
  return best.strategy;
}

/** What the model reads at a request point. */
function seen(
  trace: ReuseTrace,
  planned: Plan,
  rolled: RollUp | undefined,
  messages: number,
): { texts: string; verbatim: string; ref: string | undefined } {
  const request = requestOf(trace, messages);
  const view = render(planned, { isWritten: () => true, summary: rolled }, counter);
  const sent = JSON.parse(new TextDecoder().decode(request.write(view)));
  const kept = trace.messages.slice(0, messages).filter((_, index) => !view.dropped.has(index));
  return { texts: textsOf(sent.messages), verbatim: textsOf(kept), ref: view.summary && rolled?.ref };
}

function figuresOf({ file, rollUps, values }: Outcome) {
  return {
    file,
    rollUps,
    values: values.length,
    covered: values.filter(({ covered }) => covered).length,
    inView: values.filter(({ inView }) => inView).length,
    kept: values.filter(({ inView, inRef }) => inView || inRef).length,
  };
}

function print(): void {
  console.log(
    `Five roll-ups: summarize with summary_max_tokens ${thousands(SUMMARY_TOKENS)}, all else by default; token_budget is what preamble and tools
take, and the largest share of the rest (90 % to 3 %) under which the conversation is rolled up ${ROLL_UPS} times, or as often as any makes it.
The digest writes the summaries, each on top of the one before.\n`,
  );
  const files = Map.groupBy(outcomes, ({ file }) => file);
  const often = outcomes.filter(({ rollUps }) => rollUps >= ROLL_UPS);
  const late = often.map(({ values, ...outcome }) => ({
    ...outcome,
    values: values.filter(({ after }) => after >= ROLL_UPS),
  }));
  printTable(
    [
      '',
      'conversations',
      'roll-ups',
      'values',
      'summarised',
      'of these in view',
      'in view',
      'in view or ref',
    ],
    [
      ...[...files].map(([file, of]) => rowOf(file, of)),
      rowOf('all', outcomes),
      rowOf(`with ${ROLL_UPS} roll-ups or more`, often),
      rowOf(
        `needed after ${ROLL_UPS} or more`,
        late.filter(({ values }) => values.length > 0),
      ),
    ],
  );
  console.log(`
values            ids, paths, amounts that an agent wrote though no message had held them for twelve messages
summarised        no message that the view holds in full has the value when it is needed
Expected: all in view or ref, 80 % in view.`);
}

function rowOf(name: string, of: readonly Outcome[]): string[] {
  const figures = of.map(figuresOf);
  const sum = (pick: (figure: ReturnType<typeof figuresOf>) => number): number =>
    figures.reduce((total, figure) => total + pick(figure), 0);
  const values = sum((figure) => figure.values);
  const covered = sum((figure) => figure.covered);
  const inView = sum((figure) => figure.inView);
  return [
    name,
    `${of.length}`,
    `${sum((figure) => figure.rollUps)}`,
    `${values}`,
    `${covered}`,
    percent(inView - (values - covered), covered),
    percent(inView, values),
    percent(
      sum((figure) => figure.kept),
      values,
    ),
  ];
}
