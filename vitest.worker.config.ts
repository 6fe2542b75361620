import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

/** Files that count their tenant's data; these have their own Worker and storage. */
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
          // A Worker loads all of its modules again when it starts, which takes longer than most
          // files.
          isolate: false,
        },
      },
      { plugins: [cloudflare()], test: { name: 'worker, alone', include: ALONE, testTimeout: 30_000 } },
    ],
  },
});
