/**
 * What property tests read of the environment, for the configuration of each of vitest's projects.
 * It is provided, since workerd has no environment of its own.
 */
const { PROPERTY_SEED, PROPERTY_RUNS } = process.env;

/** Of `npm test`, so that a commit gets the same answer each time, on each machine. */
const EACH_DAY = 20_261_123;

/** What `inject('properties')` gives. */
interface Properties {
  /** Of all generated cases; absent in the full run, which tries new ones each time. */
  readonly seed: number | undefined;
  /** Whether each property tries all of its cases (test/support/laws/runs.ts). */
  readonly full: boolean;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly properties: Properties;
  }
}

if (PROPERTY_RUNS !== undefined && PROPERTY_RUNS !== 'full')
  throw new Error('PROPERTY_RUNS must be full, or be absent');
const full = PROPERTY_RUNS === 'full';
const seed = PROPERTY_SEED === undefined ? (full ? undefined : EACH_DAY) : Number(PROPERTY_SEED);
if (seed !== undefined && !Number.isInteger(seed)) throw new Error('PROPERTY_SEED must be an integer');

/** Part of a project's `test`, with what each of its files is set up by. */
export const propertyTests = {
  provide: { properties: { seed, full } },
  setupFiles: ['test/support/laws/seed.ts', 'test/support/restored.ts'],
  // Waits for what has no limit of its own: vitest's default is a second.
  expect: { poll: { timeout: 60_000 } },
};
