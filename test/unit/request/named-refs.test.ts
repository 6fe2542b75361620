import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refsIn } from '../../../src/memory/conversation/refs.ts';
import { namedBy } from '../../../src/request/named-refs.ts';
import { forAll } from '../../support/laws/runs.ts';
import { tenant } from '../../support/laws/view-of.ts';

const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567';
/** A well-formed ref that no tenant has. */
const madeUp = (n: number): string =>
  `ref_${[...n.toString(32).padStart(26, '0')].map((digit) => DIGITS[Number.parseInt(digit, 32)]).join('')}`;

/** The tenant, and how many refs it was asked about. */
function counting() {
  let asked = 0;
  const owns = (ref: string): boolean => {
    asked++;
    return tenant.refs.owns(ref);
  };
  return { tenant: { refs: { ...tenant.refs, owns } }, asked: () => asked };
}

const own = tenant.refs.name('a content', () => 'a content');
const bodyOf = (refs: string[]) => new TextEncoder().encode(JSON.stringify({ messages: refs }));

describe('the refs that a body names', () => {
  it('F11: are found once each, and only the tenant’s', () => {
    expect(namedBy(bodyOf([own, madeUp(1), own]), tenant)).toEqual([own]);
    expect(refsIn([own, madeUp(1), own].join(' '))).toEqual([own, madeUp(1)]);
  });

  it('F11: are those in the text of the body, whatever its bytes are', () => {
    const all = { refs: { ...tenant.refs, owns: () => true } };
    const texts = fc.oneof(
      fc.constantFrom(own, madeUp(1), own.slice(0, -1), own.slice(4), 'ref', 'ref_', 'Zürich', 'a'),
      fc.constantFrom(`${own.slice(0, -3)}ref`, '_', '𝒳'),
    );
    const bytes = fc.oneof(
      texts.map((piece) => new TextEncoder().encode(piece)),
      fc.uint8Array({ minLength: 1, maxLength: 2 }),
    );
    forAll(fc.array(bytes), (pieces) => {
      const body = Buffer.concat(pieces);
      expect(namedBy(body, all)).toEqual(refsIn(new TextDecoder().decode(body)));
    });
    forAll(fc.array(bytes), fc.array(bytes), fc.array(bytes), fc.nat(90), (same, one, other, less) => {
      const before = Buffer.concat([...same, ...one]);
      const body = Buffer.concat([...same, ...other]);
      const shared = Math.max(0, Buffer.concat(same).length - less);
      namedBy(before, all);
      const named = namedBy(body, all, { before, shared });
      expect(named).toEqual(refsIn(new TextDecoder().decode(body)));
    });
  });

  it('F11: are checked again for another tenant, and not in what the body before it has', () => {
    const { tenant: counted, asked } = counting();
    const before = bodyOf([own, madeUp(1)]);
    const body = bodyOf([own, madeUp(1), madeUp(2)]);
    const shared = before.length - 2;
    expect(namedBy(before, counted)).toEqual([own]);
    expect(namedBy(body, counted, { before, shared })).toEqual([own]);
    expect(asked()).toBe(3);

    const { tenant: other, asked: askedAgain } = counting();
    expect(namedBy(body, other, { before, shared })).toEqual([own]);
    expect(askedAgain()).toBe(3);
  });

  it('F11: are checked once each, however often one occurs', () => {
    const { tenant: counted, asked } = counting();
    expect(namedBy(bodyOf([...Array(450_000).fill(madeUp(7)), own]), counted)).toEqual([own]);
    expect(asked()).toBe(2);
  });

  it('F11: are checked in a bounded number, however many there are', () => {
    const { tenant: counted, asked } = counting();
    const many = Array.from({ length: 450_000 }, (_, n) => madeUp(n));
    expect(namedBy(bodyOf([own, ...many]), counted)).toEqual([own]);
    expect(asked()).toBe(10_000);
  });
});
