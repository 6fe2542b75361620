import { describe, expect, it } from 'vitest';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import {
  type LearnedLimit,
  limitBetween,
  limitOfRetry,
  noteLimit,
  roomIn,
  statedLimit,
} from '../../../src/upstream/learned-limits.ts';
import type { TooLong } from '../../../src/upstream/too-long.ts';
import { assistant, body, lines, step, system, user } from '../../support/conversations/chat.ts';
import { viewOf } from '../../support/laws/view-of.ts';
import { ofPrompt, window } from './refusals.ts';

describe('the limit that a refusal states', () => {
  const refused = { tokens: 10_000, addedTokens: 0, answerTokens: 0 };
  const roomAfter = (refusal: TooLong, of = refused): number =>
    roomIn(limitOfRetry(refusal, of), of.answerTokens);

  it('is counted as we count: by our count of the prompt over theirs', () => {
    expect(roomAfter(window(8_000, 10_000))).toBe(7_600);
    expect(roomAfter(window(8_000, 20_000))).toBe(3_800);
  });

  it('is not taken from counts that have nothing in common', () => {
    expect(roomAfter(window(8_000, 1_000_000))).toBe(2_533);
    expect(roomAfter(window(1_000, 100))).toBe(2_850);
  });

  it('is not more than was stated where the server may have dropped a part of the prompt', () => {
    expect(roomAfter({ ...window(8_000, 5_000), mayBeCut: true })).toBe(7_600);
    expect(roomAfter({ ...window(8_000, 20_000), mayBeCut: true })).toBe(3_800);
  });

  it('leaves a cut answer its room where the caller allows more than the window', () => {
    expect(roomAfter(window(8_000, 10_000, 2_000), { ...refused, answerTokens: 32_000 })).toBe(5_700);
  });

  it('is what was stated where nothing says how they count', () => {
    expect(roomAfter(window(8_000))).toBe(7_600);
  });

  it('is less than what was refused, whatever was stated', () => {
    expect(roomAfter(window(128_000))).toBe(9_000);
    expect(roomAfter(window(8_000, 3))).toBe(9_000);
    expect(roomAfter(window())).toBe(7_500);
  });

  it('is never next to nothing', () => {
    expect(roomAfter(window(16))).toBe(1_000);
    expect(roomAfter(window(), { ...refused, tokens: 600 })).toBe(1_000);
  });

  it('leaves the answer its room where it counts, as much as each request asks for', () => {
    const asked = { ...refused, answerTokens: 3_000 };
    const limit = limitOfRetry(window(12_000, 10_000, 3_000), asked);

    expect(roomIn(limit, 3_000)).toBe(8_550);
    expect(roomIn(limit, 4_000)).toBe(7_550);
    expect(roomIn(limit, 0)).toBe(11_550);
  });

  it('leaves room for an answer that the server alone has limited', () => {
    expect(roomAfter(window(12_000, 10_000, 4_000))).toBe(7_600);
  });

  it('leaves the answer out of account where the limit is of the prompt, or where it would leave nothing', () => {
    const asked = { ...refused, answerTokens: 9_000 };

    expect(roomAfter(ofPrompt(8_000, 10_000), asked)).toBe(7_600);
    expect(roomAfter(window(8_000, 10_000), asked)).toBe(7_600);
  });

  it('leaves room for the rest of the request', () => {
    expect(roomAfter(window(8_000, 10_500), { ...refused, addedTokens: 500 })).toBe(7_100);
  });
});

describe('what a refusal states about all requests', () => {
  const refused = { tokens: 10_000, addedTokens: 0, answerTokens: 0 };
  const limit = (tokens: number, withAnswer = true): LearnedLimit => ({ tokens, withAnswer });

  it('is the limit, counted as we count', () => {
    expect(statedLimit(window(8_000, 10_000), refused)).toEqual(limit(7_600));
    expect(statedLimit(ofPrompt(8_000, 20_000), refused)).toEqual(limit(3_800, false));
    expect(statedLimit(window(8_000), refused)).toEqual(limit(7_600));
  });

  it('is not less because this prompt was small', () => {
    expect(statedLimit(window(128_000), { ...refused, tokens: 2_000 })).toEqual(limit(121_600));
    expect(statedLimit(window(128_000, 128_500), { ...refused, tokens: 128_500 })).toEqual(limit(121_600));
  });

  it('is nothing where the counts have nothing in common', () => {
    expect(statedLimit(window(128_000, 200_000), { ...refused, tokens: 2_000 })).toBeUndefined();
    expect(statedLimit(window(8_000, 3), refused)).toBeUndefined();
  });

  it('is nothing where it states no limit, or of next to nothing', () => {
    expect(statedLimit(window(), refused)).toBeUndefined();
    expect(statedLimit(window(16), refused)).toBeUndefined();
  });

  it('leaves room for the answer and for the rest of the request', () => {
    const asked = { tokens: 10_000, addedTokens: 500, answerTokens: 3_000 };

    expect(statedLimit(window(12_000, 10_500, 3_000), asked)).toEqual(limit(11_050));
  });
});

describe('a limit that nobody has stated', () => {
  const refused = { tokens: 10_000, addedTokens: 0, answerTokens: 0 };

  it('is less than what was refused, and not less than what was accepted', () => {
    expect(limitBetween(5_000, refused)).toEqual({ tokens: 9_000, withAnswer: false });
    expect(limitBetween(9_500, refused)).toEqual({ tokens: 9_500, withAnswer: false });
  });

  it('may be about the answer too, which such requests leave its room', () => {
    const limit = limitBetween(5_000, { ...refused, answerTokens: 3_000 });

    expect(limit && [0, 3_000].map((answer) => roomIn(limit, answer))).toEqual([12_000, 9_000]);
  });

  it('is not believed where the request was small by our count', () => {
    expect(limitBetween(1_500, { ...refused, tokens: 4_000 })).toBeUndefined();
  });
});

describe('limits that are remembered', () => {
  const HOUR = 60 * 60_000;
  const tight: LearnedLimit = { tokens: 5_000, withAnswer: false };
  const wide: LearnedLimit = { tokens: 9_000, withAnswer: false };

  it('hold for an hour', () => {
    let now = 1_000;
    const limits = isolateMemory(() => now).of('learnedLimits');
    noteLimit(limits, 'tenant', 'model', tight, 0);

    now += HOUR - 1;
    expect(limits.get('tenant', 'model')?.value).toEqual(tight);
    now += 1;
    expect(limits.get('tenant', 'model')?.value).toBeUndefined();
  });

  it('hold for one tenant and one model', () => {
    const limits = isolateMemory().of('learnedLimits');
    noteLimit(limits, 'tenant', 'model', tight, 0);

    expect(limits.get('tenant', 'another')?.value).toBeUndefined();
    expect(limits.get('another', 'model')?.value).toBeUndefined();
    expect(limits.get('tenant', '')?.value).toBeUndefined();
  });

  it('give way to narrower ones, not to wider ones', () => {
    const limits = isolateMemory().of('learnedLimits');

    const held = [wide, tight, wide].map((limit) => {
      noteLimit(limits, 'tenant', 'model', limit, 0);
      return limits.get('tenant', 'model')?.value;
    });
    expect(held).toEqual([wide, tight, tight]);
  });

  it('are compared by their room for the prompt', () => {
    const limits = isolateMemory().of('learnedLimits');
    noteLimit(limits, 'tenant', 'model', tight, 5_000);

    const left = { tokens: 9_000, withAnswer: true };
    noteLimit(limits, 'tenant', 'model', left, 5_000);

    expect(limits.get('tenant', 'model')?.value).toEqual(left);
  });

  it('are not remembered under names that no model has', () => {
    const limits = isolateMemory().of('learnedLimits');
    const name = 'm'.repeat(100_000);

    noteLimit(limits, 'tenant', name, tight, 0);

    expect(limits.get('tenant', name)?.value).toBeUndefined();
  });
});

describe('rolling memory within a learned limit', () => {
  const rounds = (count: number) => [
    system('You help.'),
    ...Array.from({ length: count }, (_, at) => [
      user(`question ${at}`),
      ...step(`${at}`, 'f', lines(60, `out ${at}`)),
      assistant(`answer ${at}`),
    ]).flat(),
    user('the last question'),
  ];
  const ROUND = 4;

  function rolled(
    messages: Record<string, unknown>[],
    limit: number | undefined,
    fields: object = {},
    end?: number,
  ) {
    const memory = end === undefined ? undefined : { end, text: 'What was.', ref: undefined, moved: false };
    const made = viewOf(body(messages), { mode: 'rolling_summary', ...fields }, { memory, limit });
    return { ...made, left: made.plan.trimmed?.dropped ?? [] };
  }

  it('without a memory leaves out the oldest rounds, whole, and stays within the limit', () => {
    const { plan, view, left } = rolled(rounds(8), 4_000);

    expect(view.tokens).toBeLessThanOrEqual(4_000);
    expect(left.length % ROUND).toBe(0);
    expect(left[0]).toBe(1);
    expect(plan.replay.trigger).toBe('upstream_limit');
    expect(plan.budgets).toMatchObject({ hard: 4_000, window: 4_000 });
  });

  it('without a memory keeps the last round, whatever it weighs', () => {
    const { left } = rolled(rounds(3), 100);

    expect(left).toHaveLength(3 * ROUND);
  });

  it('without a memory has each view begin with the one before, except where it says that it moved', () => {
    const all = rounds(10);
    const lengths = all.flatMap(({ role }, at) => (role === 'user' || role === 'tool' ? [at + 1] : []));
    const views = lengths.map((length) => rolled(all.slice(0, length), 4_000));

    for (const [at, { left, plan }] of views.entries())
      expect(plan.replay.moved).toBe(left.length !== (views[at - 1]?.left.length ?? 0));
    expect(views.filter(({ plan }) => plan.replay.moved).length).toBeGreaterThan(2);
  });

  it('without a memory leaves everything as it is where it fits, or where the policy is error', () => {
    const whole = rolled(rounds(8), undefined).view.tokens;

    for (const { left, view } of [
      rolled(rounds(8), whole),
      rolled(rounds(8), 4_000, { overflow_policy: 'error' }),
    ]) {
      expect(left).toEqual([]);
      expect(view.tokens).toBe(whole);
    }
  });

  it('with a memory takes out more than its own budget does', () => {
    const own = rolled(rounds(8), undefined, {}, 1 + ROUND);
    const learned = rolled(rounds(8), 4_000, {}, 1 + ROUND);

    expect(own.plan.replay.trigger).toBe('turns');
    expect(learned.plan.replay.trigger).toBe('upstream_limit');
    expect(learned.view.tokens).toBeLessThanOrEqual(4_000);
    expect(own.view.tokens).toBeGreaterThan(4_000);
  });

  it('with a memory refuses nothing that its own budget lets pass', () => {
    const { view } = rolled(rounds(4), 2_000, { overflow_policy: 'error' }, 1 + ROUND);

    expect(view.tokens).toBeGreaterThan(2_000);
  });
});
