import { defineConfig } from 'vitest/config';
import { matchingFirst } from './tools/file-order.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** The inspector in a real browser, before the built Worker. Needs a Chromium (tools/chromium.ts). */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts', 'tools/inspector.ts', 'tools/worker-build.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    maxWorkers: 2,
    isolate: false,
    // The longest file first.
    sequence: { sequencer: matchingFirst(/conversations/) },
  },
});
