/** When a conversation's object reports its sums, and that a newer state is never overtaken. */
import { beforeEach, describe, expect, it } from 'vitest';
import { NO_DAY_SUMS } from '../../../src/memory/run/day-sums.ts';
import type { ConversationSums } from '../../../src/storage/conversation/sum-reports.ts';
import { SumReports } from '../../../src/storage/conversation/sum-reports.ts';
import { TIME_LIMITS } from '../../../src/time-limits.ts';

const HOUR = 60 * 60_000;

let now = HOUR;

beforeEach(() => {
  now = HOUR;
});

/** Reports whose calls end when the test says so, in any order. */
function reporting() {
  /** Of the conversation; undefined after its deletion. */
  const state: { requests: number | undefined } = { requests: 0 };
  const calls: { requests: number; end: () => void; fail: () => void }[] = [];
  const landed: number[] = [];
  const alarms: number[] = [];
  const work: Promise<void>[] = [];
  const sums = (): ConversationSums | undefined => {
    const { requests } = state;
    if (requests === undefined) return undefined;
    return {
      requests,
      net: null,
      lastRequest: null,
      model: null,
      paid: null,
      lastStatus: null,
      agent: null,
      days: { 1: { ...NO_DAY_SUMS, requests } },
    };
  };
  const tell = ({ requests }: ConversationSums) =>
    new Promise<void>((resolve, reject) => {
      const end = () => {
        landed.push(requests);
        resolve();
      };
      calls.push({ requests, end, fail: () => reject(new Error('unreachable')) });
    });
  const reports = new SumReports({
    sums,
    report: tell,
    setAlarm: async (at) => void alarms.push(at),
    now: () => now,
    log: () => undefined,
    waitUntil: (promise) => void work.push(promise),
  });
  const changes = async (requests: number) => {
    state.requests = requests;
    reports.changed();
    await turns();
  };
  return { reports, state, calls, landed, alarms, work, changes };
}

/** Lets all work go on that waits for nothing from outside. */
const turns = () => new Promise<void>((resolve) => setTimeout(resolve));

describe('sums of a conversation', () => {
  it('are reported one call at a time, and then as they are by then', async () => {
    const { calls, landed, changes } = reporting();
    await changes(1);
    now += TIME_LIMITS.sumsMs;
    await changes(2);
    now += TIME_LIMITS.sumsMs;
    await changes(3);
    expect(calls.map(({ requests }) => requests)).toEqual([1]);
    calls[0]?.end();
    await turns();
    calls[1]?.end();
    await turns();

    expect(landed).toEqual([1, 3]);
    expect(calls).toHaveLength(2);
  });

  it('are reported after a call that fails, without waiting for the alarm if they have changed', async () => {
    const { calls, landed, alarms, changes } = reporting();
    await changes(1);
    now += TIME_LIMITS.sumsMs;
    await changes(2);
    calls[0]?.fail();
    await turns();
    calls[1]?.end();
    await turns();

    expect(alarms).toEqual([now + TIME_LIMITS.alarmPauseMs]);
    expect(landed).toEqual([2]);
  });

  it('are not reported again to a reader who waits for a call under way', async () => {
    const { reports, calls, changes } = reporting();
    await changes(1);
    const read = reports.report();
    calls[0]?.end();
    await read;

    expect(calls).toHaveLength(1);
  });

  it('are settled when the last call has ended, which reports nothing after a deletion', async () => {
    const { reports, state, calls, changes } = reporting();
    await changes(1);
    now += TIME_LIMITS.sumsMs;
    await changes(2);
    state.requests = undefined;
    let isSettled = false;
    const settled = reports.settled().then(() => {
      isSettled = true;
    });
    // A second call beside the first one would end first.
    calls[1]?.end();
    await turns();
    expect(isSettled).toBe(false);
    calls[0]?.end();
    await settled;

    expect(calls).toHaveLength(1);
  });
});
