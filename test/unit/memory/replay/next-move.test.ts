import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextMove } from '../../../../src/memory/replay/next-move.ts';
import type { ReplayRule } from '../../../../src/memory/replay/rule.ts';
import { autoStrategy, richConversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { runs } from '../../../support/laws/runs.ts';
import { viewsOf } from '../../../support/laws/view-of.ts';

/** An agent that reads files of about 9,000 tokens. */
const readings = (count: number, rows = 1_300) =>
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

describe('a budget that is a goal', () => {
  const views = viewsOf(readings(24), { mode: 'auto', token_budget: BUDGET }, { retrieval: true });
  const first = views.findIndex(({ report }) => report.frontier.moved);

  it('says beforehand about where', () => {
    const moved = views[first]?.plan.replay.before ?? 0;
    const waiting = views.slice(0, first).filter(({ report }) => report.warnings.includes('waiting'));
    expect(waiting.length).toBeGreaterThan(1);
    for (const { report } of waiting) {
      expect(report.next_edit?.tokens).toBeGreaterThan(moved / 1.4);
      expect(report.next_edit?.tokens).toBeLessThan(moved * 1.4);
    }
  });
});

describe('a budget that is hard', () => {
  it('is over no view, unless nothing more can leave', () => {
    fc.assert(
      fc.property(richConversation, autoStrategy, fc.boolean(), (conversation, strategy, retrieval) => {
        const views = viewsOf(conversation, { ...strategy, budget: 'hard' }, { retrieval });
        for (const { view, plan, report } of views) {
          const { hard } = plan.budgets;
          if (hard === undefined || view.tokens <= hard) continue;
          expect(report.warnings).toContain('over_budget');
          expect(
            plan.replay.refused.filter(({ because }) => because === 'floor' || because === 'regret'),
          ).toEqual([]);
        }
      }),
      { numRuns: runs(12, 100) },
    );
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
