/** A reporter of vitest that names each test that was left out, so that none is missed silently. */
import type { Reporter, TestModule } from 'vitest/node';

export const skippedTests: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      // A run of chosen tests (`-t`) leaves out all others.
      if (module.project.config.testNamePattern) continue;
      for (const { fullName } of module.children.allTests('skipped'))
        console.log(`SKIPPED ${module.relativeModuleId} > ${fullName}`);
    }
  },
};
