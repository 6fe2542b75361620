/**
 * Replays every recorded conversation, request by request, with every setting, and checks the laws,
 * in the three protocols. `npm run test:traces`, or `npm run test:traces -- auto trim` for settings
 * whose names start with it.
 */

import { readTraces, requestsOf, tracesDir } from '../support/conversations/traces.ts';
import { brokenContinuation, brokenRounds, withoutRounds } from '../support/laws/kept-rounds.ts';
import { brokenLaws, brokenPrefix } from '../support/laws/laws.ts';
import { type RoundsOfTest, type Viewed, viewOf } from '../support/laws/view-of.ts';
import { fetchedFor, invalidWith } from './fetching-model.ts';
import { KnowingIsolate, otherPlan } from './knowing-isolate.ts';
import { inMessages, inResponses } from './other-protocols.ts';
import { optionsOf, STRATEGIES } from './strategies.ts';

const beginnings = process.argv.slice(2);
const isChosen = (name: string): boolean =>
  beginnings.length === 0 || beginnings.some((beginning) => name.startsWith(beginning));
const strategies = Object.entries(STRATEGIES).filter(([name]) => isChosen(name));
if (strategies.length === 0) throw new Error(`no setting begins with ${beginnings.join(' or ')}`);

const traces = readTraces();
console.log(
  `${traces.length} conversations${tracesDir() ? '' : ' (TRACES_DIR is not set, so only the one of the demo)'}`,
);
console.log(`${'strategy'.padEnd(42)} requests   edited    moved  failures   seconds`);

let failures = 0;
let requests = 0;
for (const [name, strategy] of strategies) {
  const options = optionsOf(name);
  const tally = { requests: 0, edited: 0, moved: 0, failures: 0 };
  const start = performance.now();
  for (const trace of traces) {
    let earlier: Viewed | undefined;
    const isolate = new KnowingIsolate();
    for (const body of requestsOf(trace)) {
      const viewed = viewOf(body, strategy, options);
      const known = isolate.viewOf(body, strategy, options);
      const broken = [
        ...brokenLaws(viewed),
        ...(earlier ? brokenPrefix(earlier, viewed) : []),
        ...otherPlan(viewed, known),
      ];
      for (const sentence of broken)
        console.error(`${trace.id}, ${viewed.request.messages.length} messages, ${name}: ${sentence}`);
      tally.requests++;
      tally.failures += broken.length;
      if (viewed.report.applied_edits.length > 0) tally.edited++;
      if (viewed.report.frontier.moved) tally.moved++;
      earlier = viewed;
    }
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const columns = [tally.requests, tally.edited, tally.moved, tally.failures, seconds];
  console.log(name.padEnd(42) + columns.map((value) => String(value).padStart(9)).join(''));
  failures += tally.failures;
  requests += tally.requests;
}

// With the rounds of a model that fetches what it misses, kept from request to request.
console.log(`${'with kept rounds'.padEnd(42)} requests     with    moved  failures   seconds   rounds`);
for (const [name, strategy] of strategies) {
  const options = optionsOf(name);
  if (!options.retrieval) continue;
  const tally = { requests: 0, shown: 0, moved: 0, failures: 0, rounds: 0 };
  const start = performance.now();
  for (const trace of traces) {
    const rounds: RoundsOfTest[] = [];
    let earlier: Viewed | undefined;
    const isolate = new KnowingIsolate();
    for (const body of requestsOf(trace)) {
      const viewed = viewOf(body, strategy, { ...options, rounds });
      const known = isolate.viewOf(body, strategy, { ...options, rounds });
      const before = earlier?.request.messages.length;
      const added = rounds.find(({ message }) => message === before);
      const broken = [
        ...brokenLaws(withoutRounds(viewed)),
        ...brokenRounds(viewed),
        ...invalidWith(viewed),
        ...otherPlan(viewed, known),
        ...(earlier ? brokenContinuation(earlier, added, viewed) : []),
      ];
      for (const sentence of broken)
        console.error(`${trace.id}, ${viewed.request.messages.length} messages, ${name}: ${sentence}`);
      tally.requests++;
      tally.failures += broken.length;
      if (viewed.view.rounds) tally.shown++;
      if (viewed.report.frontier.moved) tally.moved++;
      const fetched = fetchedFor(viewed, trace.messages[viewed.request.messages.length]);
      if (fetched) rounds.push(fetched);
      earlier = viewed;
    }
    tally.rounds += rounds.length;
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const columns = [tally.requests, tally.shown, tally.moved, tally.failures, seconds, tally.rounds];
  console.log(name.padEnd(42) + columns.map((value) => String(value).padStart(9)).join(''));
  failures += tally.failures;
  requests += tally.requests;
}
for (const [protocol, replay] of [
  ['Responses', inResponses],
  ['Messages', inMessages],
] as const) {
  console.log(`${`in ${protocol}`.padEnd(42)} requests   edited    moved  failures   seconds`);
  for (const [name, strategy] of strategies) {
    const tally = { requests: 0, edited: 0, moved: 0, failures: 0 };
    const start = performance.now();
    for (const trace of traces)
      for (const { viewed, broken } of replay(trace, strategy, optionsOf(name))) {
        const { messages } = viewed.request;
        for (const sentence of broken)
          console.error(`${trace.id}, ${messages.length} messages in ${protocol}, ${name}: ${sentence}`);
        tally.requests++;
        tally.failures += broken.length;
        if (viewed.report.applied_edits.length > 0) tally.edited++;
        if (viewed.report.frontier.moved) tally.moved++;
      }
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    const columns = [tally.requests, tally.edited, tally.moved, tally.failures, seconds];
    console.log(name.padEnd(42) + columns.map((value) => String(value).padStart(9)).join(''));
    failures += tally.failures;
    requests += tally.requests;
  }
}
console.log(`${requests} views checked, ${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
