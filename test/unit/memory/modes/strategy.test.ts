import { describe, expect, it } from 'vitest';
import { termsOf } from '../../../../src/memory/models/terms.ts';
import {
  budgetFault,
  budgetsOf,
  frontierOf,
  knownFields,
  MODES,
  namesNone,
  parseStrategy,
} from '../../../../src/memory/modes/strategy.ts';
import { rehydrationOf } from '../../../../src/memory/strategy/fields.ts';
import { strategyOf } from '../../../support/laws/view-of.ts';

const faultOf = (input: unknown) => {
  const parsed = parseStrategy(input);
  return parsed.ok ? undefined : parsed.reason;
};

describe('a strategy', () => {
  it('may be the name of a mode', () => {
    expect(parseStrategy('none')).toEqual({ ok: true, value: { mode: 'none' } });
    expect(strategyOf({ mode: 'compact' })).toMatchObject({
      compact_offload: true,
      compact_min_tokens: 0,
      low_watermark_pct: 0,
    });
  });

  it.each(['trim', 'compact', 'summarize', 'rolling_summary', 'auto'] as const)(
    'may ask for an archive in mode %s, which is off by default',
    (mode) => {
      expect(parseStrategy({ mode })).toMatchObject({ value: { archive: false } });
      expect(parseStrategy({ mode, archive: true })).toMatchObject({ value: { archive: true } });
    },
  );

  it.each(MODES)('takes the same archives in mode %s, and refuses others in the same words', (mode) => {
    const archives = { scope: 'user', writable: true };
    expect(parseStrategy({ mode, archive: archives })).toMatchObject({ value: { archive: archives } });
    for (const archive of [1, 'yes', []])
      expect(faultOf({ mode, archive })).toEqual({
        field: 'archive',
        message: expect.stringContaining('it must be true, false, or an object of scope and writable'),
      });
    expect(faultOf({ mode, archive: { writable: true } })).toEqual({
      field: 'archive.writable',
      message: expect.stringContaining("it needs the scope 'user'"),
    });
  });

  it.each([
    [{ mode: 'compact', token_budgt: 1 }, 'token_budgt', "nearest known one is 'token_budget'"],
    [{ mode: 'compact', keep: 1 }, 'keep', "'compact_keep'"],
    [{ mode: 'trim', compact_keep: 1 }, 'compact_keep', "mode 'trim'"],
    [{ mode: 'trim', temperature: 1 }, 'temperature', "the mode's fields are mode, token_budget, "],
    [{ mode: 'trim', xyz: 1 }, 'xyz', "the mode's fields are mode, token_budget, "],
    [{ mode: 'trim', xyz: null }, 'xyz', "Unknown field 'xyz'"],
    [
      { mode: 'auto', rehydrate: { max_token: 1 } },
      'rehydrate.max_token',
      "Unknown field 'max_token' in memory_strategy.rehydrate; the nearest known one is 'max_tokens'",
    ],
    [{ mode: 'summarize', rehydrate: { xyz: 1 } }, 'rehydrate.xyz', 'its fields are items, max_tokens'],
    [{ mode: null, token_budget: 1 }, 'mode', 'mode is missing'],
    [{ mode: 'trim', compact_keep: 1, summary_focus: null }, 'compact_keep', "mode 'trim'"],
    [{ mode: 'compct' }, 'mode', 'none, trim, compact'],
    [{ token_budget: 1 }, 'mode', 'mode is missing'],
    [{ mode: 'toString' }, 'mode', 'Unknown mode'],
    [{ mode: { toString: 1 } }, 'mode', 'Unknown mode of type object'],
    [{ mode: 'compact', compact_exclude_tools: Array(101).fill('a') }, 'compact_exclude_tools', '100'],
    [['compact'], '', 'must be an object'],
    [null, '', 'must be an object'],
    [7, '', 'must be an object'],
    [
      { mode: 'compact', token_budget: -1 },
      'token_budget',
      'memory_strategy.token_budget must be at least 0; it is -1.',
    ],
    [{ mode: 'compact', token_budget: 1.5 }, 'token_budget', 'must be a whole number; it is 1.5.'],
    [{ mode: 'compact', token_budget: '9' }, 'token_budget', "must be a number; it is '9'."],
    [
      { mode: 'compact', token_remaining_pct: 1.1 },
      'token_remaining_pct',
      'memory_strategy.token_remaining_pct',
    ],
    [{ mode: 'compact', low_watermark_pct: -0.1 }, 'low_watermark_pct', 'memory_strategy.low_watermark_pct'],
    [{ mode: 'compact', compact_keep: -1 }, 'compact_keep', 'memory_strategy.compact_keep'],
    [
      { mode: 'compact', compact_exclude_tools: ['a', 1] },
      'compact_exclude_tools.1',
      'compact_exclude_tools.1',
    ],
    [{ mode: 'compact', compact_preview_tokens: 1001 }, 'compact_preview_tokens', 'compact_preview_tokens'],
    [{ mode: 'compact', frontier: 'leap' }, 'frontier', 'must be "jump" or "slide"; it is \'leap\'.'],
    [{ mode: 'compact', context_window_tokens: 0 }, 'context_window_tokens', 'context_window_tokens'],
    [{ mode: 'trim', max_turns: 2, keep_last_n_turns: 3 }, 'keep_last_n_turns', 'must not be larger'],
    [
      { mode: 'trim', observe: 'on' },
      'observe',
      'must be true, false, or a share of the conversations, from 0 to 1',
    ],
    [{ mode: 'compact', compact_include_tools: [''] }, 'compact_include_tools.0', 'must not be empty'],
    [{ mode: 'none', token_budget: 1 }, 'token_budget', "mode 'none'"],
    [{ mode: 'none', archive: 1 }, 'archive', 'memory_strategy.archive'],
    [{ mode: 'compact', archive: 1 }, 'archive', 'memory_strategy.archive'],
    [{ mode: 'summarize', context_limt: 1 }, 'context_limt', "nearest known one is 'context_limit'"],
    [{ mode: 'summarize', max_tokens: 1 }, 'max_tokens', "'summary_max_tokens'"],
    [{ mode: 'summarize', focus: 'x' }, 'focus', "'summary_focus'"],
    [{ mode: 'summarize', rolling_window_size: 4 }, 'rolling_window_size', "mode 'summarize'"],
    [{ mode: 'summarize', context_limit: 2, keep_last_n_turns: 3 }, 'keep_last_n_turns', 'context_limit (2)'],
    [{ mode: 'summarize', context_limit: -1 }, 'context_limit', 'memory_strategy.context_limit'],
    [{ mode: 'summarize', summary_max_tokens: 63 }, 'summary_max_tokens', '64'],
    [{ mode: 'summarize', summary_max_tokens: 32_001 }, 'summary_max_tokens', '32000'],
    [{ mode: 'summarize', summarizer_model: '' }, 'summarizer_model', 'summarizer_model'],
    [{ mode: 'summarize', summary_focus: 'x'.repeat(2_001) }, 'summary_focus', '2000'],
    [{ mode: 'summarize', incremental: 'yes' }, 'incremental', 'incremental'],
    [{ mode: 'summarize', rehydrate: 'yes' }, 'rehydrate', 'an object of items and max_tokens'],
    [{ mode: 'summarize', rehydrate: [] }, 'rehydrate', 'an object of items and max_tokens'],
    [{ mode: 'auto', rehydrate: { items: 0 } }, 'rehydrate.items', 'memory_strategy.rehydrate.items'],
    [{ mode: 'auto', rehydrate: { items: 21 } }, 'rehydrate.items', '20'],
    [{ mode: 'auto', rehydrate: { max_tokens: 100_001 } }, 'rehydrate.max_tokens', '100000'],
    [{ mode: 'auto', rehydrate: { files: 1 } }, 'rehydrate.files', "'files' in memory_strategy.rehydrate"],
    [{ mode: 'trim', rehydrate: true }, 'rehydrate', "mode 'trim'"],
    [{ mode: 'rolling_summary', window_size: 4 }, 'window_size', "'rolling_window_size'"],
    [{ mode: 'rolling_summary', context_limit: 4 }, 'context_limit', "mode 'rolling_summary'"],
    [{ mode: 'rolling_summary', rolling_window_size: 1 }, 'rolling_window_size', '2'],
    [{ mode: 'rolling_summary', summary_max_tokens: 63 }, 'summary_max_tokens', '64'],
    [{ mode: 'rolling_summary', overflow_policy: 'drop' }, 'overflow_policy', 'truncate_oldest'],
    [{ mode: 'rolling_summary', retry_attempts: 11 }, 'retry_attempts', '10'],
    [{ mode: 'rolling_summary', retry_backoff_base_s: -1 }, 'retry_backoff_base_s', 'retry_backoff_base_s'],
    [{ mode: 'rolling_summary', full_zone_turns: -1 }, 'full_zone_turns', 'full_zone_turns'],
  ])('%j is refused by its field, with what would be right', (input, field, message) => {
    expect(faultOf(input)).toEqual({ field, message: expect.stringContaining(message) });
  });

  it('is never said to have a retired field', () => {
    expect(faultOf({ mode: 'auto', condens: 1 })?.message).not.toMatch(/\bcondense\b/);
  });

  it.each(['summarize', 'auto'])('takes %s to be rehydrated as far as is asked', (mode) => {
    const limits = (rehydrate?: unknown) => {
      const parsed = parseStrategy({ mode, rehydrate });
      return parsed.ok && 'rehydrate' in parsed.value ? rehydrationOf(parsed.value) : 'none';
    };

    expect([limits(), limits(false), limits(null)]).toEqual([undefined, undefined, undefined]);
    for (const usual of [true, {}, { items: null, max_tokens: null }])
      expect(limits(usual)).toEqual({ items: 5, max_tokens: 20_000 });
    expect(limits({ items: 20, max_tokens: 1 })).toEqual({ items: 20, max_tokens: 1 });
  });

  const nulls = Object.fromEntries(MODES.flatMap(knownFields).map((field) => [field, null]));

  it.each(MODES)('takes null for the default of every field of any mode in mode %s', (mode) => {
    expect(parseStrategy({ ...nulls, mode })).toEqual(parseStrategy({ mode }));
  });

  it.each<[unknown, boolean]>([
    [{ mode: null }, true],
    [nulls, true],
    [{ ...nulls, token_budget: 0 }, false],
    [{ mode: null, xyz: null }, false],
    [{ mode: 'none' }, false],
    [{}, false],
    [null, false],
    ['none', false],
    [['mode'], false],
  ])('is asked of no other place unless nothing is named: %j', (input, isNone) => {
    expect(namesNone(input)).toBe(isNone);
  });

  it('has the defaults that are written down, in each mode that summarizes', () => {
    expect(parseStrategy('summarize')).toMatchObject({
      ok: true,
      value: { summary_max_tokens: 2048, incremental: true, low_watermark_pct: 0, min_reclaim_tokens: 0 },
    });
    expect(parseStrategy('rolling_summary')).toMatchObject({
      ok: true,
      value: {
        rolling_window_size: 14,
        summarize_after_seq: 5,
        full_zone_turns: 2,
        summary_max_tokens: 1000,
        total_max_tokens: 10_000,
        overflow_policy: 'truncate_oldest',
        retry_attempts: 3,
        retry_backoff_base_s: 2,
        degraded_retry_interval_s: 30,
        recovery_backlog_limit: 20,
        include_trajectory_digest: true,
      },
    });
  });

  it('may keep as many turns as its limit allows, and no turn at all', () => {
    expect(faultOf({ mode: 'summarize', context_limit: 3, keep_last_n_turns: 3 })).toBeUndefined();
    expect(faultOf({ mode: 'summarize', context_limit: 3, keep_last_n_turns: 0 })).toBeUndefined();
    expect(faultOf({ mode: 'summarize', summary_max_tokens: 64 })).toBeUndefined();
  });

  it('may keep fewer turns by default than its limit allows', () => {
    expect(faultOf({ mode: 'trim', max_turns: 1 })).toBeUndefined();
  });
});

describe('the budgets of a strategy', () => {
  const budgets = (input: Parameters<typeof strategyOf>[0], model = 'gpt-4o') =>
    budgetsOf(strategyOf(input), termsOf(model));

  it('are four fifths of the model’s window when nothing is said, a turn count being nothing', () => {
    expect(budgets({ mode: 'compact' })).toMatchObject({ window: 128_000, hard: 102_400 });
    expect(budgets({ mode: 'compact', compact_trigger_turns: 3 })).toMatchObject({
      window: 128_000,
      hard: 102_400,
    });
    expect(budgets({ mode: 'trim' }, 'my-own-model')).toEqual({ window: 400_000, hard: 320_000 });
  });

  it('stay below the step of the price, less the room for an answer, when nothing is said', () => {
    expect(budgets({ mode: 'auto' }, 'gpt-5.6-sol')).toEqual({
      window: 1_050_000,
      hard: 252_000,
      step: 272_000,
    });
    expect(budgets({ mode: 'auto' }, 'claude-haiku-5-5')).toMatchObject({ hard: 80_000, step: 100_000 });
    expect(budgets({ mode: 'auto', context_window_tokens: 200_000 }, 'gpt-5.5')).toMatchObject({
      hard: 160_000,
      step: 272_000,
    });
    expect(budgets({ mode: 'auto', token_remaining_pct: 0.2 }, 'gpt-5.5')).toEqual({
      window: 1_050_000,
      hard: 840_000,
    });
    expect(budgets({ mode: 'auto', token_budget: 500_000 }, 'gpt-5.5').step).toBeUndefined();
  });

  it('have a goal where the price has no step: more where cached input costs less, and writes more', () => {
    const goalOf = (model: string) => budgets({ mode: 'auto' }, model).goal;
    expect(goalOf('gpt-5.2')).toBe(100_000);
    expect(goalOf('gpt-4.1')).toBe(100_000);
    expect(goalOf('claude-opus-5.2')).toBe(125_000);
    expect(goalOf('claude-fable-5.2')).toBe(500_000);
    expect(goalOf('gpt-5.6-sol')).toBeUndefined();
    expect(goalOf('my-own-model')).toBeUndefined();
    expect(budgets({ mode: 'auto', context_window_tokens: 120_000 }, 'gpt-4.1').goal).toBeUndefined();
    expect(budgets({ mode: 'auto', token_soft_budget: 9 }, 'gpt-4.1').goal).toBeUndefined();
  });

  it('are shares of the window that the caller names', () => {
    expect(budgets({ mode: 'compact', context_window_tokens: 1000, token_remaining_pct: 0.9 })).toEqual({
      window: 1000,
      hard: 100,
    });
  });

  it('are the smaller one when given both ways', () => {
    expect(budgets({ mode: 'compact', token_budget: 500, token_remaining_pct: 0.5 }).hard).toBe(500);
  });

  it('may be soft alone', () => {
    expect(budgets({ mode: 'compact', token_soft_budget: 500 })).toEqual({ window: 128_000, soft: 500 });
  });

  it('are refused when the soft one is over the hard one, however they were given', () => {
    const fault = (input: Parameters<typeof strategyOf>[0]) =>
      budgetFault(strategyOf(input), 'gpt-4o')?.field;
    expect(fault({ mode: 'compact', token_budget: 10, token_soft_budget: 11 })).toBe('token_soft_budget');
    expect(fault({ mode: 'compact', token_remaining_pct: 0.5, token_soft_remaining_pct: 0.4 })).toBe(
      'token_soft_remaining_pct',
    );
    expect(fault({ mode: 'compact', token_budget: 10, token_soft_budget: 10 })).toBeUndefined();
  });
});

describe('the frontier of a strategy', () => {
  it.each([
    [{ mode: 'compact' }, 'jump'],
    [{ mode: 'compact', compact_trigger_turns: 3 }, 'slide'],
    [{ mode: 'compact', compact_trigger_turns: 3, token_budget: 9 }, 'jump'],
    [{ mode: 'compact', compact_trigger_turns: 3, frontier: 'jump' }, 'jump'],
    [{ mode: 'trim', max_turns: 3 }, 'jump'],
    [{ mode: 'summarize' }, 'jump'],
    [{ mode: 'summarize', context_limit: 3 }, 'jump'],
    [{ mode: 'trim', max_turns: 3, frontier: 'slide' }, 'slide'],
  ] as const)('of %j does a %s', (input, expected) => {
    expect(frontierOf(strategyOf(input))).toBe(expected);
  });
});
