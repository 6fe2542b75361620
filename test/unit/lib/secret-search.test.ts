import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secretSearch } from '../../../src/lib/secret-search.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('a search for a secret', () => {
  it('finds it wherever it is, and nothing else', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🔑'), minLength: 1, maxLength: 8 });
    forAll(
      letters,
      fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🔑'), maxLength: 60 }),
      (secret, text) => {
        expect(secretSearch(secret)(text)).toBe(text.includes(secret));
        expect(secretSearch(secret)(`${text}${secret}${text}`)).toBe(true);
      },
    );
  });

  it('finds none in less than it has', () => {
    const isIn = secretSearch('the-token-of-the-operator');
    for (const text of ['', 'the-token-of-the-operato', 'he-token-of-the-operator'])
      expect(isIn(text)).toBe(false);
  });
});
