import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringEnd } from '../../../src/lib/json-strings.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('the end of a string in JSON', () => {
  it('is after its closing quote, whatever is around it', () => {
    const text = fc.string({ unit: 'binary' });
    forAll(text, text, text, (before, value, after) => {
      const string = JSON.stringify(value);
      const end = before.length + string.length;
      expect(stringEnd(`${before}${string}${after}`, before.length)).toBe(end);
    });
  });

  it.each(['"', '"abc', '"abc\\"', '"a\nb"', '"\\x"', '"\\u12"'])('is unknown in %j', (source) => {
    expect(stringEnd(source, 0)).toBeUndefined();
  });
});
