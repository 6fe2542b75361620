import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainDelta } from '../../../../src/protocol/messages/plain-delta.ts';
import { forAll } from '../../../support/laws/runs.ts';

const event = (text: unknown, more: object = {}): object => ({
  type: 'content_block_delta',
  index: 3,
  delta: { type: 'text_delta', text },
  ...more,
});

describe('an event that only adds text', () => {
  it('is read without being parsed, however the API pads it', () => {
    forAll(fc.string({ unit: 'grapheme' }), fc.nat(9), (text, spaces) => {
      const json = JSON.stringify(event(text)).replace(/\}$/, `${' '.repeat(spaces)}}`);
      // What is escaped by its number is parsed.
      const isPlain = !json.includes('\\u');
      expect(plainDelta(json)).toEqual(isPlain ? { index: 3, text } : undefined);
    });
    expect(plainDelta(JSON.stringify(event('a')).replaceAll(/(?<=[:,])/g, ' '))).toEqual({
      index: 3,
      text: 'a',
    });
  });

  it.each([
    ['does more', event('a', { more: 1 })],
    ['adds no text', event(7)],
    [
      'adds thinking',
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', text: 'a' } },
    ],
    ['adds more than text', { ...event('a'), delta: { type: 'text_delta', text: 'a', x: 1 } }],
    ['is of another type', { ...event('a'), type: 'content_block_start' }],
    ['has no index', { ...event('a'), index: null }],
  ])('is none that %s', (_, other) => {
    expect(plainDelta(JSON.stringify(other))).toBeUndefined();
  });

  it('is none without data, or with half of it', () => {
    expect(plainDelta(undefined)).toBeUndefined();
    expect(plainDelta(JSON.stringify(event('a')).slice(0, -1))).toBeUndefined();
  });
});
