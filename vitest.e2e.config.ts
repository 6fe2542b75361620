import { defineConfig } from 'vitest/config';
import { matchingFirst } from './tools/file-order.ts';

/**
 * Long ones, and those that wait for time limits most of their time: last, they would be waited for
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
    globalSetup: ['tools/worker-build.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Each file has a Worker, an upstream and ports of its own, and many of them wait more than
    // they work.
    maxWorkers: 4,
    // What files share are clients and the runtime's own code, which take a second to load.
    isolate: false,
    sequence: { sequencer: matchingFirst(LONG) },
  },
});
