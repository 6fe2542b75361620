/**
 * The seed of the property tests (a setup file of vitest). CI sets `PROPERTY_SEED`, so that a
 * commit gets the same answer each time. Without it, each run tries new cases.
 */
import fc from 'fast-check';

const { PROPERTY_SEED } = process.env;

if (PROPERTY_SEED !== undefined) {
  const seed = Number(PROPERTY_SEED);
  if (!Number.isInteger(seed)) throw new Error('PROPERTY_SEED must be an integer');
  fc.configureGlobal({ seed });
}
