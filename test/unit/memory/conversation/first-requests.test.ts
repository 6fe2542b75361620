import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstAnswer, requestLength } from '../../../../src/memory/conversation/first-requests.ts';
import { forAll } from '../../../support/laws/runs.ts';

type Role = 'preamble' | 'user' | 'assistant' | 'tool';
const spoken = (...roles: Role[]) => roles.map((role) => ({ role }));

describe('the first requests of a conversation', () => {
  it.each<[Role[], number, number, number]>([
    [['preamble', 'user'], -1, 2, 2],
    [['preamble', 'user', 'assistant'], 2, 2, 3],
    [['preamble', 'user', 'assistant', 'user'], 2, 2, 4],
    [['user', 'assistant', 'tool', 'assistant', 'user'], 1, 1, 3],
    // A greeting is no answer.
    [['assistant', 'user', 'assistant', 'user', 'assistant'], 2, 2, 4],
    // Two answers in a row belong to one request.
    [['user', 'assistant', 'assistant', 'preamble', 'user', 'assistant', 'user'], 1, 1, 5],
  ])('of %j end where they did', (roles, answer, first, second) => {
    const messages = spoken(...roles);
    expect(firstAnswer(messages)).toBe(answer);
    expect(requestLength(messages, 'first')).toBe(first);
    expect(requestLength(messages, 'second')).toBe(second);
  });

  it('end at the same place in every later one', () => {
    const said = fc.array(fc.constantFrom<Role>('user', 'tool', 'preamble'), { maxLength: 2 });
    const request = said.map((roles): Role[] => [...roles, 'user']);
    const answers = fc.integer({ min: 1, max: 2 });
    forAll(fc.array(fc.tuple(request, answers), { minLength: 2, maxLength: 8 }), (turns) => {
      const lengths: number[] = [];
      let roles: Role[] = [];
      for (const [asked, answered] of turns) {
        roles = [...roles, ...asked];
        lengths.push(roles.length);
        const messages = spoken(...roles);
        expect(requestLength(messages, 'first')).toBe(lengths[0]);
        if (lengths.length > 1) expect(requestLength(messages, 'second')).toBe(lengths[1]);
        roles = [...roles, ...Array<Role>(answered).fill('assistant')];
      }
    });
  });
});
