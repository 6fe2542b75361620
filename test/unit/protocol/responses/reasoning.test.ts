import { describe, expect, it } from 'vitest';
import { refusesEncrypted } from '../../../../src/protocol/responses/reasoning.ts';
import { LostReasoning } from '../../../../src/upstream/lost-reasoning.ts';

describe('reasoning that an upstream may not have stored', () => {
  it('F22: is asked for until an answer has said otherwise, by key and model, for an hour', () => {
    let now = 0;
    const lost = new LostReasoning(() => now);
    expect(lost.mayBeLost('a', 'gpt-5')).toBe(true);
    lost.note('a', 'gpt-5', false);
    expect(lost.mayBeLost('a', 'gpt-5')).toBe(false);
    expect([lost.mayBeLost('a', 'o3'), lost.mayBeLost('b', 'gpt-5')]).toEqual([true, true]);
    lost.note('a', 'gpt-5', true);
    expect(lost.mayBeLost('a', 'gpt-5')).toBe(true);
    lost.note('a', 'gpt-5', false);
    now = 60 * 60_000;
    expect(lost.mayBeLost('a', 'gpt-5')).toBe(true);
  });

  it.each([
    ['{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}', true],
    ['{"error":{"message":"Unknown parameter: \'include\'."}}', true],
    ['{"error":{"message":"Invalid value: \'reasoning.encrypted_content\'."}}', true],
    [
      '{"error":{"message":"This model\'s maximum context length is 9 tokens, including the answer."}}',
      false,
    ],
  ])('F22: is refused in words that name it (%s)', (body, isRefusal) => {
    expect(refusesEncrypted(body)).toBe(isRefusal);
  });
});
