import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { USUAL_PRICES } from '../../../../src/memory/models/schedules.ts';
import { nextMove } from '../../../../src/memory/replay/due.ts';
import type { ReplayRule } from '../../../../src/memory/replay/rule.ts';
import {
  autoOptions,
  autoStrategy,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { viewOf, viewsOf } from '../../../support/laws/view-of.ts';

/** An agent that reads files of about 7,000 tokens, which stay until a move. */
const readings = (count: number, rows = 540) =>
  body(
    [
      system('You read files.'),
      user('Read them all.'),
      ...Array.from({ length: count }, (_, n) =>
        step(`call_${n}`, 'read_file', lines(rows, `file ${n} has`)),
      ).flat(),
    ],
    { model: 'gpt-6-sol' },
  );

const BUDGET = 32_000;

/** Budgets that moves wait for. */
const patient = autoStrategy.map(
  ({ min_reclaim_tokens: _, context_window_tokens: __, frontier: ___, ...input }) => ({
    ...input,
    token_budget: input.token_budget ?? 500,
  }),
);
const longConversation = fc
  .array(richConversation, { minLength: 1, maxLength: 3 })
  .map((parts) => ({ model: 'gpt-4.1', messages: parts.flatMap(({ messages }) => messages) }));

describe('a budget that is a goal', () => {
  const views = viewsOf(readings(24), { mode: 'auto', token_budget: BUDGET }, { retrieval: true });
  const first = views.findIndex(({ report }) => report.frontier.moved);

  it('says beforehand about where', () => {
    // Until then the view is the array.
    const moved = views[first]?.plan.replay.before ?? 0;
    const waiting = views.slice(0, first).filter(({ report }) => report.warnings.includes('waiting'));
    expect(waiting.length).toBeGreaterThan(1);
    for (const { report } of waiting) {
      expect(report.next_edit?.tokens).toBeGreaterThan(moved / 1.4);
      expect(report.next_edit?.tokens).toBeLessThan(moved * 1.4);
    }
  });
});

describe('a move that waits', () => {
  it('is made at three times the budget, with placeholders alone where they are enough', () => {
    for (const prices of [
      { cached: 0.1, written: 1 },
      { cached: 0.01, written: 2 },
    ]) {
      const options = { retrieval: true, prices: { ...USUAL_PRICES, ...prices } };
      const views = viewsOf(readings(40), { mode: 'auto', token_budget: BUDGET }, options);
      for (const { view } of views) expect(view.tokens).toBeLessThanOrEqual(3 * BUDGET);
      const [last] = views.slice(-1);
      expect(last?.plan.replay.moves.length).toBeGreaterThan(1);
      const moved = views.find(({ report }) => report.frontier.moved);
      expect(moved?.view.tokens).toBeLessThanOrEqual(1.5 * BUDGET);
      expect(moved?.plan.prefix).toBeUndefined();
    }
  });

  it('frees at least a budget there, and leaves no view over it from which as much could leave', () => {
    let judged = 0;
    forAll(
      { numRuns: runs(6, 100), endOnFailure: true },
      longConversation,
      patient,
      fc.boolean().chain(autoOptions),
      (conversation, input, options) => {
        const views = viewsOf(conversation, input, options);
        for (const [index, { plan, view }] of views.entries()) {
          // Above a soft budget only edits run that lose nothing, and those that are forced may.
          const { window, hard = window } = plan.budgets;
          const budget = Math.min(hard, window);
          if (view.tokens <= 3 * budget) continue;
          const part = {
            ...conversation,
            messages: conversation.messages.slice(0, plan.history.messages.length),
          };
          const forced = viewOf(part, input, { ...options, force: true });
          // Trimming is lossier than a summary, and only made where it is enough.
          if (forced.plan.trimmed) continue;
          const isEarly = index + 1 < 16 && forced.plan.prefix !== plan.prefix;
          if (isEarly) continue;
          judged++;
          expect(plan.replay.after - forced.plan.replay.after).toBeLessThan(Math.max(1, budget));
        }
      },
    );
    expect(judged).toBeGreaterThan(5);
  });

  it('is no summary of a conversation of few requests, unless that pays', () => {
    const talk = (turns: number) =>
      body([
        system('You talk.'),
        ...Array.from({ length: turns }, (_, n) => [
          user(lines(300, `question ${n}`)),
          assistant('Yes.'),
        ]).flat(),
        user('And now?'),
      ]);
    const summarized = (turns: number) =>
      viewOf(talk(turns), { mode: 'auto', token_budget: 6_000 }, { prices: USUAL_PRICES }).plan.prefix !==
      undefined;
    expect(summarized(14)).toBe(false);
    expect(summarized(15)).toBe(true);
  });

  it('waits for what the caller asks to free', () => {
    const input = { mode: 'auto', token_budget: BUDGET, min_reclaim_tokens: 1_000_000 } as const;
    const views = viewsOf(readings(20), input, { prices: USUAL_PRICES });
    expect(views.every(({ report }) => !report.frontier.moved)).toBe(true);
  });
});

describe('a budget that is hard', () => {
  it('is over no view, unless nothing more can leave', () => {
    forAll(
      runs(4, 100),
      richConversation,
      autoStrategy,
      fc.boolean(),
      (conversation, strategy, retrieval) => {
        const views = viewsOf(conversation, { ...strategy, budget: 'hard' }, { retrieval });
        for (const { view, plan, report } of views) {
          const { hard } = plan.budgets;
          if (hard === undefined || view.tokens <= hard) continue;
          expect(report.warnings).toContain('over_budget');
          expect(
            plan.replay.refused.filter(({ because }) => because === 'floor' || because === 'regret'),
          ).toEqual([]);
        }
      },
    );
  });

  it('does not wait for what a count of messages asks for', () => {
    const input = { mode: 'auto', token_budget: 2_000, budget: 'hard', max_messages: 3 } as const;
    const views = viewsOf(readings(12), input, {});
    const over = views.filter(({ view }) => view.tokens > 2_000);
    const waiting = views.filter(({ report }) => report.warnings.includes('waiting'));

    expect(over.length).toBeGreaterThan(0);
    expect(over.filter(({ report }) => !report.warnings.includes('over_budget'))).toEqual([]);
    expect(waiting).toEqual([]);
  });

  it('does not wait', () => {
    const views = viewsOf(
      readings(12),
      { mode: 'auto', token_budget: BUDGET, budget: 'hard' },
      { retrieval: true },
    );
    for (const { view } of views) expect(view.tokens).toBeLessThanOrEqual(BUDGET);
  });
});

describe('the next move', () => {
  const rule = { frontier: 'jump', hard: 32_000, window: 200_000 } as ReplayRule;
  const refused = [{ phase: 'reversible', because: 'floor', freed: 8_000, least: 20_000 }] as const;

  it.each([
    ['the budget', rule, 10_000, [], 12_000, { tokens: 32_000, because: 'budget' }],
    ['what it costs', rule, 10_000, [], 61_234, { tokens: 61_000, because: 'cost' }],
    [
      'the end of all waiting',
      { ...rule, waits: true },
      40_000,
      [],
      140_000,
      { tokens: 96_000, because: 'cost' },
    ],
    [
      'what lacks where that has passed',
      { ...rule, waits: true },
      100_000,
      refused,
      140_000,
      { tokens: 110_000, because: 'cost' },
    ],
    ['what a move lacked', rule, 40_000, refused, 12_000, { tokens: 52_000, because: 'cost' }],
    [
      'the step of the price',
      { ...rule, step: 50_000 },
      9,
      [],
      90_000,
      { tokens: 50_000, because: 'price_step' },
    ],
    ['a limit', { ...rule, limit: 32_000 }, 9, [], 120_000, { tokens: 32_000, because: 'budget' }],
    ['the window', rule, 9, [], 300_000, { tokens: 200_000, because: 'window' }],
    ['the window alone', { ...rule, hard: undefined }, 9, [], 0, { tokens: 200_000, because: 'window' }],
    ['turns', { ...rule, turnsDue: 3 }, 9, [], 0, undefined],
    ['each request', { ...rule, frontier: 'slide' as const }, 9, [], 0, undefined],
  ])('follows from %s', (_, given, view, refusals, paysFrom, expected) => {
    expect(nextMove(given as ReplayRule, view, refusals, paysFrom)).toEqual(expected);
  });
});
