import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lruOf } from '../../../../src/lib/lru.ts';
import { createPreviewWriter } from '../../../../src/memory/edits/preview.ts';
import { LARGEST_FACTOR, SMALLEST_FACTOR } from '../../../../src/memory/models/facts.ts';
import { longestFitting, MOST_COUNTS, mostFitting } from '../../../../src/memory/tokens/fitting.ts';
import { createTokenCounter, type TokenCounter } from '../../../../src/memory/tokens/tokens.ts';
import { BELIEFS } from '../../../../src/request/beliefs.ts';
import { shorten } from '../../../../src/retrieval/shorten.ts';
import { writeLedger } from '../../../../src/summary/text/ledger.ts';
import { transcriptParts } from '../../../../src/summary/text/transcript.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { lines, read, step, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter } from '../../../support/laws/view-of.ts';

/** A counter, and the lengths of what it has counted. */
function watched(): { counter: { text(text: string): number }; counted: number[] } {
  const counted: number[] = [];
  const text = (text: string): number => {
    counted.push(text.length);
    return counter.text(text);
  };
  return { counter: { text }, counted };
}

const PROSE = 'The order is on its way, and nobody has asked for anything else so far. ';
const DENSE = 'x7!Qz#9@w§ ';

const SHAPES: readonly (readonly [string, string])[] = [
  ['prose', PROSE.repeat(4_500)],
  ['a dense beginning', DENSE.repeat(6_000) + PROSE.repeat(4_000)],
  ['a dense end', PROSE.repeat(3_000) + DENSE.repeat(10_000)],
  ['rows that grow', Array.from({ length: 900 }, (_, at) => DENSE.repeat(1 + at / 30)).join('\n')],
  ['a run of one letter', 'a'.repeat(300_000)],
  ['a dense beginning, then rules', `${DENSE.repeat(2_990)}\n${`${'='.repeat(120)}\n`.repeat(2_000)}`],
  ['a dense beginning, then spaces', `${DENSE.repeat(2_990)}${' '.repeat(220_000)}`],
  ['spaces, then a script without spaces', ' '.repeat(200_000) + '漢字仮名交'.repeat(20_000)],
];

describe('a text within a number of tokens', () => {
  it.each(SHAPES)('F5: is found in few counts: %s', (_, text) => {
    for (const tokens of [100, 5_000, 30_000]) {
      const { counter: own, counted } = watched();
      const whole = counter.text(text);
      const shown = shorten(text, tokens, own);
      expect(counted.length).toBeLessThanOrEqual(MOST_COUNTS);
      expect(Math.max(...counted)).toBeLessThanOrEqual(8 * tokens);
      expect(counter.text(shown.text)).toBeLessThanOrEqual(tokens);
      expect(shown.isCut).toBe(whole > tokens);
    }
  });

  it.each(SHAPES)('F5: is nearly as long as it may be: %s', (_, text) => {
    for (const tokens of [100, 5_000]) {
      const length = longestFitting(text.length, tokens, (end) => counter.text(text.slice(0, end)));
      const more = text.slice(0, Math.ceil(length * 1.1) + 2);
      // For text with hardly any tokens, eight characters for each are enough.
      if (length < 8 * tokens) expect(counter.text(more)).toBeGreaterThan(tokens * 0.95);
    }
  });

  it('F5: never has more tokens than it may, whatever a character takes', () => {
    const text = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 400 });
    forAll(text, fc.integer({ min: 1, max: 200 }), (weights, tokens) => {
      let counts = 0;
      const count = (length: number): number => {
        counts++;
        return weights.slice(0, length).reduce((sum, weight) => sum + weight, 0);
      };
      const length = longestFitting(weights.length, tokens, count);
      expect(weights.slice(0, length).reduce((sum, weight) => sum + weight, 0)).toBeLessThanOrEqual(tokens);
      expect(counts).toBeLessThanOrEqual(MOST_COUNTS);
    });
  });

  it('never has more tokens than it may, whatever the factor', () => {
    const text = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 400 });
    const factor = fc.double({ min: SMALLEST_FACTOR, max: LARGEST_FACTOR, noNaN: true });
    forAll(text, fc.integer({ min: 1, max: 200 }), factor, (weights, tokens, factor) => {
      const tokensOf = (length: number): number =>
        Math.ceil(factor * weights.slice(0, length).reduce((sum, weight) => sum + weight, 0));
      expect(tokensOf(longestFitting(weights.length, tokens, tokensOf))).toBeLessThanOrEqual(tokens);
    });
  });

  it('F5: is a line shorter than a text that has one token too many', () => {
    const text = lines(3_000);
    const { text: shown } = shorten(text, counter.text(text) - 1, counter);
    expect(text.length - shown.length).toBeLessThan(text.length * 0.03);
  });
});

describe('the most elements that fit', () => {
  /**
   * Counts a token for each word, and many more for several words together, so a text has more
   * tokens than its parts.
   */
  function strange(): { counter: TokenCounter; wholes: () => number } {
    let wholes = 0;
    const counter = createTokenCounter((text) => {
      const words = text.split(/[ ,]+/).filter(Boolean).length;
      if (words > 8) wholes++;
      return words > 8 ? 2 * words : words;
    });
    return { counter, wholes: () => wholes };
  }

  it('F5: of a ledger are found in few counts', () => {
    const { counter, wholes } = strange();
    const literals = Array.from({ length: 300 }, (_, at) => `ORD-${7_000 + at}`);
    const room = { maxTokens: 300, counter, alreadyIn: '', includeTrajectory: true };
    const written = writeLedger({ literals, attachments: [], turns: [] }, room);
    expect(wholes()).toBeLessThanOrEqual(12);
    expect(counter.text(written)).toBeLessThanOrEqual(300);
    expect(counter.text(written)).toBeGreaterThan(290);
  });

  it('F5: of a preview are found in few counts', () => {
    const { counter, wholes } = strange();
    const output = Array.from({ length: 300 }, (_, at) => `ORD-${7_000 + at}`).join('\n');
    const context = { counter, digest: sha256Hex, previews: lruOf(BELIEFS.previews) };
    const writer = createPreviewWriter(read([user('go'), ...step('call_1', 'f', output)]), context);
    const written = writer.write(2, () => output, 300);
    expect(wholes()).toBeLessThanOrEqual(24);
    expect(counter.text(`\n${written}`)).toBeLessThanOrEqual(300);
    expect(counter.text(`\n${written}`)).toBeGreaterThan(290);
  });

  it('F5: of a chunk of a transcript are found in few counts', () => {
    const { counter, wholes } = strange();
    const entry = { index: 0, role: 'user' as const, text: 'word '.repeat(2_000), calls: [] };
    const pieces = [{ entries: [entry], boundary: { end: 1, prefixHash: 'h', sequence: 0 } }];
    const chunks = transcriptParts(pieces, 240, counter);
    for (const { text } of chunks) expect(counter.text(text)).toBeLessThanOrEqual(240);
    expect(wholes()).toBeLessThanOrEqual(10 * chunks.length);
  });

  it('F5: are found in as many looks as their number has digits in binary, and one', () => {
    forAll(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 5_000 }), (length, room) => {
      let looks = 0;
      const kept = mostFitting(length, (many) => {
        looks++;
        return many <= room;
      });
      expect(kept).toBe(Math.min(length, room));
      expect(looks).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(length + 1)));
    });
  });
});
