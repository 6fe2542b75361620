/** The fate of a message with removals. */
import { describe, expect, it } from 'vitest';
import { fateOf, isReason, REMOVAL_REASONS } from '../../../../src/memory/edits/fates.ts';

const fate = (...reasons: string[]) => fateOf(reasons.map((reason) => ({ reason })));

describe('the fate of a message', () => {
  it.each(Object.entries(REMOVAL_REASONS))('with removals for %s alone is its own', (reason, expected) => {
    expect(fate(reason)).toBe(expected.fate);
    expect(fate(reason, reason)).toBe(expected.fate);
  });

  it('is offloaded if one of its contents is', () => {
    expect(fate('duplicate', 'offloaded')).toBe('offloaded');
    expect(fate('offloaded', 'old_reasoning', 'context_compaction')).toBe('offloaded');
  });

  it('is a placeholder where removals of several fates meet', () => {
    expect(fate('old_reasoning', 'context_compaction')).toBe('placeholder');
    expect(fate('duplicate', 'superseded')).toBe('placeholder');
  });

  it('is a placeholder for a reason of another version', () => {
    expect(isReason('toString')).toBe(false);
    expect(fate('toString')).toBe('placeholder');
    expect(fate('from_the_future', 'old_reasoning')).toBe('placeholder');
  });
});
