import { describe, expect, it } from 'vitest';
import { readingsOf } from '../../../src/protocol/top-fields.ts';

const NAMES = ['max_tokens', 'service_tier', 'fallbacks', 'thinking'];

const readings = (json: string) =>
  readingsOf(new TextEncoder().encode(json), NAMES).map((fields) => {
    return Object.fromEntries([...fields].filter(([, value]) => value !== undefined));
  });

describe('the readings of a body', () => {
  it('are one where all names are spelled as the API has them', () => {
    expect(readings('{"max_tokens":1,"Other":2,"thinking":{"type":"enabled"}}')).toEqual([
      { max_tokens: 1, thinking: { type: 'enabled' } },
    ]);
  });

  it.each([
    ['{"max_tokens":1,"Max_Tokens":2}', { max_tokens: 1 }, { max_tokens: 2 }],
    ['{"MAX_TOKENS":2,"max_tokens":1}', { max_tokens: 1 }, { max_tokens: 1 }],
    ['{"\\u004dax_tokens":2}', {}, { max_tokens: 2 }],
    ['{"Fallbac\\u212as":["a"]}', {}, { fallbacks: ['a'] }],
    ['{"ſervice_tier":"priority"}', {}, { service_tier: 'priority' }],
    [
      '{"thinking":{"type":"disabled","Type":"enabled"}}',
      { thinking: { type: 'disabled', Type: 'enabled' } },
      { thinking: { type: 'enabled' } },
    ],
    [
      '{"fallbacks":[{"model":"a","Model":"b"}]}',
      { fallbacks: [{ model: 'a', Model: 'b' }] },
      { fallbacks: [{ model: 'b' }] },
    ],
  ])('are two where a server that ignores the case reads another one: %s', (json, exact, any) => {
    expect(readings(json)).toEqual([exact, any]);
  });

  it.each(['[]', '"x"', '{"max_tokens":', ''])('are empty where there is no object: %j', (json) => {
    expect(readings(json)).toEqual([{}]);
  });
});
