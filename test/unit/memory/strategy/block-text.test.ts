import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BlockEdit,
  charactersIn,
  editedText,
  isLabel,
  LONGEST_BLOCK,
  writeBlock,
  writeBlocks,
} from '../../../../src/memory/strategy/memory-blocks.ts';
import { forAll } from '../../../support/laws/runs.ts';

const textAfter = (text: string, edit: BlockEdit): string | undefined => {
  const edited = editedText(text, edit);
  return edited.ok ? edited.value : undefined;
};
const append = (text: string, content: string) => textAfter(text, { kind: 'append', content });
const replace = (text: string, old: string, content: string) =>
  textAfter(text, { kind: 'replace', old, content });

describe('a label', () => {
  it.each(['a', 'Team_1.x-y', '...', 'x'.repeat(64)])('may be %j', (label) => {
    expect(isLabel(label)).toBe(true);
  });

  it.each(['', '.', '..', 'a b', 'a/b', 'é', 'a\n', 'x'.repeat(65), 1, null])('may not be %j', (label) => {
    expect(isLabel(label)).toBe(false);
  });
});

describe('an edit of a block', () => {
  it('appends a line of its own', () => {
    expect(append('', 'One.')).toBe('One.');
    expect(append('One.', 'Two.\nThree.')).toBe('One.\nTwo.\nThree.');
  });

  it('appends nothing that is there as whole lines', () => {
    expect(append('One.\nTwo.\nThree.', 'Two.\nThree.')).toBe('One.\nTwo.\nThree.');
    expect(append('Not one.', 'one.')).toBe('Not one.\none.');
  });

  it('replaces all occurrences, literally', () => {
    expect(replace('a.b a.b axb', 'a.b', '$& $1')).toBe('$& $1 $& $1 axb');
    expect(replace('One. Two.', ' Two.', '')).toBe('One.');
    expect(replace('One.', 'Two.', 'x')).toBeUndefined();
    expect(replace('One.', '', 'x')).toBeUndefined();
  });

  it('says how long a text would be that is too long', () => {
    const text = 'x'.repeat(LONGEST_BLOCK);
    expect(editedText(text, { kind: 'append', content: 'y' })).toEqual({
      ok: false,
      reason: { state: 'too_long', characters: LONGEST_BLOCK + 2 },
    });
  });

  it('says so without making a text that fits in no memory', () => {
    const text = 'x'.repeat(LONGEST_BLOCK);
    const content = 'y'.repeat(10_000_000);
    expect(editedText(text, { kind: 'replace', old: 'x', content })).toEqual({
      ok: false,
      reason: { state: 'too_long', characters: LONGEST_BLOCK * content.length },
    });
  });

  it('leaves a text that is well-formed and within the limit, or none', () => {
    const text = fc.string({ unit: 'binary', maxLength: 3_000 });
    const edit = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), text }),
      fc.record({ kind: fc.constant('append' as const), content: text }),
      fc.record({ kind: fc.constant('replace' as const), old: text, content: text }),
    );
    forAll(text, edit, (before, change) => {
      const edited = editedText(before, change);
      if (!edited.ok) return;
      expect(edited.value.isWellFormed()).toBe(true);
      expect(charactersIn(edited.value)).toBeLessThanOrEqual(LONGEST_BLOCK);
    });
  });

  it('appends the same once', () => {
    forAll(fc.string({ maxLength: 50 }), fc.string({ minLength: 1, maxLength: 50 }), (text, content) => {
      const once = append(text, content) ?? '';
      expect(append(once, content)).toBe(once);
    });
  });
});

describe('the fence of a block', () => {
  it('is closed by nothing in it', () => {
    const piece = fc.constantFrom(
      '<',
      '/',
      ' ',
      '\n',
      'memory_block',
      'MEMORY_BLOCK',
      '>',
      'x',
      ' label="a"',
    );
    forAll(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const shown = writeBlock({ label: 'a', version: 1, text: pieces.join('') });
      expect(shown.match(/<[\s/]{0,8}memory_block/gi)).toEqual(['<memory_block', '</memory_block']);
    });
  });

  it('is around each block, in their order', () => {
    const shown = writeBlocks([
      { label: 'a', version: 2, text: 'One.' },
      { label: 'b', version: 0, text: '' },
    ]);
    expect(shown.split('\n').slice(1)).toEqual([
      '<memory_block label="a" version="2">',
      'One.',
      '</memory_block>',
      '<memory_block label="b" version="0">',
      '</memory_block>',
    ]);
  });
});
