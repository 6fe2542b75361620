import { describe, expect, it } from 'vitest';
import { PUBLISHED_PRICES } from '../../../../src/memory/models/published-prices.ts';
import type { DeployerPrice } from '../../../../src/memory/models/schedule.ts';
import { relativePricesOf } from '../../../../src/memory/models/schedules.ts';
import { termsOf } from '../../../../src/memory/models/terms.ts';

function cachedShare(model: string | undefined, prices?: readonly DeployerPrice[]): number {
  return relativePricesOf(model, prices).cached;
}

describe('the share of cached input', () => {
  it.each([
    ['gpt-6-astra', 0.1],
    ['gpt-6.1-sol', 0.05],
    ['gpt-5', 0.1],
    ['gpt-5-mini', 0.1],
    ['gpt-5-nano-2025-08-07', 0.1],
    ['gpt-5.2', 0.1],
    ['gpt-5.3-codex', 0.1],
    ['gpt-5-pro', 1],
    ['gpt-5.4-pro-2026-03-05', 1],
    ['gpt-4.1', 0.25],
    ['gpt-4.1-mini-2025-04-14', 0.25],
    ['gpt-4.1-nano', 0.25],
    ['gpt-4o', 0.5],
    ['gpt-4o-2024-08-06', 0.5],
    ['gpt-4o-2024-05-13', 1],
    ['gpt-4o-mini', 0.5],
    ['o1', 0.5],
    ['o1-pro', 1],
    ['o3', 0.25],
    ['o3-mini', 0.5],
    ['o3-pro', 1],
    ['o4-mini', 0.25],
    ['gpt-4', 1],
    ['gpt-4-0613', 1],
    ['gpt-4-turbo-2024-04-09', 1],
    ['gpt-3.5-turbo-0125', 1],
    ['claude-sonnet-4-6', 0.1],
    ['claude-3-5-haiku-20241022', 0.1],
    ['claude-opus-5', 0.1],
    ['claude-opus-5-5', 0.05],
    ['claude-sonnet-5-5', 0.05],
    ['claude-fable-5-1', 0.025],
    ['gemini-2.5-pro', 0.1],
    ['gemini-2.5-flash-lite', 0.1],
    ['deepseek-flash', 0.02],
    ['deepseek-v4-pro', 0.022 / 0.66],
    ['grok-4.7', 0.25],
    ['grok-4.5', 0.15],
    ['grok-4-1-fast-reasoning', 0.25],
    ['kimi-k3', 0.1],
    ['kimi-k2.7-code', 0.2],
    ['glm-5.3-flash', 0.2],
    ['glm-5.3', 0.26 / 1.4],
  ])('of %s is %d', (model, share) => {
    expect(cachedShare(model)).toBeCloseTo(share, 10);
  });

  it.each([undefined, '', 'openai/', 'my-model', 'llama-4-scout', 'gpt', 'o10', 'gpt-50', 'claudette'])(
    'is 0.1 of what nobody knows: %s',
    (model) => {
      expect(cachedShare(model)).toBe(0.1);
      expect(relativePricesOf(model).free).toBeUndefined();
      expect(relativePricesOf(model, [], true).free).toBe(true);
    },
  );

  it.each([
    ['openai/gpt-4.1', 'gpt-4.1'],
    ['openrouter/openai/gpt-4.1:nitro', 'gpt-4.1'],
    ['ft:gpt-4.1-mini-2025-04-14:acme::id', 'gpt-4.1-mini'],
    ['anthropic/claude-opus-5.5', 'claude-opus-5-5'],
    ['zai-org/GLM-5.3', 'glm-5.3'],
    ['x-ai/grok-4.1-fast', 'grok-4-1-fast-reasoning'],
  ])('is not changed by how a router spells %s', (routed, model) => {
    expect(cachedShare(routed)).toBe(cachedShare(model));
  });

  it('is the one of the family which says most of the name, and of whole words of it', () => {
    expect(cachedShare('gpt-4-1106-preview')).toBe(1); // GPT-4 Turbo, not GPT-4.1
    const prices = [
      { family: 'my', fresh: 1, cached: 0.2 },
      { family: 'my-model-2', fresh: 1, cached: 0.4 },
      { family: 'my-model', fresh: 1, cached: 0.3 },
    ];
    for (const rows of [prices, prices.toReversed()]) {
      expect(cachedShare('my-model-2:free', rows)).toBe(0.4);
      expect(cachedShare('my-model-20', rows)).toBe(0.3);
      expect(cachedShare('my-modelling', rows)).toBe(0.2);
      expect(cachedShare('mys', rows)).toBe(0.1);
    }
    expect(cachedShare('my-model', [{ family: 'my-', fresh: 1, cached: 0.2 }])).toBe(0.2);
  });

  it('is the deployer’s before the published one, however short the family', () => {
    const prices = [{ family: 'GPT-4', fresh: 4, cached: 3 }];
    expect(cachedShare('gpt-4-turbo', prices)).toBe(0.75);
    expect(cachedShare('openai/gpt-4.1-mini', prices)).toBe(0.75);
    expect(cachedShare('gpt-4o', prices)).toBe(0.5);
    expect(cachedShare('unheard-of', prices)).toBe(0.1);
  });

  it('is never 0', () => {
    expect(cachedShare('free', [{ family: 'free', fresh: 2, cached: 0 }])).toBe(0.01);
    expect(cachedShare('whole', [{ family: 'whole', fresh: 2, cached: 2 }])).toBe(1);
  });
});

describe('the relative prices, for a plan', () => {
  it.each([
    [
      'gpt-6.1-sol',
      { cached: 0.05, written: 1.25, output: 5, boundaries: 'ours', step: { above: 272_000, input: 2 } },
    ],
    ['gpt-5.5', { cached: 0.1, written: 1, output: 6, step: { above: 272_000, input: 2 } }],
    ['gpt-4.1', { cached: 0.25, written: 1, output: 4 }],
    ['anthropic/claude-opus-5', { cached: 0.1, written: 1.25, output: 5, boundaries: 'callers' }],
    ['unheard-of', { cached: 0.1, written: 1, output: 5 }],
  ])('of %s', (model, prices) => {
    expect(relativePricesOf(model)).toEqual(prices);
  });

  it('are those that a deployer says', () => {
    const step = { above: 9_000, input: 3, output: 1 };
    const own = { family: 'mine', fresh: 2, cached: 1, written: 3, step, hits: 'breakpoints-20' as const };
    expect(relativePricesOf('mine-2', [own])).toEqual({
      cached: 0.5,
      written: 1.5,
      output: 5,
      boundaries: 'ours',
      step: { above: 9_000, input: 3 },
    });
  });

  it('give marks to models that take them, unless the upstream does not', () => {
    const marks = (model: string, promptCache = true): boolean =>
      termsOf(model, { modelPrices: [], modelWindows: [], promptCache, ownModels: false }).marks;
    expect(['gpt-5.6-sol', 'gpt-5.5', 'claude-opus-5', 'unheard-of'].map((model) => marks(model))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(marks('gpt-5.6-sol', false)).toBe(false);
  });
});

describe('the table of prices', () => {
  it.each(PUBLISHED_PRICES)('gives $family its own share', ({ family, fresh, cached }) => {
    expect(cachedShare(family)).toBe(cached / fresh);
  });

  it('has one share for each family, whatever the day', () => {
    const shares = new Map<string, number>();
    for (const { family, fresh, cached } of PUBLISHED_PRICES) {
      expect(cached / fresh).toBe(shares.get(family) ?? cached / fresh);
      shares.set(family, cached / fresh);
    }
  });
});
