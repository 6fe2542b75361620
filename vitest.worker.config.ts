import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

/** Files whose tests count what their tenant has: these have a Worker and storage of their own. */
const ALONE = ['conversations/conversations', 'tenants/revoked-keys', 'tenants/retention'].map(
  (name) => `test/worker/${name}.test.ts`,
);

const cloudflare = () =>
  cloudflareTest({
    wrangler: { configPath: './wrangler.toml' },
    miniflare: {
      bindings: { PRECIS_SECRET: 'a-secret-for-tests-only', UPSTREAM_BASE_URL: 'http://upstream.test/v1' },
    },
  });

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        plugins: [cloudflare()],
        test: {
          name: 'worker',
          include: ['test/worker/**/*.test.ts'],
          exclude: ALONE,
          testTimeout: 30_000,
          // A Worker that starts reads all of its modules again, which takes longer than most
          // files.
          isolate: false,
        },
      },
      { plugins: [cloudflare()], test: { name: 'worker, alone', include: ALONE, testTimeout: 30_000 } },
    ],
  },
});
