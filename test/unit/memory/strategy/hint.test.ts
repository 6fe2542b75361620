import { describe, expect, it } from 'vitest';
import { parseInjection } from '../../../../src/memory/strategy/injection.ts';
import { parseBlocks } from '../../../../src/memory/strategy/memory-blocks.ts';

describe('an unknown field of an object beside the strategy', () => {
  it.each([
    [parseInjection({ max_token: 1 }), "it has no field 'max_token', the nearest known one is 'max_tokens'."],
    [parseInjection({ xyz: 1 }), 'its fields are role, max_tokens, publish, refresh.'],
    [parseInjection({ role: 'assistant' }), 'this one is of type object.'],
    [parseInjection([]), 'this one is of type object.'],
    [parseInjection('yes'), "this one is 'yes'."],
    [parseBlocks({ labels: ['a'], writeable: true }), "the nearest known one is 'writable'."],
  ])('is named with the one that was probably meant: %j', (read, end) => {
    expect(read.ok ? '' : read.reason.message).toContain(end);
  });
});
