/**
 * What property tests read of the environment, for the configuration of each of vitest's projects.
 * It is provided, since workerd has no environment of its own.
 */
const { PROPERTY_SEED } = process.env;

/** What `inject('properties')` gives. */
export interface Properties {
  /** Of all generated cases; random ones without it. */
  readonly seed: number | undefined;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly properties: Properties;
  }
}

const seed = PROPERTY_SEED === undefined ? undefined : Number(PROPERTY_SEED);
if (seed !== undefined && !Number.isInteger(seed)) throw new Error('PROPERTY_SEED must be an integer');

/** Part of a project's `test`. */
export const propertyTests = {
  provide: { properties: { seed } },
  setupFiles: ['test/support/laws/seed.ts'],
};
