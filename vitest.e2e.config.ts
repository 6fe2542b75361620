import { defineConfig } from 'vitest/config';
import { inOrder } from './tools/file-order.ts';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/**
 * Files that mostly wait, and long ones: nothing else would run beside them at the end. Files with a
 * browser are spread, so that few browsers run at once.
 */
const LONG = [
  'clients/soak',
  'answers/silent-reasoning',
  'operators/self-host',
  'clients/demo',
  'answers/hanging-upstreams',
  'browser/request',
  'clients/clients',
  'clients/journey',
  'browser/conversations',
  'clients/examples',
  'summaries/waiting',
  'browser/hostile',
  'operators/backup',
  'summaries/bad-summarizers',
  'reference/examples',
  'browser/operator',
  'messages/own-compaction',
  'operators/cache-misses',
  'operators/vendors',
  'browser/try-it',
  'operators/deploy',
  'operators/walk-through',
  'browser/deployment',
  'answers/odd-upstreams',
  'tenants/isolation',
  'browser/demo',
  'auto/summary-faults',
  'rolling/faults',
  'summaries/cut-histories',
  'auto/summaries',
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
    // Many files wait more than they work.
    maxWorkers: 4,
    // Files share clients, the runtime's code and Workers.
    isolate: false,
    sequence: { sequencer: inOrder(LONG) },
  },
});
