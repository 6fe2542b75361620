import { defineConfig } from 'vitest/config';

/** Command-line clients, which are installed first: `npm run test:clients`, not part of CI. */
export default defineConfig({
  test: {
    include: ['test/clients/**/*.test.ts'],
    globalSetup: [
      'tools/token-tables.ts',
      'tools/inspector.ts',
      'tools/worker-build.ts',
      'test/clients/installed.ts',
    ],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
