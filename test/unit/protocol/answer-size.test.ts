import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerSize } from '../../../src/protocol/answers/answer-size.ts';
import { forAll } from '../../support/laws/runs.ts';

const encoder = new TextEncoder();

function outputOf(text: string, isStream: boolean, pieces: readonly number[] = []): number {
  const size = new AnswerSize(isStream);
  const bytes = encoder.encode(text);
  let start = 0;
  for (const length of pieces) {
    size.push(bytes.subarray(start, start + length));
    start += length;
  }
  size.push(bytes.subarray(start));
  return size.output;
}

const event = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

describe('the size of an answer that reports no usage', () => {
  it('is its bytes where it comes whole', () => {
    expect(outputOf('x'.repeat(401), false)).toBe(101);
  });

  it('is a token for each event of a stream, and more where they hold more', () => {
    expect(outputOf(event('word').repeat(10), true)).toBe(10);
    expect(outputOf(event('word').repeat(9) + event('word'.repeat(101)), true)).toBe(110);
    expect(outputOf(': keepalive\n\nevent: ping\n\n', true)).toBe(0);
  });

  it('counts what equal large events hold, but not the frame of small ones', () => {
    expect(outputOf(event('words '.repeat(300)).repeat(20), true)).toBeGreaterThan(6_000);
    const words = `${event('word').repeat(10)}event: ping\ndata: {"type":"ping"}\n\ndata: [DONE]\n\n`;
    expect(outputOf(words, true)).toBeLessThanOrEqual(12);
  });

  it('does not depend on how the stream is cut into pieces', () => {
    const words = fc.array(fc.string({ maxLength: 40 }), { minLength: 1, maxLength: 10 });
    forAll(words, fc.array(fc.integer({ min: 0, max: 60 })), (all, pieces) => {
      const text = `event: x\n${all.map(event).join('')}data: [DONE]\n\n`;
      expect(outputOf(text, true, pieces)).toBe(outputOf(text, true));
    });
  });
});
