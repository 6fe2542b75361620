import { defineConfig } from 'vitest/config';
import { matchingFirst } from './tools/file-order.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** Longest first, since a long file at the end would occupy one core and leave the other idle. */
const LONG = /\/(heap|view-laws|floor|summarize|rolling|late-results|odd-answers|phases)\.test\.ts$/;

export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts'],
    setupFiles: ['test/support/laws/seed.ts'],
    // End-to-end tests may run at the same time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    isolate: false,
    sequence: { sequencer: matchingFirst(LONG) },
  },
});
