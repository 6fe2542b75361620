import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Row, rowsOfExplanation } from '../../../inspector/read/fates.ts';
import { changesBySize, freedOf, groupsOf, lastOf, tokensOf } from '../../../inspector/read/groups.ts';
import { lineDiff } from '../../../inspector/read/line-diff.ts';
import { FATES, type Fate } from '../../../src/memory/edits/fates.ts';
import { forAll } from '../../support/laws/runs.ts';

const rowsOf = (...fates: readonly Fate[]): Row[] =>
  fates.map((fate, index) => ({
    index,
    fate,
    role: 'tool',
    before: 10,
    after: fate === 'kept' ? 10 : 0,
    why: undefined,
    ref: undefined,
    edits:
      fate === 'placeholder' || fate === 'offloaded'
        ? [
            {
              kind: 'output',
              reason: 'duplicate',
              tool: 'f',
              ref: undefined,
              tokens: 9,
              freed: 5 + index,
              text: undefined,
            },
          ]
        : [],
  }));

describe('the groups of a transcript', () => {
  it('have each message once, in order, and none with two kinds', () => {
    forAll(fc.array(fc.constantFrom(...FATES)), fc.uniqueArray(fc.nat(20)), (fates, stops) => {
      const groups = groupsOf(rowsOf(...fates), new Set(stops));
      expect(groups.flatMap(({ rows }) => rows.map(({ index }) => index))).toEqual([...fates.keys()]);
      for (const { kind, rows } of groups) {
        if (kind === 'edited') expect(rows).toHaveLength(1);
        else for (const { fate } of rows) expect(fate).toBe(kind);
        // Nothing is inserted within a group.
        for (const { index } of rows.slice(1)) expect(stops).not.toContain(index);
      }
    });
  });

  it('have sizes, and changes are known by them', () => {
    const groups = groupsOf(rowsOf('kept', 'kept', 'summarized', 'summarized', 'placeholder', 'offloaded'));
    expect(groups.map(tokensOf)).toEqual([20, 20, 10, 10]);
    expect(groups.map(freedOf)).toEqual([20, 20, 9, 10]);
    expect(changesBySize(groups).map(({ at }) => at)).toEqual([1, 3, 2]);
    expect(groups.map((group) => lastOf(group).index)).toEqual([1, 3, 4, 5]);
    const unknown = groupsOf(rowsOf('summarized').map((row) => ({ ...row, before: undefined })));
    expect(unknown.map(tokensOf)).toEqual([undefined]);
  });

  it('say why a message stays', () => {
    const [row] = rowsOfExplanation({
      messages: [{ index: 0, role: 'preamble', before: 3, after: 3, fate: 'kept', because: 'preamble' }],
    });
    expect(row?.why?.says).toBe('Leading instructions always stay.');
  });
});

describe('the difference of two texts', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1 })
    .map((lines) => lines.join('\n'));

  it('has both of them', () => {
    forAll(text, text, (before, after) => {
      const lines = lineDiff(before, after) ?? [];
      const side = (other: 'added' | 'removed') =>
        lines.flatMap((line) => (line.kind === other ? [] : [line.text])).join('\n');
      expect([side('added'), side('removed')]).toEqual([before, after]);
    });
  });

  it('is the shortest one', () => {
    const kinds = lineDiff('a\nb\nc\nd', 'a\nc\nd\ne')?.map(({ kind }) => kind);
    expect(kinds).toEqual(['same', 'removed', 'same', 'same', 'added']);
  });

  it('is not made of very long texts', () => {
    const long = 'x\n'.repeat(2_000);
    expect(lineDiff(long, long)).toBeUndefined();
  });
});
