import { describe, expect, it } from 'vitest';
import { waitsForWindow } from '../../../../src/memory/modes/strategy.ts';
import { isNotice } from '../../../../src/memory/plan/notices.ts';
import { assistant, step, user } from '../../../support/conversations/chat.ts';
import { strategyOf, viewOf } from '../../../support/laws/view-of.ts';

const steps = (...words: readonly number[]) =>
  words.flatMap((count, at) => step(`${at}`, 'read', `${at}${' apple'.repeat(count)}`));

const body = (messages: readonly object[]) => ({ model: 'gpt-4o', messages: [...messages] });

describe('a strategy that waits', () => {
  // What may leave is small, and what has to be read again after it is large.
  const messages = [user('go'), ...steps(900, 900, 6_000, 6_000, 6_000)];
  const { before = 0 } = viewOf(body(messages), { mode: 'auto' }).report.tokens ?? {};
  const warningsOf = (fields: object, some: readonly object[] = messages) =>
    viewOf(body(some), { mode: 'auto', ...fields }).report.warnings;

  it('says so while a move would not pay, though the view is over its budget', () => {
    const { report, plan } = viewOf(body(messages), { mode: 'auto', token_budget: before - 1 });
    expect(plan.replay.refused).toContainEqual(expect.objectContaining({ because: 'floor' }));
    expect(report.tokens?.after).toBeGreaterThan(report.tokens?.budget ?? before);
    expect(report.warnings).toEqual(['waiting']);
  });

  it('says so over a soft budget, and for a trigger of turns', () => {
    expect(warningsOf({ token_soft_budget: before - 1 })).toEqual(['waiting']);
    const talk = [
      user('go'),
      ...steps(900, 900),
      assistant('Done.'),
      user('And?'),
      assistant('Yes.'),
      user('Go.'),
    ];
    expect(
      warningsOf({ compact_trigger_turns: 1, compact_keep: 1, min_reclaim_tokens: 50_000 }, talk),
    ).toEqual(['waiting']);
  });

  it('says nothing once the move is made, and before anything is due', () => {
    expect(warningsOf({ token_budget: before - 1, min_reclaim_tokens: 0 })).toEqual([]);
    expect(warningsOf({ token_budget: before })).toEqual([]);
  });

  it('is over its budget where there is nothing to wait for', () => {
    expect(warningsOf({ token_budget: 500 }, [user('one long question '.repeat(400))])).toEqual([
      'over_budget',
    ]);
  });
});

describe('a strategy that waits for the window', () => {
  it.each([
    [{ mode: 'auto' }, true],
    [{ mode: 'auto', compact_keep: 3 }, true],
    [{ mode: 'auto', token_budget: 32_000 }, false],
    [{ mode: 'auto', token_soft_budget: 32_000 }, false],
    [{ mode: 'auto', token_remaining_pct: 0.5 }, false],
    [{ mode: 'auto', compact_trigger_turns: 4 }, false],
    [{ mode: 'auto', compact_trigger_steps: 4 }, false],
    [{ mode: 'auto', context_limit: 8 }, false],
    [{ mode: 'compact' }, true],
    [{ mode: 'compact', compact_keep: 3, compact_retrieval: 'tool' }, true],
    [{ mode: 'compact', compact_trigger_turns: 4 }, false],
    [{ mode: 'compact', compact_trigger_steps: 4 }, false],
    [{ mode: 'compact', token_soft_budget: 32_000 }, false],
    [{ mode: 'trim' }, true],
    [{ mode: 'trim', keep_last_n_turns: 4 }, true],
    [{ mode: 'trim', max_turns: 8 }, false],
    [{ mode: 'trim', max_messages: 8 }, false],
    [{ mode: 'trim', token_budget: 32_000 }, false],
    [{ mode: 'summarize' }, true],
    [{ mode: 'summarize', keep_last_n_turns: 4 }, true],
    [{ mode: 'summarize', context_limit: 8 }, false],
    [{ mode: 'summarize', max_messages: 8 }, false],
    [{ mode: 'summarize', token_remaining_pct: 0.5 }, false],
    // Its memory is made by rounds alone.
    [{ mode: 'rolling_summary' }, false],
  ] as const)('has neither a budget nor a trigger: %j', (input, waits) => {
    const strategy = strategyOf(input);
    expect(waitsForWindow(strategy)).toBe(waits);
  });
});

describe('a notice', () => {
  it('is a warning that reports no fault', () => {
    const codes = ['waiting', 'dearer', 'idle', 'window_unknown', 'over_budget', 'store_failed', 'unknown'];
    expect(codes.filter(isNotice)).toEqual(['waiting', 'dearer', 'idle', 'window_unknown']);
  });
});
