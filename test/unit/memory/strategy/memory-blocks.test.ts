import { describe, expect, it } from 'vitest';
import { parseBlocks } from '../../../../src/memory/strategy/memory-blocks.ts';

const DEFAULTS = { role: 'user', writable: false, refresh: false };

describe('memory_blocks', () => {
  it.each([
    [false, 'off'],
    [[], 'off'],
    [{ labels: [] }, 'off'],
    [['team'], { ...DEFAULTS, labels: ['team'] }],
    [['b', 'a', 'b'], { ...DEFAULTS, labels: ['b', 'a'] }],
    [{ labels: ['team'] }, { ...DEFAULTS, labels: ['team'] }],
    [
      { labels: ['team'], role: 'system', writable: true, refresh: true },
      { labels: ['team'], role: 'system', writable: true, refresh: true },
    ],
    [
      { labels: ['team'], role: null, writable: null, refresh: null },
      { ...DEFAULTS, labels: ['team'] },
    ],
  ])('%j means %j', (input, value) => {
    expect(parseBlocks(input)).toEqual({ ok: true, value });
  });

  it.each([
    null,
    true,
    'team',
    1,
    {},
    [1],
    { labels: 'team' },
    { labels: ['team'], refresh: 1 },
    { labels: ['team'], max_tokens: 9 },
    ['a b'],
    ['..'],
    Array.from({ length: 21 }, (_, n) => `${n}`),
  ])('%j is refused', (input) => {
    expect(parseBlocks(input)).toMatchObject({
      ok: false,
      reason: { field: '', message: expect.stringContaining('memory_blocks') },
    });
  });
});
