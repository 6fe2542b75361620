import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../inspector/place.ts';
import {
  COLUMNS,
  COST_CHOICES,
  fragmentOfView,
  isFiltered,
  type ListView,
  parametersOf,
  STATUS_CHOICES,
  USED_CHOICES,
  USUAL,
  viewIn,
} from '../../../inspector/read/list-view.ts';
import { forAll } from '../../support/laws/runs.ts';

const NOW = 1_795_372_800;

const text = fc.string({ maxLength: 40, unit: 'binary' });
const one = (choices: readonly (readonly [string, string])[]) =>
  fc.constantFrom(...choices.map(([value]) => value));
const views: fc.Arbitrary<ListView> = fc.record({
  q: text,
  user: text,
  model: text,
  agent: text,
  status: one(STATUS_CHOICES),
  used: one(USED_CHOICES),
  cost: one(COST_CHOICES),
  sort: fc.constantFrom('created', 'used', 'requests', 'net', 'paid'),
  order: fc.constantFrom('asc', 'desc'),
  columns: fc.subarray(COLUMNS.map(({ name }) => name)).map((names) => names.join(',')),
});

describe('the view of a list', () => {
  it('is the same after it was an address, which names the list', () => {
    forAll(views, (view) => {
      const fragment = fragmentOfView(view);
      expect(viewIn(fragment)).toEqual(view);
      expect(placeOf(fragment)).toEqual({ screen: 'conversations' });
    });
  });

  it('is as usual where the address says nothing, or what is not known', () => {
    expect(fragmentOfView(USUAL)).toBe('#/conversations');
    for (const fragment of ['', '#/try', '#/conversations?sort=size&order=up&status=fine&used=2y&cost=x'])
      expect(viewIn(fragment)).toEqual(USUAL);
    expect(viewIn('#/conversations?columns=used,nothing,user').columns).toBe('user,used');
    expect(isFiltered(USUAL)).toBe(false);
  });

  it('is asked for by the parameters of the route', () => {
    const view = { ...USUAL, user: ' ann ', status: 'failed', used: '7d', cost: '0.1', sort: 'paid' };
    expect(parametersOf(view, NOW)).toEqual({
      sort: 'paid',
      order: 'desc',
      q: '',
      user: 'ann',
      model: '',
      agent: '',
      outcome: 'failed',
      status: '',
      used_since: String(NOW - 7 * 86_400),
      paid_from: '100000000',
    });
    expect(parametersOf({ ...USUAL, status: 'stuck' }, NOW)).toMatchObject({ outcome: '', status: 'stuck' });
    expect(isFiltered(view)).toBe(true);
  });
});
