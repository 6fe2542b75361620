import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { label, parseMarker, writeMarker } from '../../../../src/memory/edits/placeholder.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';

describe('the markers of placeholders', () => {
  it('are read as they were written, whatever the names', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.option(fc.nat(), { nil: undefined }), (tool, call, tokens) => {
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
      }),
    );
  });
});
