import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type InputPrices, USUAL_PRICES } from '../../../../src/memory/models/schedules.ts';
import { Floor } from '../../../../src/memory/replay/floor.ts';
import {
  autoOptions,
  autoStrategy,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { billsOf, costOf } from '../../../support/conversations/bill.ts';
import { assistant, body, lines, step, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { type ViewOptions, viewOf, viewsOf } from '../../../support/laws/view-of.ts';

/**
 * How much more a conversation may cost than without edits, and after how many requests of mean
 * growth this is measured.
 */
const REGRET = 0.03;
const REQUESTS_AHEAD = 5;
/** A jump continues until it has freed this multiple of the floor. */
const GENEROSITY = 4;

/** A floor after a number of requests of one size, all cached except for the growth. */
function floorAt(prices: InputPrices, points: number, growth: number, fixed = 3): Floor {
  const floor = new Floor(prices, fixed);
  for (let point = 1; point <= points; point++) {
    const array = fixed + point * growth;
    floor.settle(array, array, undefined, 0);
  }
  return floor;
}

describe('the square-root rule', () => {
  /**
   * R is the number of tokens after the first byte that changes. x solves x² = 2·(w − a)/a·g·(R −
   * x), since freed tokens are not sent again.
   */
  it.each([
    { a: 0.5, growth: 100, R: 750, x: 300 },
    { a: 0.5, growth: 100, R: 6_400, times: GENEROSITY, x: 3_200 },
    { a: 0.1, growth: 100, R: 3_600, x: 1_800 },
    { a: 0.01, growth: 10, R: 3_960, x: 1_980 },
    { a: 0.01, growth: 10, R: 0, x: 1 },
    { a: 1, growth: 100, R: 3_600, x: 1 },
    { a: 0.5, w: 1.25, growth: 100, R: 1_125, x: 450 },
    { a: 0.1, w: 2, growth: 10, R: 760, x: 380 },
  ])(
    'asks for $x tokens of $R at a = $a and a growth of $growth',
    ({ a, w = 1, growth, R, x, times = 1 }) => {
      // A conversation so long that the regret requires nothing.
      const points = 2_000;
      const array = 3 + points * growth;
      const floor = floorAt({ cached: a, written: w }, points - 1, growth);
      const stakes = { array, view: array, kept: array - R, spent: 0 };
      expect(times === 1 ? floor.least(stakes) : floor.goal(stakes)).toBeCloseTo(x, 6);
    },
  );

  it('is M = √(2·(w − a)·P·g/a), with what is left of the view for P', () => {
    const range = (min: number, max: number) => fc.integer({ min, max });
    forAll(
      { numRuns: 200, endOnFailure: true },
      range(1, 99),
      range(1, 5_000),
      range(100, 400),
      range(0, 100),
      fc.constantFrom(1, 1.25, 2),
      (a, growth, points, share, written) => {
        const cached = a / 100;
        const array = 3 + points * growth;
        const kept = (array * share) / 100;
        const floor = floorAt({ cached, written }, points - 1, growth);
        const stakes = { array, view: array, kept, spent: 0 };
        const goal = floor.goal(stakes);
        // Unless the regret requires more than the rule.
        fc.pre(goal > 1 && goal > floor.least(stakes));
        const M = Math.sqrt((2 * (written - cached) * (array - kept - goal) * growth) / cached);
        expect(goal / (GENEROSITY * M)).toBeCloseTo(1, 6);
      },
    );
  });

  it('asks for more of a move that is made: how far it goes adds nothing to its price', () => {
    const floor = floorAt(USUAL_PRICES, 99, 100);
    const stakes = { array: 10_003, view: 10_003, kept: 3, spent: 0 };
    expect(floor.goal(stakes)).toBeGreaterThan(floor.least(stakes));
  });
});

describe('the regret', () => {
  it('asks a move to free what it would cost beyond its share, by hand', () => {
    // One request of 1,000 tokens; the second has 2,000, of which a move keeps 100 in the cache and
    // pays a summarizer 5,000.
    const floor = new Floor(USUAL_PRICES, 0);
    floor.settle(1_000, 1_000, undefined, 0);
    const later = REQUESTS_AHEAD * (0.1 * 2_000 + 1_000);
    const edited = 1_000 + 5_000 + 2_000 - 0.9 * 100 + later;
    const unedited = 1_000 + 2_000 - 0.9 * 1_000 + later;
    const expected = (edited - (1 + REGRET) * unedited) / (1 + REQUESTS_AHEAD * 0.1);
    expect(floor.least({ array: 2_000, view: 2_000, kept: 100, spent: 5_000 })).toBeCloseTo(expected, 6);
  });

  it('is measured sooner, and allows less, where writes cost more', () => {
    const floor = new Floor({ cached: 0.1, written: 1.25 }, 0);
    floor.settle(1_000, 1_000, undefined, 0);
    // Four requests of mean growth, and 2.4 %.
    const later = 4 * (0.1 * 2_000 + 1.25 * 1_000);
    const edited = 1_250 + 5_000 + 1.25 * 1_900 + 0.1 * 100 + later;
    const unedited = 1_250 + 1.25 * 1_000 + 0.1 * 1_000 + later;
    const expected = (edited - 1.024 * unedited) / (1.25 + 4 * 0.1);
    expect(floor.least({ array: 2_000, view: 2_000, kept: 100, spent: 5_000 })).toBeCloseTo(expected, 6);
  });

  it('takes for cached only what the request before has sent', () => {
    const stakes = { array: 2_000, view: 2_000, kept: 1_000, spent: 5_000 };
    const floor = (): Floor => {
      const made = new Floor(USUAL_PRICES, 0);
      made.settle(1_000, 1_000, undefined, 0);
      return made;
    };
    expect(floor().least({ ...stakes, kept: 1_900 })).toBe(floor().least(stakes));
  });

  it('remembers what moves have cost', () => {
    const stakes = { array: 2_000, view: 1_500, kept: 100, spent: 5_000 };
    const leastAfter = (kept: number | undefined, spent: number): number => {
      const floor = new Floor(USUAL_PRICES, 0);
      floor.settle(500, 500, undefined, 0);
      floor.settle(1_000, 500, kept, spent);
      return floor.least(stakes);
    };
    expect(leastAfter(100, 0)).toBeGreaterThan(leastAfter(undefined, 0));
    expect(leastAfter(100, 700) - leastAfter(100, 0)).toBeCloseTo(700 / (1 + REQUESTS_AHEAD * 0.1), 6);
  });

  it('asks for nothing where cached input costs as much as fresh: every placeholder pays', () => {
    const request = fc.record({ growth: fc.nat(5_000), freed: fc.nat(5_000), kept: fc.nat(50_000) });
    forAll(
      { numRuns: 100, endOnFailure: true },
      fc.array(request, { minLength: 1, maxLength: 30 }),
      (requests) => {
        const floor = new Floor({ cached: 1, written: 1 }, 3);
        let array = 3;
        let view = 3;
        for (const { growth, freed, kept } of requests) {
          array += growth;
          view += growth;
          expect(floor.least({ array, view, kept, spent: 0 })).toBe(1);
          view = Math.max(3, view - freed);
          floor.settle(array, view, kept, 0);
        }
      },
    );
  });

  it('never asks for less than one token', () => {
    const floor = floorAt({ cached: 0.5, written: 1 }, 50, 100);
    expect(floor.least({ array: 5_103, view: 5_103, kept: 5_103, spent: 0 })).toBe(1);
  });
});

/** Only the default floor decides, and nothing overrides it. */
const floored = autoStrategy.map(
  ({ min_reclaim_tokens: _, context_window_tokens: __, frontier: ___, ...input }) => input,
);
const longConversation = fc
  .array(richConversation, { minLength: 1, maxLength: 3 })
  .map((parts) => ({ model: 'gpt-4.1', messages: parts.flatMap(({ messages }) => messages) }));

describe('a conversation under the default floor', () => {
  it('costs at most so much more than one that nothing was done to, some requests after every move', () => {
    const numRuns = runs(4, 50);
    let moves = 0;
    forAll(
      { numRuns, endOnFailure: true },
      longConversation,
      floored,
      fc.boolean().chain(autoOptions),
      (conversation, input, options) => {
        const prices = { ...USUAL_PRICES, ...options.prices };
        const views = viewsOf(conversation, input, options);
        const bills = billsOf(views, prices);
        for (const [index, { plan, report }] of views.entries()) {
          const bill = bills[index];
          if (!report.frontier.moved || !bill) continue;
          const { before, after } = plan.replay;
          const earlier = views[index - 1]?.plan.replay ?? { before: 0, after: 0 };
          const unmoved = earlier.after + before - earlier.before;
          const { step = before, hard = before, soft = hard } = plan.budgets;
          // A view over the step of the price moves in any case if that brings it under it, and
          // one over three times its budget if that frees a budget.
          if (unmoved > Math.min(step, 3 * hard, 3 * soft)) continue;
          moves++;
          const growth = before / (index + 1);
          const ahead = (tokens: number): number =>
            (REQUESTS_AHEAD / prices.written) * costOf(tokens + growth, tokens, prices);
          const most = (1 + REGRET / prices.written) * (bill.arrays + ahead(before));
          expect(bill.views + ahead(after)).toBeLessThanOrEqual(most + 1);
        }
      },
    );
    expect(moves).toBeGreaterThan(numRuns / 3);
  });
});

describe('the step of a price', () => {
  const stepped = longConversation.chain((conversation) =>
    fc.record({
      conversation: fc.constant(conversation),
      above: fc.integer({ min: 200, max: 6_000 }),
      retrieval: fc.boolean(),
    }),
  );

  it('is not exceeded by a view if a move could avoid that, whatever the floor says', () => {
    const numRuns = runs(8, 150);
    let near = 0;
    forAll({ numRuns, endOnFailure: true }, stepped, ({ conversation, above, retrieval }) => {
      const prices = { ...USUAL_PRICES, step: { above, input: 2 } };
      const options = { retrieval, prices };
      const { plan } = viewOf(body(conversation.messages), { mode: 'auto' }, options);
      const { before, after } = plan.replay;
      if (before > above) near++;
      if (after <= above) return;
      const forced = viewOf(body(conversation.messages), { mode: 'auto' }, { ...options, force: true });
      expect(forced.plan.replay.after).toBeGreaterThan(above);
    });
    expect(near).toBeGreaterThan(numRuns / 8);
  });

  it('makes a move worth it that the floor alone forbids, as soon as the view is over it', () => {
    const steps = Array.from({ length: 8 }, (_, index) =>
      step(`call_${index}`, 'search', lines(50, `row ${index}`)),
    ).flat();
    const conversation = body([user('go'), ...steps]);
    const plain = viewOf(conversation, { mode: 'auto' }, { prices: USUAL_PRICES });
    expect(plain.report.applied_edits).toEqual([]);
    const { after } = plain.plan.replay;
    const at = (above: number) =>
      viewOf(conversation, { mode: 'auto' }, { prices: { ...USUAL_PRICES, step: { above, input: 2 } } });
    expect(at(after - 1).plan.replay.after).toBeLessThan(after);
    expect(at(after).report.applied_edits).toEqual([]);
  });

  it('lets no view stay over its budget that fits it without the step', () => {
    const talk = Array.from({ length: 60 }, (_, index) => [user(lines(8, `${index}`)), assistant('done')]);
    const conversation = body([...talk.flat(), user('and now?')]);
    const input = { mode: 'auto', frontier: 'slide', context_window_tokens: 4_000 } as const;
    const fits = viewOf(conversation, input, { prices: USUAL_PRICES }).plan.replay;
    expect(fits.before).toBeGreaterThan(4_500);
    expect(fits.after).toBeLessThan(3_200);
    const prices = { ...USUAL_PRICES, step: { above: 4_500, input: 2 } };
    expect(viewOf(conversation, input, { prices }).plan.replay.after).toBe(fits.after);
  });

  it('is not looked at where the caller says a budget of its own', () => {
    const prices = { ...USUAL_PRICES, step: { above: 100, input: 2 } };
    const conversation = body([user('go'), ...step('call_1', 'search', lines(50)), user('and now?')]);
    const input = { mode: 'auto', token_budget: 100_000 } as const;
    expect(viewOf(conversation, input, { prices }).report.applied_edits).toEqual([]);
  });
});

describe('a cache that is read at boundaries', () => {
  const steps = Array.from({ length: 6 }, (_, index) =>
    step(`call_${index}`, 'search', lines(60, `row ${index}`)),
  ).flat();
  const leastOf = (options: ViewOptions): number => {
    const input = { mode: 'auto', token_soft_budget: 4_000 } as const;
    const { refused } = viewOf(body([user(lines(150, 'a long request')), ...steps]), input, options).plan
      .replay;
    return refused.find(({ phase }) => phase === 'reversible')?.least ?? Number.NaN;
  };

  it('makes a move dearer: without a mark before it, all after the preamble is written again', () => {
    const prefix = { cached: 0.1, written: 1 };
    const ofPrefix = leastOf({ prices: prefix });
    for (const marks of [true, false])
      expect(leastOf({ prices: { ...prefix, boundaries: 'ours' }, marks })).toBeGreaterThan(ofPrefix);
    expect(leastOf({ prices: { ...prefix, written: 1.25 } })).toBeGreaterThan(ofPrefix);
  });
});

describe('min_reclaim_tokens', () => {
  const steps = (n: number) => [
    user('go'),
    ...Array.from({ length: n }, (_, index) =>
      step(`call_${index}`, 'search', lines(50, `row ${index}`)),
    ).flat(),
  ];
  const input = { mode: 'auto', token_soft_budget: 4_000 } as const;
  const isEdited = (more: object, options: ViewOptions = {}, n = 8): boolean =>
    viewOf(body(steps(n)), { ...input, ...more }, options).report.applied_edits.length > 0;

  it('is the floor by default, which forbids what 0 allows', () => {
    expect(isEdited({})).toBe(false);
    expect(isEdited({ min_reclaim_tokens: 0 })).toBe(true);
    expect(isEdited({}, { prices: { cached: 1, written: 1 } })).toBe(true);
  });

  it('replaces the floor in the other direction too', () => {
    const long = (more: object): boolean => isEdited(more, {}, 40);
    expect(long({})).toBe(true);
    expect(long({ min_reclaim_tokens: 1_000_000 })).toBe(false);
  });

  it('gives way to the window, as the floor does', () => {
    for (const more of [{}, { min_reclaim_tokens: 1_000_000 }])
      expect(isEdited({ ...more, context_window_tokens: 4_000 })).toBe(true);
  });

  it('gives way to the room for the answer, to a learned limit and to force', () => {
    const { before = 0 } = viewOf(body(steps(8)), input).report.tokens ?? {};
    const reclaim = { min_reclaim_tokens: 1_000_000 };
    const asked = body(steps(8), { max_tokens: 1_000 });
    const window = { context_window_tokens: before + 500 };
    expect(viewOf(asked, { ...input, ...reclaim, ...window }).report.applied_edits).not.toEqual([]);
    expect(isEdited({ ...reclaim, ...window })).toBe(false);
    expect(isEdited(reclaim, { limit: before - 1 })).toBe(true);
    expect(isEdited(reclaim, { force: true })).toBe(true);
  });
});
