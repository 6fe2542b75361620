import { describe, expect, it } from 'vitest';
import { retirementOf } from '../../../../src/memory/models/retirements.ts';

describe('the retirement of a model', () => {
  it.each([
    ['gpt-4.1-mini', { on: '2027-01-14', replacement: 'gpt-6-luna' }],
    ['openai/gpt-4o-2024-08-06', { on: '2027-01-14', replacement: 'gpt-6-luna' }],
    ['ft:gpt-4o-mini-2024-07-18:acme::id', { on: '2027-01-14', replacement: 'gpt-6-luna' }],
    ['gpt-4o-2024-05-13', { on: '2026-10-23' }],
    ['gpt-5-2025-08-07', { on: '2026-12-11', replacement: 'gpt-6.1-sol' }],
    ['gpt-3.5-turbo', { on: '2026-10-23' }],
    ['GPT-4.1', { on: '2027-01-14', replacement: 'gpt-6-luna' }],
    ['gpt-5-pro', { on: '2026-12-11' }],
  ])('of %s is the one of its page', (model, expected) => {
    expect(retirementOf(model)).toEqual(expected);
  });

  it.each(['gpt-35-turbo', 'gpt-35-turbo-0125', 'gpt-4-1-mini', 'azure/gpt-4-1', 'openai-gpt-4.1'])(
    'is not its vendor’s for a gateway’s own name: %s',
    (model) => {
      expect(retirementOf(model)).toBeUndefined();
    },
  );

  it.each(['gpt-6-luna', 'gpt-5.6', 'gpt-5-codex', 'gpt-4o-audio-preview', 'my-model', ''])(
    'is not known of %s',
    (model) => {
      expect(retirementOf(model)).toBeUndefined();
    },
  );
});
