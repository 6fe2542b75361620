import { describe, expect, it } from 'vitest';
import {
  ago,
  alike,
  cents,
  decimalsOf,
  dollars,
  exactDollars,
  moment,
  roundDollars,
  topOf,
} from '../../../inspector/parts/numbers.ts';
import { shortAlert } from '../../../inspector/read/overview.ts';
import { titleOf } from '../../../inspector/read/titles.ts';

describe('a title', () => {
  it.each([
    [{ screen: 'conversations' }, 'Conversations · Precis'],
    [{ screen: 'try' }, 'Try it · Precis'],
    [{ screen: 'deployment' }, 'This deployment · Precis'],
    [{ screen: 'operator' }, 'Operator · Precis'],
    [{ screen: 'conversation', id: 'refunds', user: 'ann' }, 'refunds · Precis'],
    [{ screen: 'request', id: 'refunds', user: undefined, n: 7 }, 'Request 7 of refunds · Precis'],
    [{ screen: 'conversation', id: 'a'.repeat(64), user: undefined }, 'not named aaaaaaaa · Precis'],
  ] as const)('names the screen (%j)', (place, title) => {
    expect(titleOf(place)).toBe(title);
  });

  it('is short, and names characters that reorder text', () => {
    const title = titleOf({ screen: 'conversation', id: `a\u202e${'b'.repeat(500)}`, user: undefined });

    expect(title).toContain('U+202E');
    expect(title).not.toContain('\u202e');
    expect(title.length).toBeLessThan(80);
  });
});

it.each([
  [0, 'just now'],
  [59, 'just now'],
  [60, '1 min ago'],
  [3_599, '59 min ago'],
  [3_600, '1 h ago'],
  [86_399, '23 h ago'],
  [86_400, 'yesterday'],
  [259_200, '3 days ago'],
  [-5, 'just now'],
])('shows a moment of %i seconds ago', (past, words) => {
  expect(ago(1_795_372_800 - past, 1_795_372_800)).toBe(words);
});

it.each([
  [0, '$0'],
  [0.1, '$0.1'],
  [-0.004568, '−$0.0046'],
  [12.4, '$12'],
  [1_204.2, '$1,204.20'],
  [0.000_001, '$0.0000010'],
])('rounds %d dollars', (value, words) => {
  expect(roundDollars(value)).toBe(words);
});

it.each([
  [0, '$0.00', '$0.00', '$0.00'],
  [412.204_1, '$412.20', '$412.20', '$412.2041'],
  [0.106_1, '$0.11', '$0.11', '$0.1061'],
  [-0.006_247, '−$0.0062', '−<$0.01', '−$0.006247'],
  [1_234_567.8, '$1,234,567.80', '$1,234,567.80', '$1234567.80'],
])(
  'writes %d dollars with the digits that matter, in a column, and exactly',
  (value, words, column, exact) => {
    expect([dollars(value), cents(value), exactDollars(value)]).toEqual([words, column, exact]);
  },
);

it.each([
  [
    [0.18, undefined, 0.05],
    ['$0.18', '$0.05'],
  ],
  [
    [0.0151, -0.0058],
    ['$0.015', '−$0.006'],
  ],
  [
    [0.0099, 0, 0.0075, -0.00002],
    ['$0.0099', '$0', '$0.0075', '−<$0.0001'],
  ],
  [[0.000_012], ['<$0.0001']],
  [[0], ['$0.00']],
])('writes the amounts of a column with as many decimals (%j)', (column, words) => {
  const decimals = decimalsOf(column);
  expect(column.flatMap((value) => (value === undefined ? [] : cents(value, decimals)))).toEqual(words);
});

it.each([
  [0.176, 0.161, ['$0.176', '$0.161']],
  [0.0129, 0.0137, ['$0.0129', '$0.0137']],
  [990, 412.4, ['$990.00', '$412.40']],
])('writes two amounts that are compared with as many decimals (%d, %d)', (one, other, words) => {
  expect(alike(one, other)).toEqual(words);
});

it('ends a chart at a round number', () => {
  expect([0, 1, 3, 33_281, 500_000, 7_000_000].map(topOf)).toEqual([1, 1, 5, 50_000, 500_000, 10_000_000]);
});

it('names a caller in an alert by the beginning of a long name', () => {
  const alert = (caller: string) =>
    ({ caller, message: `${caller}: 25 % of requests fail.` }) as Parameters<typeof shortAlert>[0];
  expect(shortAlert(alert('alice'))).toBe('alice: 25 % of requests fail.');
  expect(shortAlert(alert('$&'.repeat(99)))).toBe(`${'$&'.repeat(20)}…: 25 % of requests fail.`);
});

it('writes a date in UTC', () => {
  expect(moment(1_795_372_800)).toBe('2026-11-22 18:40:00');
  expect([moment(null), ago(null, 0)]).toEqual(['n/a', 'n/a']);
});
