/**
 * What property tests read of the environment, for the configuration of each of vitest's projects.
 * It is provided, since workerd has no environment of its own.
 */
const { PROPERTY_SEED, PROPERTY_RUNS } = process.env;

/** What `inject('properties')` gives. */
interface Properties {
  /** Of all generated cases; random ones without it. */
  readonly seed: number | undefined;
  /** Whether each property tries all of its cases (test/support/laws/runs.ts). */
  readonly full: boolean;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly properties: Properties;
  }
}

const seed = PROPERTY_SEED === undefined ? undefined : Number(PROPERTY_SEED);
if (seed !== undefined && !Number.isInteger(seed)) throw new Error('PROPERTY_SEED must be an integer');
if (PROPERTY_RUNS !== undefined && PROPERTY_RUNS !== 'full')
  throw new Error('PROPERTY_RUNS must be full, or be absent');

/** Part of a project's `test`. */
export const propertyTests = {
  provide: { properties: { seed, full: PROPERTY_RUNS === 'full' } },
  setupFiles: ['test/support/laws/seed.ts'],
};
