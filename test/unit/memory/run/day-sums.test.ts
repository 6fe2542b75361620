/** The sums by day that a conversation remembers, and those that its tenant knows by them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  daySumsOfText,
  joinDays,
  joinRemembered,
  NO_DAY_SUMS,
  type SumsByDay,
  withDay,
} from '../../../../src/memory/run/day-sums.ts';

const REQUEST = {
  ...NO_DAY_SUMS,
  requests: 1,
  missed: { tools: { requests: 1, tokens: 3, amount: 5 } },
};
const TEXT = daySumsOfText(7);

describe('days that are reported as whole sums', () => {
  it('end as all requests and texts, whatever either side has forgotten', () => {
    const steps = fc.array(fc.record({ later: fc.nat(2), isText: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (all) => {
        let requests: SumsByDay = {};
        let texts: SumsByDay = {};
        let reported: SumsByDay = {};
        let wanted: SumsByDay = {};
        let day = 100;
        for (const { later, isText } of all) {
          day += later;
          if (isText) texts = withDay(texts, day, TEXT);
          else requests = withDay(requests, day, REQUEST);
          reported = { ...reported, ...joinRemembered(texts, requests) };
          wanted = joinDays(wanted, { [day]: isText ? TEXT : REQUEST });
        }
        expect(reported).toEqual(wanted);
      }),
    );
  });

  it('are never reported with less than before, also where requests come late', () => {
    const steps = fc.array(fc.record({ day: fc.nat(9), isText: fc.boolean() }), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (all) => {
        let requests: SumsByDay = {};
        let texts: SumsByDay = {};
        let reported: SumsByDay = {};
        for (const { day, isText } of all) {
          if (isText) texts = withDay(texts, day, TEXT);
          else requests = withDay(requests, day, REQUEST);
          const next = joinRemembered(texts, requests);
          expect(Object.keys(next)).not.toEqual([]);
          for (const [known, { requests: count, summarizer }] of Object.entries(next)) {
            expect(count).toBeGreaterThanOrEqual(reported[Number(known)]?.requests ?? 0);
            expect(summarizer).toBeGreaterThanOrEqual(reported[Number(known)]?.summarizer ?? 0);
          }
          reported = { ...reported, ...next };
        }
      }),
    );
  });
});
