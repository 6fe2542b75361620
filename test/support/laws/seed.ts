/**
 * The seed of the property tests, and the cases of each that states no number (a setup file of
 * vitest). CI sets `PROPERTY_SEED`, so that a commit gets the same answer each time. Without it,
 * each run tries new cases.
 */
import fc from 'fast-check';
import { inject } from 'vitest';
import { runs } from './runs.ts';

const { seed } = inject('properties');

fc.configureGlobal({ numRuns: runs(40, 100), ...(seed === undefined ? {} : { seed }) });
