import { describe, expect, it } from 'vitest';
import { claudeTermsOf } from '../../../../src/memory/models/claude-terms.ts';
import { longestAnswerOf } from '../../../../src/memory/models/facts.ts';

describe('what a model of Anthropic takes', () => {
  it.each<[model: string, thinking: string, takesForced: boolean, takesSystem: boolean]>([
    ['claude-opus-5-5', 'adaptive', false, true],
    ['us.anthropic.claude-opus-5-5-v1:0', 'adaptive', false, true],
    ['anthropic/claude-opus-5.5', 'adaptive', false, true],
    ['claude-opus-5-6', 'adaptive', false, true],
    ['claude-opus-5', 'adaptive', true, true],
    ['claude-opus-5@20260724', 'adaptive', true, true],
    ['claude-sonnet-5-5', 'adaptive', false, true],
    ['claude-sonnet-5', 'adaptive', true, false],
    ['claude-haiku-5-5', 'adaptive', true, true],
    ['claude-fable-5', 'adaptive', true, true],
    ['claude-fable-5-2', 'adaptive', false, true],
    ['claude-mythos-preview', 'adaptive', true, false],
    ['claude-opus-4-8', 'adaptive', true, true],
    ['claude-opus-4-7', 'adaptive', true, false],
    ['claude-sonnet-4-6', 'adaptive', true, false],
    ['claude-4.5-sonnet', 'budget', true, false],
    ['claude-opus-4-20250514', 'budget', true, false],
    ['claude-3-7-sonnet-20250219', 'budget', true, false],
    ['claude-3-5-haiku-latest', 'never', true, false],
    ['gpt-4o', 'never', true, false],
    ['', 'never', true, false],
  ])('%s', (model, thinking, takesForced, takesSystem) => {
    expect(claudeTermsOf(model)).toMatchObject({ thinking, takesForced, takesSystem });
  });

  it.each<[model: string, tokens: number]>([
    ['claude-opus-5-5', 128_000],
    ['claude-sonnet-4-5-20250929', 64_000],
    ['claude-opus-4-5', 64_000],
    ['claude-opus-4-1-20250805', 32_000],
    ['claude-opus-4-20250514', 32_000],
    ['claude-3-5-sonnet-20241022', 8_192],
    ['claude-3-opus-20240229', 4_096],
  ])('has an answer of %s as long as it may be', (model, tokens) => {
    expect(longestAnswerOf(model)).toBe(tokens);
  });
});
