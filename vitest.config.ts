import { defineConfig } from 'vitest/config';
import { inOrder } from './tools/file-order.ts';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** Longest first, since a long file at the end would occupy one core and leave the other idle. */
const LONG = [
  'bench/command-line',
  'plan/heap',
  'plan/view-laws',
  'modes/auto',
  'protocol/known-arrays',
  'edits/rehydrate',
  'replay/known-replay',
  'replay/floor',
  'protocol/marks',
  'replay/phases',
  'replay/bound-thinking',
  'plan/budgets',
  'bench/recorded-results',
  'modes/first-request',
  'plan/late-results',
  'replay/seen-outputs',
  'modes/summarize',
  'answers/odd-answers',
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
    sequence: { sequencer: inOrder(LONG) },
  },
});
