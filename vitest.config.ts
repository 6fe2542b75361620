import { defineConfig } from 'vitest/config';
import { inOrder } from './tools/file-order.ts';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** Longest first, since a long file at the end would occupy one core and leave the other idle. */
const LONG = [
  'plan/heap',
  'plan/traces',
  'plan/view-laws',
  'bench/recorded-results',
  'money/marked-invoice',
  'edits/rehydrate',
  'modes/auto',
  'replay/known-replay',
  'bench/command-line',
  'protocol/known-arrays',
  'responses/request',
  'request/beliefs',
  'replay/floor',
  'repository/types',
];

export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts'],
    ...propertyTests,
    // End-to-end tests may run at the same time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    // Each concurrent test fills a process of its own.
    maxConcurrency: 2,
    isolate: false,
    // Node reads the sources itself: no transforms, and no indirection at each use of an import.
    experimental: { viteModuleRunner: false },
    execArgv: ['--import', new URL('./tools/json-names.ts', import.meta.url).href],
    sequence: { sequencer: inOrder(LONG) },
  },
});
