import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mayConcernUs } from '../../../../src/answer/unread/may-concern-us.ts';
import { forAll } from '../../../support/laws/runs.ts';

/** What is searched for, as one expression. */
const OURS =
  /"(memory_(strategy|injection|report|summary)|conversation_id|agent_type)"|precis1_|ref_[a-z2-7]{26}|"compact|\\u00(3\d|[567][\da-fA-F])/;

const REF = `ref_${'abcdefghijklmnopqrstuvwxyz234567'.slice(6)}`;
const WHOLE = [
  '"memory_strategy"',
  '"memory_injection"',
  '"memory_report"',
  '"memory_summary"',
  '"conversation_id"',
  '"agent_type"',
  '"precis1_reasoning"',
  'precis1_abc',
  REF,
  '"compacted"',
  '"compaction_trigger"',
  '\\u0061',
  '\\u005F',
  '\\u0030',
];

/** Lengths around the sizes of the pieces that are searched at a time, and of the edges. */
const LENGTHS = [0, 1, 2_048, 4_096, 16_384, 32_768, 65_536];

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const piece = fc.oneof(
  fc.constantFrom(...WHOLE),
  // Parts of these, and what almost looks like them.
  fc
    .tuple(fc.constantFrom(...WHOLE), fc.nat(30), fc.nat(30))
    .map(([text, start, length]) => text.slice(start, start + length)),
  fc
    .tuple(fc.constantFrom(...WHOLE), fc.nat(30), fc.constantFrom('_', '"', '\\', 'x', '0', '8', 'é'))
    .map(([text, at, letter]) => text.slice(0, at) + letter + text.slice(at + 1)),
  fc.constantFrom(
    'impact',
    '\\u00e9',
    '\\u001b',
    '\\"',
    '_',
    'memory_',
    'tool_call_id',
    'ref_',
    '"type":"text"',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

test('finds what concerns Precis, and nothing else', () => {
  forAll(3_000, fc.array(piece, { maxLength: 12 }), (pieces) => {
    const text = pieces.join('');
    expect(mayConcernUs(bytesOf(text))).toBe(OURS.test(text));
  });
});

test('finds it wherever it is in a long body', () => {
  const around = fc.tuple(fc.constantFrom(...LENGTHS), fc.integer({ min: -40, max: 40 }));
  const filler = fc.constantFrom(' ', '_', 'm', '\\"', '\\u00e9', 'impact ', 'tool_call_id ', '___');
  forAll(1_000, piece, around, around, filler, (text, [before, less], [after, more], fill) => {
    const fills = (length: number): string => fill.repeat(Math.max(0, length) / fill.length + 1);
    const body = fills(before + less) + text + fills(after + more);
    expect(mayConcernUs(bytesOf(body))).toBe(OURS.test(body));
  });
});

test.each(WHOLE)('finds %s at every place around the end of a piece', (text) => {
  for (let before = 16_384 - 40; before <= 16_384; before++)
    for (const after of [0, 5_000]) {
      const body = bytesOf(' '.repeat(before) + text + ' '.repeat(after));
      expect(mayConcernUs(body), `${before}, ${after}`).toBe(true);
    }
});
