import { defineConfig } from 'vitest/config';
import { inOrder } from './tools/file-order.ts';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/**
 * Those that mostly wait, and long ones: at the end they would be waited for alone. Those with a
 * browser stand apart, so that few browsers run at once.
 */
const LONG = [
  'clients/soak',
  'answers/silent-reasoning',
  'answers/hanging-upstreams',
  'answers/kept-thinking',
  'browser/request',
  'auto/summaries',
  'answers/too-long',
  'browser/conversations',
  'auto/runs',
  'operators/self-host',
  'clients/clients',
  'browser/hostile',
  'summaries/bad-summarizers',
  'summaries/waiting',
  'messages/own-compaction',
  'messages/views',
  'reference/examples',
  'auto/output-digests',
  'browser/operator',
  'answers/odd-upstreams',
  'auto/summary-faults',
  'operators/traces',
  'browser/try-it',
  'summaries/isolation',
  'conversations/moving',
  'browser/deployment',
  'conversations/injection',
  'operators/backup',
  'refs/retrieval',
  'answers/responses',
  'browser/demo',
  'auto/isolation',
  'auto/marks',
  'answers/thinking-laws',
  'compaction/odd-conversations',
  'auto/summarizers',
];

/**
 * What runs before the built Worker: clients (`npm run test:e2e`), and the inspector in a real
 * browser (`npm run test:browser`), which needs a Chromium (tools/chromium.ts). `npm test` runs both
 * at once, so that the Worker is built once.
 */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts', 'test/browser/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts', 'tools/inspector.ts', 'tools/worker-build.ts'],
    ...propertyTests,
    // All other tests may run at the same time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 15_000 } },
    // Many files wait more than they work.
    maxWorkers: 4,
    // Files share clients, the runtime's code and Workers.
    isolate: false,
    sequence: { sequencer: inOrder(LONG) },
  },
});
