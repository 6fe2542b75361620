/** The sums by day that a conversation remembers, and those that its tenant knows by them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  daySumsOf,
  daySumsOfText,
  joinDays,
  joinRemembered,
  NO_DAY_SUMS,
  type SumsByDay,
  withDay,
} from '../../../../src/memory/run/day-sums.ts';
import { forAll } from '../../../support/laws/runs.ts';

const REQUEST = {
  ...NO_DAY_SUMS,
  requests: 1,
  missed: { tools: { requests: 1, tokens: 3, amount: 5 } },
};
const TEXT = daySumsOfText(7);

describe('days that are reported as whole sums', () => {
  it('end as all requests and texts, whatever either side has forgotten', () => {
    const steps = fc.array(fc.record({ later: fc.nat(2), isText: fc.boolean() }), { maxLength: 40 });
    forAll(steps, (all) => {
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
    });
  });

  it('are never reported with less than before, also where requests come late', () => {
    const steps = fc.array(fc.record({ day: fc.nat(9), isText: fc.boolean() }), { maxLength: 40 });
    forAll(steps, (all) => {
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
    });
  });
});

const EVENT = {
  created_at: 5,
  tokens: null,
  usage: null,
  observed: false,
  retrieval_rounds: 0,
  kind: 'answer',
  model: 'gpt-4.1',
  status: 200,
  ended: 'complete',
  error: null,
} as const;

describe('what a request adds to its day', () => {
  const sums = (fields: object) => daySumsOf({ ...EVENT, ...fields }, null, null, null);

  it.each([
    [{}, undefined, { answered_at: 5 }],
    [{ ended: 'caller_left' }, undefined, { answered_at: 5 }],
    [{ ended: 'upstream_broke' }, 'broken', { answered_at: 5 }],
    [{ status: 429, ended: 'error', error: 'rate_limited' }, '429', {}],
    [{ status: 502, ended: 'error', error: 'upstream_unreachable' }, '502', { unanswered_at: 5 }],
    [{ status: 529, ended: 'error' }, '529', { unanswered_at: 5 }],
    [{ status: 503, ended: 'error', error: 'store_failed' }, '503', {}],
  ])('%j fails with %s', (fields, status, times) => {
    const { failures, answered_at, unanswered_at } = sums(fields);
    expect(failures).toEqual(status === undefined ? undefined : { [status]: { requests: 1 } });
    expect(Object.fromEntries(Object.entries({ answered_at, unanswered_at }).filter(([, at]) => at))).toEqual(
      times,
    );
  });

  it.each([
    [{}, 1],
    [{ status: 400 }, 0],
    [{ observed: true }, 0],
    [{ kind: 'compaction' }, 0],
  ])('%j: %i answers without a bill', (fields, unbilled) => {
    expect(sums(fields).models).toMatchObject({ 'gpt-4.1': { requests: 1, unbilled } });
  });

  it('has a sum for each model of whatever name, and few of them', () => {
    const names = ['__proto__', 'constructor', '', ...Array.from({ length: 40 }, (_, at) => `m${at}`)];
    let days: SumsByDay = {};
    for (const model of [...names, ...names]) days = withDay(days, 1, sums({ model }));
    const models = Object.entries(days[1]?.models ?? {});
    expect(models).toHaveLength(16);
    expect(models.reduce((all, [, { requests }]) => all + requests, 0)).toBe(2 * names.length);
    expect(models.find(([name]) => name === '__proto__')?.[1]).toMatchObject({ requests: 2 });
    expect(sums({ model: 'x'.repeat(1_000) }).models).toHaveProperty('x'.repeat(100));
  });

  it('joins with others in any order', () => {
    const one = sums({ created_at: 9, status: 500, model: 'a' });
    const other = sums({ created_at: 7, model: 'b' });
    const both = joinDays({ 1: one }, { 1: other })[1];
    expect(both).toEqual(joinDays({ 1: other }, { 1: one })[1]);
    expect(both).toMatchObject({
      answered_at: 7,
      unanswered_at: 9,
      failures: { 500: { requests: 1 } },
      models: { a: { failed: 1 }, b: { unbilled: 1 } },
    });
  });
});
