/**
 * The seed of the property tests (a setup file of vitest). CI sets `PROPERTY_SEED`, so that a
 * commit gets the same answer each time. Without it, each run tries new cases.
 */
import fc from 'fast-check';
import { inject } from 'vitest';

const { seed } = inject('properties');

if (seed !== undefined) fc.configureGlobal({ seed });
