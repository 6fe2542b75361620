import { describe, expect, it } from 'vitest';
import { requestsOf, sampleTraces } from '../../../support/conversations/traces.ts';
import { brokenLaws, brokenPrefix } from '../../../support/laws/laws.ts';
import { type Viewed, viewOf } from '../../../support/laws/view-of.ts';
import { inMessages, inResponses } from '../../../traces/other-protocols.ts';
import { optionsOf, STRATEGIES } from '../../../traces/strategies.ts';

describe.each(Object.entries(STRATEGIES))('recorded conversations under %s', (name, strategy) => {
  it.each(sampleTraces().map((trace) => [trace.id, trace] as const))(
    '%s keeps the laws at every request',
    (_, trace) => {
      let earlier: Viewed | undefined;
      for (const request of requestsOf(trace)) {
        const viewed = viewOf(request, strategy, optionsOf(name));
        expect([...brokenLaws(viewed), ...(earlier ? brokenPrefix(earlier, viewed) : [])]).toEqual([]);
        earlier = viewed;
      }
      expect(earlier).toBeDefined();
    },
  );

  it.each(sampleTraces().map((trace) => [trace.id, trace] as const))(
    '%s keeps them in the other protocols, and has the same view',
    (_, trace) => {
      for (const replay of [inResponses, inMessages]) {
        const replayed = [...replay(trace, strategy, optionsOf(name))];
        expect(replayed.flatMap(({ broken }) => broken)).toEqual([]);
        expect(replayed.length).toBeGreaterThan(1);
      }
    },
  );
});
