/** The order in which vitest runs files. */
import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node';

/** Runs the files whose paths end with these first, in this order, without `.test.ts`. */
export function inOrder(first: readonly string[]): TestSequencerConstructor {
  const rank = ({ moduleId }: TestSpecification): number => {
    const at = first.findIndex((end) => moduleId.endsWith(`/${end}.test.ts`));
    return at < 0 ? first.length : at;
  };
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      return sorted.toSorted((a, b) => rank(a) - rank(b));
    }
  };
}
