import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';
import { inOrder } from './tools/file-order.ts';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** Collects what nobody uses in the whole bucket, so it runs before anything else is stored. */
const FIRST = ['tenants/retention'];

export default defineConfig({
  plugins: [
    cloudflareTest({
      main: './test/worker/entry.ts',
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        bindings: {
          PRECIS_SECRET: 'a-secret-for-tests-only',
          UPSTREAM_BASE_URL: 'http://upstream.test/v1',
        },
      },
    }),
  ],
  test: {
    include: ['test/worker/**/*.test.ts'],
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts', 'tools/inspector.ts'],
    ...propertyTests,
    testTimeout: 120_000,
    maxWorkers: 2,
    // A Worker loads all of its modules again when it starts, which takes longer than most files.
    isolate: false,
    sequence: { sequencer: inOrder(FIRST) },
  },
});
