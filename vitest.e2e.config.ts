import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These wait for time limits most of their time: last, they would be waited for alone. */
const WAITING =
  /\/(refs\/retrieval|silent-reasoning|summaries\/waiting|bad-summarizers|summary-faults|auto\/summarizers)\.test\.ts$/;

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waits = ({ moduleId }: TestSpecification) => WAITING.test(moduleId);
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))];
  }
}

export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: ['tools/worker-build.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Each file has a Worker, an upstream and ports of its own, and many of them wait more than they work.
    maxWorkers: 4,
    // What files share are clients and the runtime's own code, which take a second to load.
    isolate: false,
    sequence: { sequencer: WaitingFirst },
  },
});
