import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/unit/**/*.test.ts'], testTimeout: 60_000, maxWorkers: 2, isolate: false },
});
