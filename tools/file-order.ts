/** The order in which vitest runs files. */
import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node';

/** Runs files with matching paths first. */
export function matchingFirst(pattern: RegExp): TestSequencerConstructor {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const matches = ({ moduleId }: TestSpecification) => pattern.test(moduleId);
      return [...sorted.filter(matches), ...sorted.filter((file) => !matches(file))];
    }
  };
}
