/** The schemas of our answers are the types of the code. `npm run types` checks these. */
import { describe, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { block, listedBlock } from '../../../src/reference/schemas/stored.ts';
import type { ListedBlock, StoredBlock } from '../../../src/storage/tenant/blocks.ts';

/** A type without `readonly`, at any depth. */
type Plain<Value> = Value extends object ? { -readonly [Key in keyof Value]: Plain<Value[Key]> } : Value;

describe('the schema', () => {
  it('of a memory block has the members that are stored', () => {
    expectTypeOf<z.output<typeof block>>().toExtend<StoredBlock>();
    expectTypeOf<Omit<z.output<typeof listedBlock>, 'object'>>().toEqualTypeOf<Plain<ListedBlock>>();
  });
});
