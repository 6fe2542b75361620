import { defineConfig } from 'vitest/config';
import { matchingFirst } from './tools/file-order.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/**
 * Long files, and those that mostly wait for time limits. At the end they would be waited for
 * alone.
 */
const LONG = new RegExp(
  `/(${[
    'summaries/(waiting|bad-summarizers|isolation)',
    'answers/(silent-reasoning|odd-upstreams|responses)',
    'auto/(summary-faults|summaries|budgets|runs|summarizers)',
    'refs/retrieval',
    'clients/soak',
  ].join('|')})\\.test\\.ts$`,
);

export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts', 'tools/inspector.ts', 'tools/worker-build.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Many files wait more than they work.
    maxWorkers: 4,
    // Files share clients, the runtime's code and, without variables, a Worker.
    isolate: false,
    sequence: { sequencer: matchingFirst(LONG) },
  },
});
