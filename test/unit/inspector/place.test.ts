import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fragmentOf, type Place, placeOf } from '../../../inspector/place.ts';
import { forAll } from '../../support/laws/runs.ts';

const name = fc.string({ minLength: 1, unit: 'grapheme' });
const of = { id: name, user: fc.option(name, { nil: undefined }) };
const places: fc.Arbitrary<Place> = fc.oneof(
  fc.constantFrom<Place>(
    { screen: 'conversations' },
    { screen: 'try' },
    { screen: 'deployment' },
    { screen: 'operator' },
  ),
  fc.record({ screen: fc.constant('operator' as const), shown: name }),
  fc.record({ screen: fc.constant('conversation' as const), ...of }),
  fc.record({
    screen: fc.constantFrom('request' as const, 'try-request' as const),
    ...of,
    n: fc.integer({ min: 1, max: 999_999_999 }),
  }),
);

describe('a place', () => {
  it('is found again by its fragment', () => {
    forAll(places, (place) => {
      expect(placeOf(fragmentOf(place))).toEqual(place);
    });
  });

  it.each(['', '#', '#/nowhere', '#/conversations/%E0%A4%A', '#/conversations/a/requests/x'])(
    'is the list of conversations for %j',
    (fragment) => {
      expect(placeOf(fragment)).toEqual({ screen: 'conversations' });
    },
  );

  it('is the example where a conversation is tried and no request of it is named', () => {
    expect(placeOf('#/try/conversations/a')).toEqual({ screen: 'try' });
  });
});
