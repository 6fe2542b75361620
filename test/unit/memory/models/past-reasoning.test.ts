import { describe, expect, it } from 'vitest';
import { termsOf, UNKNOWN_TERMS } from '../../../../src/memory/models/terms.ts';

describe('the reasoning of earlier turns', () => {
  it.each([
    ['gpt-5.6', { items: 'billed' }],
    ['openai/gpt-5.6-terra', { items: 'billed' }],
    ['gpt-6.1-sol', { items: 'billed' }],
    ['gpt-5.5', {}],
    ['gpt-5', {}],
    ['gpt-50', {}],
    ['o4-mini', {}],
    ['deepseek-v4-pro', { items: 'required', fields: 'required' }],
    ['moonshotai/Kimi-K2.5', { items: 'required', fields: 'required' }],
    ['claude-fable-5-1', { items: 'required', fields: 'required' }],
    ['google/gemini-3.1-pro', { items: 'required', fields: 'required' }],
    ['qwen3.6-35b', {}],
    ['my-deployment', {}],
    [undefined, {}],
  ])('is treated by %s as its source says', (model, terms) => {
    expect(termsOf(model).reasoning).toEqual(terms);
  });

  it('is not known of a model that nobody knows', () => {
    expect(UNKNOWN_TERMS.reasoning).toEqual({});
  });
});
