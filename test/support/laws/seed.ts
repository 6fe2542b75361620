/**
 * The seed of the property tests, and the cases of each that states no number (a setup file of
 * vitest). By day it is always the same (tools/property-tests.ts); the full run tries new cases.
 */
import fc from 'fast-check';
import { inject } from 'vitest';
import { runs } from './runs.ts';

const { seed } = inject('properties');

fc.configureGlobal({ numRuns: runs(25, 100), ...(seed === undefined ? {} : { seed }) });
