import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { label, parseMarker, writeMarker } from '../../../../src/memory/edits/placeholder.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { forAll } from '../../../support/laws/runs.ts';

describe('the markers of placeholders', () => {
  it('are read as they were written, whatever the names', () => {
    forAll(fc.string(), fc.string(), fc.option(fc.nat(), { nil: undefined }), (tool, call, tokens) => {
      const ref = `ref_${'a'.repeat(26)}`;
      const marker = {
        kind: 'tool output',
        tool: label(tool, sha256Hex),
        call: label(call, sha256Hex),
        reason: 'context_compaction',
        ...(tokens === undefined ? {} : { ref, tokens }),
      } as const;
      expect(writeMarker(marker)).not.toContain('\n');
      expect(parseMarker(`${writeMarker(marker)}\nand more`)).toEqual(marker);
    });
  });

  it('name neither tool nor call where a text observation has none', () => {
    const ref = `ref_${'a'.repeat(26)}`;
    const bare = {
      kind: 'observation',
      tool: 'text_observation',
      call: 'none',
      reason: 'duplicate',
    } as const;
    const kept = { ...bare, ref, tokens: 9 };
    expect(writeMarker(bare)).toBe('⟦removed: observation; reason=duplicate⟧');
    expect(writeMarker(kept)).toBe(`⟦removed: observation; reason=duplicate; ref=${ref}; tokens=9⟧`);
    for (const marker of [bare, kept]) expect(parseMarker(writeMarker(marker))).toEqual(marker);
  });
});
