import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainDelta } from '../../../../src/protocol/chat/plain-delta.ts';
import { forAll } from '../../../support/laws/runs.ts';

const choice = (delta: object, finish_reason: string | null = null) => ({ index: 0, delta, finish_reason });
const chunk = (...choices: object[]) => ({ id: 'c', object: 'chat.completion.chunk', created: 7, choices });

describe('a chunk of plain text', () => {
  it('is known without parsing, with the text that parsing gives', () => {
    const frame = { ...chunk(), model: 'm', service_tier: 'default', system_fingerprint: null };
    forAll(fc.string({ unit: 'binary' }), (content) => {
      const data = JSON.stringify({
        ...frame,
        choices: [choice({ content })],
        usage: null,
        obfuscation: 'x',
      });
      // Other escapes are left to the parser.
      const expected = data.includes('\\u') ? undefined : content;
      expect(plainDelta(data)).toBe(expected);
    });
  });

  it.each([
    ['a role', JSON.stringify(chunk(choice({ role: 'assistant', content: '' })))],
    ['a call', JSON.stringify(chunk(choice({ content: 'a', tool_calls: [] })))],
    ['a finish reason', JSON.stringify(chunk(choice({ content: 'a' }, 'stop')))],
    ['two choices', JSON.stringify(chunk(choice({ content: 'a' }), choice({ content: 'b' })))],
    ['another choice', JSON.stringify(chunk({ ...choice({ content: 'a' }), index: 1 }))],
    ['no choice', JSON.stringify(chunk())],
    ['usage', JSON.stringify({ ...chunk(choice({ content: 'a' })), usage: { total_tokens: 1 } })],
    [
      'a second list of choices',
      JSON.stringify(chunk(choice({ content: 'a' }))).replace(/}$/, ',"choices":[]}'),
    ],
    ['text that is no JSON', `${JSON.stringify(chunk(choice({ content: 'a' })))}]`],
    ['a number that is no JSON', JSON.stringify(chunk(choice({ content: 'a' }))).replace(':7', ':07')],
    ['a line break that is no JSON', JSON.stringify(chunk(choice({ content: 'a' }))).replace('"a"', '"\n"')],
    ['no data', undefined],
  ])('has nothing else: %s', (_, data) => {
    expect(plainDelta(data)).toBeUndefined();
  });
});
