import { describe, expect, it } from 'vitest';
import { requestsOf, sampleTraces } from '../../../support/conversations/traces.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { runs } from '../../../support/laws/runs.ts';
import { type Viewed, viewOf } from '../../../support/laws/view-of.ts';
import { inMessages, inResponses } from '../../../traces/other-protocols.ts';
import { optionsOf, STRATEGIES } from '../../../traces/strategies.ts';

/** Of the settings, each other protocol takes one in this many. */
const EVERY = runs(4, 1);
const OTHERS = [inResponses, inMessages];

const SETTINGS = Object.entries(STRATEGIES).map(([name, strategy], at) => ({
  at,
  name,
  strategy,
  others: OTHERS.filter((_, other) => other % EVERY === at % EVERY),
}));

/** With their bodies, which all settings read. */
const TRACES = sampleTraces().map((trace) => [trace.id, trace, [...requestsOf(trace)]] as const);
/** Of the recordings, each setting takes one in this many, and the demo's conversation. */
const RECORDED = runs(6, 1);

describe.each(SETTINGS)('recorded conversations under $name', ({ at, name, strategy, others }) => {
  const traces = TRACES.filter((_, index) => index === 0 || index % RECORDED === at % RECORDED);

  it.each(traces)('%s keeps the laws at every request', (_, __, requests) => {
    let earlier: Viewed | undefined;
    for (const request of requests) {
      const viewed = viewOf(request, strategy, optionsOf(name));
      expect([...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])]).toEqual([]);
      earlier = viewed;
    }
    expect(earlier).toBeDefined();
  });

  it.each(traces)('%s keeps them in the other protocols, and has the same view', (_, trace) => {
    for (const replay of others) {
      const replayed = [...replay(trace, strategy, optionsOf(name))];
      expect(replayed.flatMap(({ broken }) => broken)).toEqual([]);
      expect(replayed.length).toBeGreaterThan(1);
    }
  });
});
