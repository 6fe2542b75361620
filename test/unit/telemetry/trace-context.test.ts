import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isSampled,
  isWithin,
  newId,
  readTraceparent,
  writeTraceparent,
} from '../../../src/telemetry/trace-context.ts';
import { forAll } from '../../support/laws/runs.ts';

const digits = (length: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: length, maxLength: length })
    .map((all) => all.join(''));
const context = fc
  .record({ traceId: digits(32), spanId: digits(16), flags: fc.constantFrom('00', '01', '02', '03') })
  .filter(({ traceId, spanId }) => !/^0+$/.test(traceId) && !/^0+$/.test(spanId));

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  it('is read as it was written', () => {
    forAll(context, (one) => {
      expect(readTraceparent(writeTraceparent(one))).toEqual(one);
    });
  });

  it('goes on without flags that its version does not know', () => {
    const one = readTraceparent(`cc-${'a'.repeat(32)}-${'b'.repeat(16)}-fd`);
    expect(one && writeTraceparent(one)).toBe(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
  });

  it('is not read where one character differs in kind', () => {
    forAll(context, fc.nat(54), fc.constantFrom('g', 'A', ' ', '_', ''), (one, at, other) => {
      const header = writeTraceparent(one);
      const broken = header.slice(0, at) + other + header.slice(at + 1);
      // White space around a header's value has no meaning.
      fc.pre(broken.trim() === broken);
      expect(readTraceparent(broken)).toBeUndefined();
    });
  });

  it.each([
    null,
    '',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])('is not read from %s', (header) => {
    expect(readTraceparent(header)).toBeUndefined();
  });

  it('may have more fields in a later version', () => {
    expect(readTraceparent(`01-${TRACE}-${SPAN}-01-more`)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      flags: '01',
    });
  });

  it.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
  ])('with flags %s is recorded: %s', (flags, sampled) => {
    expect(isSampled({ flags })).toBe(sampled);
  });
});

describe('a new trace', () => {
  it('has an id of its own', () => {
    const ids = Array.from({ length: 100 }, () => newId(16));
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{32}$/);
  });

  it('is recorded for a share of all ids', () => {
    const ids = Array.from({ length: 4_000 }, () => newId(16));
    expect(ids.filter((id) => isWithin(0, id))).toEqual([]);
    expect(ids.filter((id) => isWithin(1, id))).toHaveLength(ids.length);
    const tenth = ids.filter((id) => isWithin(0.1, id));
    // Five standard deviations around 400.
    expect(tenth.length).toBeGreaterThan(300);
    expect(tenth.length).toBeLessThan(500);
    for (const id of tenth) expect(isWithin(0.2, id)).toBe(true);
  });
});
