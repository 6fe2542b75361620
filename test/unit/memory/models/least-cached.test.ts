import { describe, expect, it } from 'vitest';
import { leastCachedPrompt } from '../../../../src/memory/models/prompt-caches.ts';

describe('the shortest prompt that a cache keeps', () => {
  it.each([
    ['claude-opus-5-5', 512],
    ['claude-sonnet-5-5-20261001', 512],
    ['us.anthropic.claude-haiku-5-5-v1:0', 512],
    ['anthropic/claude-fable-5.2', 512],
    ['claude-sonnet-5', 1_024],
    ['claude-opus-4-20250514', 1_024],
    ['claude-opus-4-7', 2_048],
    ['claude-3-5-haiku-latest', 2_048],
    ['claude-haiku-4-5', 4_096],
  ])('is the model’s: %s', (model, least) => {
    expect(leastCachedPrompt(model)).toBe(least);
  });

  it('is the longest one of a model that nobody knows', () => {
    expect([leastCachedPrompt('claude-haiku-9'), leastCachedPrompt(undefined)]).toEqual([4_096, 4_096]);
  });
});
