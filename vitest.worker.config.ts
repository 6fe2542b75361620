import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        bindings: { PRECIS_SECRET: 'a-secret-for-tests-only', UPSTREAM_BASE_URL: 'http://upstream.test/v1' },
      },
    }),
  ],
  test: { include: ['test/worker/**/*.test.ts'], testTimeout: 30_000, maxWorkers: 2 },
});
