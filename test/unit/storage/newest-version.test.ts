import { describe, expect, it } from 'vitest';
import { isNewestMade, type ListedMemory } from '../../../src/storage/conversation/memories.ts';

/** Newest first, as an overview lists them. */
const versions = (...statuses: ListedMemory['status'][]) =>
  statuses.map((status) => ({ status }) as ListedMemory);

describe('the newest version of a memory', () => {
  it.each([
    ['nothing is due yet', 'healthy', versions(), true],
    ['it is completed', 'healthy', versions('completed', 'failed'), true],
    ['it was made at the second try', 'retry', versions('completed'), true],
    ['all have failed', 'degraded', versions('failed', 'failed'), false],
    ['it failed before an earlier one was completed', 'healthy', versions('failed', 'completed'), false],
    ['its writer is lost', 'healthy', versions('processing', 'completed'), false],
    ['a digest took its place', 'degraded', versions('completed', 'failed'), false],
    ['the writer after a failure is lost', 'recovering', versions('completed', 'processing'), false],
  ] as const)('where %s', (_, health, memories, isMade) => {
    expect(isNewestMade({ health, memories })).toBe(isMade);
  });
});
