import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';
import { propertyTests } from './tools/property-tests.ts';
import { skippedTests } from './tools/skipped-tests.ts';

/** Collects what nobody uses in the whole bucket: this file has its own Worker and storage. */
const ALONE = ['test/worker/tenants/retention.test.ts'];

/** With embeddings. Objects read their variables, so these have a Worker of their own. */
const EMBEDDED = ['test/worker/embeddings/*.test.ts'];
const EMBEDDINGS = {
  EMBEDDINGS_BASE_URL: 'http://embeddings.test/v1',
  EMBEDDINGS_MODEL: 'an-embedding-model',
  EMBEDDINGS_API_KEY: 'sk-the-key-of-the-embeddings',
};

const cloudflare = (variables: Record<string, string> = {}) =>
  cloudflareTest({
    wrangler: { configPath: './wrangler.toml' },
    miniflare: {
      bindings: {
        PRECIS_SECRET: 'a-secret-for-tests-only',
        UPSTREAM_BASE_URL: 'http://upstream.test/v1',
        ...variables,
      },
    },
  });

/** Part of each project. */
const SHARED = { ...propertyTests, testTimeout: 120_000 };

export default defineConfig({
  test: {
    reporters: ['default', skippedTests],
    globalSetup: ['tools/token-tables.ts', 'tools/inspector.ts'],
    maxWorkers: 2,
    projects: [
      {
        plugins: [cloudflare()],
        test: {
          name: 'worker',
          include: ['test/worker/**/*.test.ts'],
          exclude: [...ALONE, ...EMBEDDED],
          ...SHARED,
          // A Worker loads all of its modules again when it starts, which takes longer than most
          // files.
          isolate: false,
        },
      },
      {
        plugins: [cloudflare(EMBEDDINGS)],
        test: {
          name: 'worker, with embeddings',
          include: EMBEDDED,
          ...SHARED,
          isolate: false,
        },
      },
      {
        plugins: [cloudflare()],
        test: { name: 'worker, alone', include: ALONE, ...SHARED },
      },
    ],
  },
});
