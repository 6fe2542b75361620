import { describe, expect, it } from 'vitest';
import { Latest } from '../../../src/lib/latest.ts';

describe('the latest result for an object', () => {
  const counted = () => {
    const latest = new Latest<object, number>();
    let made = 0;
    const of = (subject: object, ...inputs: unknown[]) => latest.of(subject, inputs, () => ++made);
    return of;
  };

  it('is returned for the same inputs, and made anew for others', () => {
    const of = counted();
    const subject = {};
    expect([of(subject, 'a', 1), of(subject, 'a', 1)]).toEqual([1, 1]);
    expect(of(subject, 'a', 2)).toBe(2);
    expect(of(subject, 'a')).toBe(3);
    expect(of(subject, 'a', undefined)).toBe(4);
    // Only the latest one is kept.
    expect(of(subject, 'a', 1)).toBe(5);
  });

  it('belongs to its object, and compares objects by identity', () => {
    const of = counted();
    const [one, other] = [{}, {}];
    const input = { a: 1 };
    expect([of(one, input), of(other, input)]).toEqual([1, 2]);
    expect(of(one, { a: 1 })).toBe(3);
    expect(of(one, Number.NaN)).toBe(of(one, Number.NaN));
  });

  it('is not kept where it could not be made', () => {
    const latest = new Latest<object, number>();
    const subject = {};
    const fail = (): number => {
      throw new Error('not now');
    };
    expect(() => latest.of(subject, [], fail)).toThrow('not now');
    expect(latest.of(subject, [], () => 1)).toBe(1);
  });
});
