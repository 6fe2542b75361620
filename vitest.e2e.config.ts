import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Each file has a Worker, an upstream and ports of its own, and most of them wait more than they work.
    maxWorkers: 4,
  },
});
