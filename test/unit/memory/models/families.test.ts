import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { longestAnswerOf, measureOf, windowOf } from '../../../../src/memory/models/facts.ts';
import { baseName, rowAsNamed, rowOf, spelling } from '../../../../src/memory/models/families.ts';
import { PUBLISHED_PRICES } from '../../../../src/memory/models/published-prices.ts';
import { relativePricesOf, scheduleOf } from '../../../../src/memory/models/schedules.ts';
import { termsOf } from '../../../../src/memory/models/terms.ts';
import { forAll } from '../../../support/laws/runs.ts';

const rows = (...families: string[]) => families.map((family) => ({ family }));
const familyOf = (name: string, ...families: string[]) => rowOf(name, rows(...families))?.family;

describe('the name of a model', () => {
  it('ends at the version that Vertex adds, in one pass', () => {
    expect(baseName('claude-opus-5@20260724')).toBe('claude-opus-5');
    expect(baseName('claude-opus-5@a\n')).toBe('claude-opus-5');
    expect(baseName(`claude-opus-5${'@'.repeat(1_000_000)}\n`)).toBe('claude-opus-5');
  });
});

describe('the family of a model', () => {
  it.each([
    ['gpt-4.1-mini', 'gpt-4.1'],
    ['gpt-4.10', 'gpt-4'],
    ['gpt-4-1106-preview', 'gpt-4'],
    ['gpt-4o', undefined],
    ['gpt-41', undefined],
    ['GPT-4.1', 'gpt-4.1'],
    ['gpt-4-1', 'gpt-4.1'],
    ['', undefined],
  ])('of %s is the longest that ends with a word or number: %s', (name, family) => {
    expect(familyOf(name, 'gpt-4', 'gpt-4.1')).toBe(family);
  });

  it.each(['qwen3-coder', 'qwen-max', 'Qwen2.5', 'qwen'])('may end before the number of %s', (name) => {
    expect(familyOf(name, 'qwen')).toBe('qwen');
  });

  it('is the first row’s of equal ones that is accepted', () => {
    const table = [
      { family: 'a', until: 1 },
      { family: 'a', until: 2 },
    ];
    expect(rowOf('a', table)?.until).toBe(1);
    expect(rowOf('a', table, ({ until }) => until > 1)?.until).toBe(2);
    expect(rowOf('a', table, ({ until }) => until > 2)).toBeUndefined();
  });

  it('is a shorter one where the longest is not accepted', () => {
    const table = rows('a', 'a-b');
    expect(rowOf('a-b-c', table, ({ family }) => family !== 'a-b')?.family).toBe('a');
    expect(rowOf('a-b-c', table, (_, rest) => rest === '-c')?.family).toBe('a-b');
  });

  it.each([
    ['claude-3-5-sonnet-20241022', ['claude-3'], 'claude-3'],
    ['claude-3-5-sonnet-20241022', ['claude-3', 'claude-3-5'], 'claude-3-5'],
    ['claude-3-5-sonnet-20241022', ['claude-sonnet', 'claude-3-5'], 'claude-3-5'],
    ['claude-3-5-sonnet-20241022', ['claude', 'claude-sonnet-3.5'], 'claude-sonnet-3.5'],
    ['claude-3-5-haiku-20241022', ['claude-3-haiku'], undefined],
    ['claude-3-opus-20240229', ['claude-3'], 'claude-3'],
    ['claude-4.5-sonnet', ['claude-4', 'claude'], 'claude-4'],
    ['claude-4.5-sonnet', ['claude-4', 'claude-4.5-sonnet', 'claude-sonnet-4.5'], 'claude-4.5-sonnet'],
    ['claude-4.5-sonnet', ['claude-4', 'claude-sonnet-4.5'], 'claude-sonnet-4.5'],
    ['claude-sonnet-4-5', ['claude-4'], undefined],
    ['glm-5p2', ['glm-5p2', 'glm-5.2'], 'glm-5p2'],
    ['glm-5p2', ['glm', 'glm-5'], 'glm-5'],
    ['gpt-35-turbo', ['gpt-3.5', 'gpt-35'], 'gpt-35'],
    ['gpt-35-turbo', ['gpt', 'gpt-3.5'], 'gpt-3.5'],
  ])('of %s among %j begins its name or its vendor’s: %s', (name, families, family) => {
    for (const table of [families, families.toReversed()]) expect(familyOf(name, ...table)).toBe(family);
  });

  it('is found by the vendor’s name where the row of the name as it is is not accepted', () => {
    const table = rows('claude-4', 'claude-sonnet');
    expect(rowOf('claude-4-sonnet', table, ({ family }) => family !== 'claude-4')?.family).toBe(
      'claude-sonnet',
    );
  });

  it.each(['claude-4.5-sonnet', 'glm-5p2', 'gpt-35-turbo'])('is not found by %s as it is', (name) => {
    const table = rows('claude-sonnet-4.5', 'glm-5.2', 'gpt-3.5-turbo');
    expect(rowOf(name, table)).toBeDefined();
    expect(rowAsNamed(name, table)).toBeUndefined();
  });

  it('is its own, in each spelling, for each row of the prices', () => {
    for (const { family } of PUBLISHED_PRICES)
      for (const name of [family, spelling(family), family.toUpperCase(), `${family}-2026-01-01`])
        expect(rowOf(name, PUBLISHED_PRICES)?.family).toBe(family);
  });

  it('is the longest family that begins the name, for any table', () => {
    const word = fc.constantFrom('a', 'b1', '2', 'c');
    const name = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join('-'));
    forAll(name, fc.array(name, { maxLength: 8 }), (model, families) => {
      const fitting = families.filter((family) => `${model}-`.startsWith(`${family}-`));
      const longest = fitting.toSorted((one, other) => other.length - one.length)[0];
      expect(familyOf(model, ...families)).toBe(longest);
    });
  });
});

describe('the names of gateways', () => {
  it.each([
    // Bedrock: a region, the vendor, the model, its version.
    ['us.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5.5'],
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4.5'],
    ['us-gov.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4.5'],
    ['apac.anthropic.claude-sonnet-4-20250514-v1:0', 'claude-sonnet-4'],
    ['global.anthropic.claude-fable-5-2-v1', 'claude-fable-5.2'],
    ['global.anthropic.claude-opus-5', 'claude-opus-5'],
    ['anthropic.claude-3-5-haiku-20241022-v1:0', 'claude-haiku-3.5'],
    ['in.openai.gpt-5.6-terra', 'gpt-5.6-terra'],
    ['openai.gpt-oss-120b-1:0', 'gpt-oss-120b'],
    ['us.deepseek.r1-v1:0', 'deepseek-r1'],
    ['deepseek.v3-v1:0', 'deepseek-v3'],
    ['moonshotai.kimi-k2.5', 'kimi-k2.5'],
    ['zai.glm-4.7', 'glm-4.7'],
    ['qwen.qwen3-coder-480b-a35b-v1:0', 'qwen3-coder'],
    ['bedrock/us-east-1/us.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5.5'],
    ['bedrock/converse/eu.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5.5'],
    [
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-5-v1:0',
      'claude-opus-5.5',
    ],
    // Vertex: a version or a region.
    ['claude-opus-5-5@20260831', 'claude-opus-5.5'],
    ['vertex_ai/claude-opus-4-5@20251101', 'claude-opus-4.5'],
    ['vertex/anthropic/claude-sonnet-5@us-east5', 'claude-sonnet-5'],
    ['publishers/anthropic/models/claude-haiku-4-5@default', 'claude-haiku-4.5'],
    ['models/gemini-3.1-pro', 'gemini-3.1-pro'],
    ['publishers/google/models/gemini-2.5-flash', 'gemini-2.5-flash'],
    // Routers.
    ['anthropic/claude-opus-5.5:beta', 'claude-opus-5.5'],
    ['openrouter/anthropic/claude-opus-5.5:thinking', 'claude-opus-5.5'],
    ['anthropic/claude-4.5-sonnet-20250929', 'claude-sonnet-4.5'],
    ['~anthropic/claude-fable-5.2', 'claude-fable-5.2'],
    ['openai/gpt-oss-120b:cerebras', 'gpt-oss-120b'],
    ['@cf/openai/gpt-oss-120b', 'gpt-oss-120b'],
    ['accounts/fireworks/models/glm-5p3', 'glm-5.3'],
    ['accounts/fireworks/models/kimi-k2p6', 'kimi-k2.6'],
    ['together_ai/deepseek-ai/DeepSeek-V4-Pro', 'deepseek-v4-pro'],
    // Platforms.
    ['databricks-claude-opus-5-5', 'claude-opus-5.5'],
    ['system.ai.databricks-claude-opus-4-6', 'claude-opus-4.6'],
    ['databricks-gpt-5-5', 'gpt-5.5'],
    ['anthropic--claude-4.5-haiku', 'claude-haiku-4.5'],
    ['xai.grok-4.5', 'grok-4.5'],
    ['openai-gpt-4.1', 'gpt-4.1'],
    ['azure/eu/gpt-4o-2024-08-06', 'gpt-4o-2024-08-06'],
    ['azure-gpt-5.5', 'gpt-5.5'],
    ['ft:gpt-4.1-mini:org::id', 'gpt-4.1-mini'],
    ['ft:gpt-4.1-mini-2025-04-14:org:my.suffix:id', 'gpt-4.1-mini-2025-04-14'],
    ['claude-opus-5-5[1m]', 'claude-opus-5.5'],
  ])('%s is %s', (name, model) => {
    const { window, answer, prices, reasoning } = termsOf(model);
    expect(termsOf(name)).toMatchObject({ window, answer, prices, reasoning });
    expect(measureOf(name)).toBe(measureOf(model));
  });

  it.each([
    'my-gpt-4o',
    'acme-claude-opus-5-5',
    'not.a.model',
    'llama.cpp',
    'anthropic',
    'openai-community',
    'us.',
    '@latest',
    'gpt-41',
    'text-embedding-3-small',
  ])('%s is no model that a table has', (name) => {
    expect(termsOf(name)).toEqual(termsOf('a-model-that-nobody-knows'));
  });

  it('leave their own prices open, but for the deployer’s', () => {
    const at = { day: '2026-11-30', weekday: 1, hour: 12 };
    for (const [name, family] of [
      ['us.anthropic.claude-opus-5-5-v1:0', 'claude-opus-5.5'],
      ['accounts/fireworks/models/glm-5p2', 'glm-5.2'],
      ['accounts/fireworks/models/glm-5p3', 'glm-5p3'],
      ['anthropic--claude-4.5-sonnet', 'claude-sonnet-4.5'],
      ['claude-4.5-sonnet', 'claude-sonnet-4.5'],
      ['gpt-35-turbo', 'gpt-3.5-turbo'],
    ] as const) {
      expect(scheduleOf(name, at)).toBeUndefined();
      const own = { family, fresh: 4.4, cached: 0.22, output: 22 };
      expect(scheduleOf(name, at, [own])).toMatchObject({ fresh: 4.4, output: 22 });
    }
  });

  it('leave the names of vendors as they are', () => {
    for (const { family } of PUBLISHED_PRICES) expect(baseName(family)).toBe(family);
  });

  it('tell the encodings of models with similar names apart', () => {
    for (const name of ['gpt-4', 'gpt-4-0613', 'gpt-4-32k', 'gpt-4-1106-preview', 'gpt-35-turbo'])
      expect(measureOf(name)).toBe('cl100k_base');
    for (const name of ['gpt-4o', 'gpt-4.1', 'gpt-4-1-mini', 'gpt-5'])
      expect(measureOf(name)).toBe('o200k_base');
    expect(windowOf('gpt-4-1-mini')).toBe(windowOf('gpt-4.1-mini'));
  });

  it.each([
    ['gpt-35-turbo', 16_385, 4_096],
    ['gpt-35-turbo-16k', 16_385, 4_096],
    ['gpt-35-turbo-16k-0613', 16_385, 4_096],
    ['gpt-3.5-turbo-16k', 16_385, 4_096],
    ['gpt-35-turbo-instruct-0914', 4_096, 4_096],
    ['gpt-4-32k-0613', 32_768, 8_192],
  ])('%s has a window of %d tokens and answers of %d', (name, window, answer) => {
    expect(windowOf(name)).toBe(window);
    expect(longestAnswerOf(name)).toBe(answer);
    expect(measureOf(name)).toBe('cl100k_base');
  });

  it.each([
    ['claude-3', 'claude-3-5-sonnet-20241022'],
    ['claude-3-5', 'claude-3-5-sonnet-20241022'],
    ['claude-3', 'claude-3-opus-20240229'],
    ['claude-4', 'claude-4.5-sonnet'],
    ['claude-3-5', 'us.anthropic.claude-3-5-sonnet-20241022-v2:0'],
  ])('leave a deployer’s rows of %s to %s', (family, name) => {
    const at = { day: '2026-11-30', weekday: 1, hour: 12 };
    const price = { family, fresh: 3, cached: 0.6, output: 15 };
    expect(scheduleOf(name, at, [price])?.fresh).toBe(3);
    expect(relativePricesOf(name, [price]).cached).toBeCloseTo(0.2, 10);
    expect(windowOf(name, [{ family, window: 1_234 }])).toBe(1_234);
    expect(measureOf(name, undefined, [{ family, factor: 2 }])).toBe('o200k_base*2');
  });
});
