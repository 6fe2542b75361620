import { describe, expect, it } from 'vitest';
import { termsOf } from '../../../../src/memory/models/terms.ts';

describe('the reasoning of earlier turns', () => {
  it.each([
    ['gpt-5.6', { items: 'billed' }],
    ['openai/gpt-5.6-terra', { items: 'billed' }],
    ['gpt-6-sol', { items: 'billed' }],
    ['gpt-6-2026-10-07', { items: 'billed' }],
    ['gpt-6.1-sol', { items: 'billed' }],
    ['gpt-6.2-sol', { items: 'dropped', fields: 'dropped' }],
    ['openai/gpt-6.2-astra', { items: 'dropped', fields: 'dropped' }],
    ['gpt-6.3', { items: 'dropped', fields: 'dropped' }],
    ['gpt-5.5', {}],
    ['gpt-5', {}],
    ['gpt-50', {}],
    ['o4-mini', {}],
    ['deepseek-v4-pro', { items: 'required', fields: 'required' }],
    ['moonshotai/Kimi-K2.5', { items: 'required', fields: 'required' }],
    ['claude-fable-5-1', { items: 'bound', fields: 'bound' }],
    ['anthropic/claude-opus-5.5', { items: 'bound', fields: 'bound' }],
    ['claude-mythos-5.2', { items: 'bound', fields: 'bound' }],
    ['claude-fable-5-3-20270101', { items: 'bound', fields: 'bound' }],
    ['claude-opus-6', { items: 'bound', fields: 'bound' }],
    ['claude-opus-5', { items: 'required', fields: 'required' }],
    ['claude-fable-5-20260301', { items: 'required', fields: 'required' }],
    ['anthropic/claude-sonnet-5:beta', { items: 'required', fields: 'required' }],
    ['claude-sonnet-4.5', { items: 'required', fields: 'required' }],
    ['claude-3-7-sonnet', { items: 'required', fields: 'required' }],
    ['google/gemini-3.1-pro', { items: 'required', fields: 'required' }],
    ['qwen3.6-35b', {}],
    ['my-deployment', {}],
    [undefined, {}],
  ])('is treated by %s as its source says', (model, terms) => {
    expect(termsOf(model).reasoning).toEqual(terms);
  });

  it('is not known of a model that nobody knows', () => {
    expect(termsOf(undefined).reasoning).toEqual({});
  });
});
