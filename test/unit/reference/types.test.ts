/** The schemas of our answers are the types of the code. `npm run types` checks these. */
import { describe, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type {
  conversationMemory,
  health,
  memoryRound,
  memoryVersion,
  stats,
} from '../../../src/reference/schemas/conversations.ts';
import type { errorCode } from '../../../src/reference/schemas/errors.ts';
import type { block, listedBlock } from '../../../src/reference/schemas/stored.ts';
import type { ErrorCode } from '../../../src/request/errors.ts';
import type {
  HealthState,
  ListedMemory,
  Overview,
  RoundMemory,
} from '../../../src/storage/conversation/memories.ts';
import type { ListedBlock, StoredBlock } from '../../../src/storage/tenant/blocks.ts';

/** A type without `readonly`, at any depth. */
type Plain<Value> = Value extends object ? { -readonly [Key in keyof Value]: Plain<Value[Key]> } : Value;

describe('the schema', () => {
  it("of a conversation's memory is its type", () => {
    type Version = Omit<z.output<typeof memoryVersion>, 'completed_at_ms'>;
    expectTypeOf<Version>().toEqualTypeOf<Plain<ListedMemory>>();
    expectTypeOf<z.output<typeof memoryRound>>().toEqualTypeOf<Plain<RoundMemory>>();
    expectTypeOf<z.output<typeof health>>().toEqualTypeOf<HealthState>();
    type Kept = Omit<Plain<Overview>, 'exists' | 'settings' | 'memories'>;
    expectTypeOf<Pick<z.output<typeof conversationMemory>, keyof Kept>>().toEqualTypeOf<Kept>();
    expectTypeOf<z.output<typeof stats>>().toExtend<Overview['stats']>();
  });

  it('of a memory block has the members that are stored', () => {
    expectTypeOf<z.output<typeof block>>().toExtend<StoredBlock>();
    expectTypeOf<Omit<z.output<typeof listedBlock>, 'object'>>().toEqualTypeOf<Plain<ListedBlock>>();
  });

  it('of an error has all codes', () => {
    expectTypeOf<z.output<typeof errorCode>>().toEqualTypeOf<ErrorCode>();
  });
});
