import { describe, expect, it } from 'vitest';
import { brokenLaws, brokenPrefix } from '../support/laws.ts';
import { readTraces, requestsOf } from '../support/traces.ts';
import { type Viewed, viewOf } from '../support/view-of.ts';
import { optionsOf, STRATEGIES } from '../traces/strategies.ts';

/** A sample: the demo's conversation, and of each file of recorded ones (if they are there) the shortest. `npm run test:traces` takes all. */
const sample = [...Map.groupBy(readTraces(), (trace) => trace.file).values()].flatMap(
  (traces) => traces.toSorted((a, b) => a.messages.length - b.messages.length)[0] ?? [],
);

describe.each(Object.entries(STRATEGIES))('recorded conversations under %s', (name, strategy) => {
  it.each(sample.map((trace) => [trace.id, trace] as const))(
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
});
