import { describe, expect, it } from 'vitest';
import { asksReasoning, reasoningOf } from '../../../../src/answer/retries/encrypted-reasoning.ts';
import type { JoinedAnswers } from '../../../../src/protocol/answers/answer-format.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { refusesEncrypted } from '../../../../src/protocol/responses/reasoning.ts';
import { isolateMemory } from '../../../../src/request/beliefs.ts';
import type { RequestScope } from '../../../../src/request/scope.ts';

describe('reasoning that an upstream may not have stored', () => {
  it('F22: is asked for until an answer has said otherwise, by key and model, for an hour', () => {
    let now = 0;
    const services = { memory: isolateMemory(() => now), config: {} };
    const scope = (id: string) => ({ services, caller: { tenant: { id } } }) as unknown as RequestScope;
    const request = (model: string) =>
      ({ asksReasoning: false, model, field: () => undefined }) as unknown as ModelRequest;
    const isAsked = (id: string, model: string) => asksReasoning(request(model), true, scope(id));
    const learn = (isUnstored: boolean) =>
      reasoningOf({ without: new Set() }, request('gpt-5'), scope('a')).learn({
        isUnstored,
      } as JoinedAnswers);
    expect(isAsked('a', 'gpt-5')).toBe(true);
    learn(false);
    expect(isAsked('a', 'gpt-5')).toBe(false);
    expect([isAsked('a', 'o3'), isAsked('b', 'gpt-5')]).toEqual([true, true]);
    learn(true);
    expect(isAsked('a', 'gpt-5')).toBe(true);
    learn(false);
    now = 60 * 60_000;
    expect(isAsked('a', 'gpt-5')).toBe(true);
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
