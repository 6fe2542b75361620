import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretSearch } from '../../../src/lib/secret-search.ts';
import { forAll } from '../../support/laws/runs.ts';

describe('a search for a secret', () => {
  it('finds it wherever it is, and nothing else', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🔑'), minLength: 1, maxLength: 8 });
    forAll(
      letters,
      fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🔑'), maxLength: 60 }),
      (secret, text) => {
        expect(new SecretSearch(secret).isIn(text)).toBe(text.includes(secret));
        expect(new SecretSearch(secret).isIn(`${text}${secret}${text}`)).toBe(true);
      },
    );
  });

  it('finds none in less than it has', () => {
    const search = new SecretSearch('the-token-of-the-operator');
    for (const text of ['', 'the-token-of-the-operato', 'he-token-of-the-operator'])
      expect(search.isIn(text)).toBe(false);
  });
});
