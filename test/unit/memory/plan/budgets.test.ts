/** The budgets that a plan acts on, and those that it can't. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { mayAct, outlineOf } from '../../../../src/memory/plan/plan.ts';
import { tokenSums } from '../../../../src/memory/tokens/sums.ts';
import { createTokenCounter, loadTokenize } from '../../../../src/memory/tokens/tokens.ts';
import { conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { step, user } from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { strategyOf, type ViewOptions, viewOf } from '../../../support/laws/view-of.ts';

const steps = (count: number, words: number) =>
  Array.from({ length: count }, (_, at) => step(`${at}`, 'read', `${at}${' apple'.repeat(words)}`)).flat();

const messages = [user('go'), ...steps(20, 200)];
const { before } = viewOf({ model: 'gpt-4o', messages }, { mode: 'compact' }).plan.replay;

describe('the room for an answer', () => {
  /** Edits of an array with such a share of a window, of which 95 % may be used. */
  const editsAt = (share: number, more: { model: string; max_tokens?: number }) => {
    const context_window_tokens = Math.ceil(before / share);
    const strategy = { mode: 'compact', context_window_tokens, token_remaining_pct: 0.05 } as const;
    const { report } = viewOf({ messages, ...more }, strategy);
    return report.applied_edits.map(({ type }) => type);
  };

  it.each(['gpt-4o', 'openai/gpt-4o', 'claude-sonnet-4-5', 'gemini-2.5-pro'])(
    'is left by a request that does not limit it: up to a fifth of the window (%s)',
    (model) => {
      expect(editsAt(0.85, { model })).toEqual(['compact']);
      expect(editsAt(0.75, { model })).toEqual([]);
    },
  );

  it('is what the request says, if it does', () => {
    expect(editsAt(0.85, { model: 'gpt-4o', max_tokens: 100 })).toEqual([]);
  });

  it('is at least what the model does not take as input', () => {
    const strategy = { mode: 'compact', token_budget: 1_000_000 } as const;
    const { plan } = viewOf({ model: 'gpt-6.2-sol', max_tokens: 100, messages }, strategy);
    expect(plan.budgets.hard).toBe(922_000);
  });

  it('is not assumed for a model that is not known', () => {
    expect(editsAt(0.85, { model: 'my-own-model' })).toEqual([]);
  });

  it.each([
    ['gpt-4o', 128_000, 16_384],
    ['gpt-5', 400_000, 20_000],
  ])('is the longest answer of %s, 20,000 tokens at most', (model, window, room) => {
    const { tokens } = viewOf({ model, messages }, { mode: 'compact', token_remaining_pct: 0 }).report;
    expect(tokens).toMatchObject({ window, budget: window - room });
  });

  it('applies to a strategy with a soft budget alone, and keeps that in the report', () => {
    const context_window_tokens = Math.ceil(before / 0.85);
    const strategy = { mode: 'trim', context_window_tokens, token_soft_budget: 100 } as const;
    const turns = [0, 1, 2, 3].flatMap((at) => [user(`turn ${at}`), ...steps(5, 200)]);
    const { report } = viewOf({ model: 'gpt-4o', messages: turns }, strategy);
    expect(report.tokens?.budget).toBe(100);
    expect(report.applied_edits).toMatchObject([{ type: 'trim' }]);
  });
});

describe('a soft budget that cannot act', () => {
  const soft = Math.floor(before / 2);
  const warningsOf = (strategy: MemoryStrategyRequest, options?: ViewOptions) =>
    viewOf({ model: 'gpt-4o', messages }, strategy, options).report.warnings;

  it.each<[string, MemoryStrategyRequest, ViewOptions?]>([
    ['contents are not to be stored', { mode: 'compact', compact_offload: false, token_soft_budget: soft }],
    ['there is no tenant', { mode: 'compact', token_soft_budget: soft }, { tenant: undefined }],
    ['the mode loses what it removes', { mode: 'trim', token_soft_budget: soft }],
    ['a summary loses what it covers', { mode: 'summarize', token_soft_budget: soft }],
    ['memory is made after the answer', { mode: 'rolling_summary', token_soft_budget: soft }],
  ])('is reported once the array exceeds it: %s', (_, strategy, options) => {
    expect(warningsOf(strategy, options)).toContain('soft_budget_idle');
    const roomy = { ...(strategy as object), token_soft_budget: before } as MemoryStrategyRequest;
    expect(warningsOf(roomy, options)).not.toContain('soft_budget_idle');
  });

  it.each(['compact', 'auto'] as const)('is not one that acts: %s with refs', (mode) => {
    expect(warningsOf({ mode, token_soft_budget: soft })).not.toContain('soft_budget_idle');
  });
});

describe('a request that is not counted', () => {
  it.each(['o200k_base', 'o200k_base*0.25', 'o200k_base*1.25', 'o200k_base*4', 'chars/4'] as const)(
    'has no more tokens than its budget, as %s counts them',
    async (measure) => {
      const numRuns = runs(20, 200);
      const counter = createTokenCounter(await loadTokenize(measure));
      let idle = 0;
      forAll(numRuns, conversation, fc.integer({ min: 500, max: 20_000 }), (body, token_budget) => {
        const { request } = viewOf(body, { mode: 'trim' });
        const strategy = strategyOf({ mode: 'trim', token_budget });
        const outline = outlineOf(strategy, request, undefined, { measure });
        if (mayAct(strategy, outline, 0)) return;
        idle++;
        expect(tokenSums(outline.history, 0, counter).total).toBeLessThanOrEqual(token_budget);
      });
      expect(idle).toBeGreaterThan(numRuns / 40);
    },
  );

  it('is counted where a factor could bring it over the budget', () => {
    const { request } = viewOf({ messages }, { mode: 'trim' });
    const bytes = messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
    const strategy = strategyOf({ mode: 'trim', token_budget: bytes + 1_000 });
    const acts = (measure: 'o200k_base' | 'o200k_base*1.25'): boolean =>
      mayAct(strategy, outlineOf(strategy, request, undefined, { measure }), 0);
    expect([acts('o200k_base'), acts('o200k_base*1.25')]).toEqual([false, true]);
  });
});
