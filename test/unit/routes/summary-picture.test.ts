/** The summary as a picture. */
import { describe, expect, it } from 'vitest';
import { NO_DAY_SUMS } from '../../../src/memory/run/day-sums.ts';
import { summaryPicture } from '../../../src/routes/conversations/summary-picture.ts';

const day = (sent: number, would_be: number) => ({ ...NO_DAY_SUMS, requests: 1, billed: 1, sent, would_be });

describe('the picture of a summary', () => {
  it('has all words, in lines that fit, and no markup of them', () => {
    const text = `This week: <b>"A" & B</b>. ${'Some more words follow here. '.repeat(12)}End.`;
    const picture = summaryPicture(text, []);
    const lines = [...picture.matchAll(/<tspan[^>]*>([^<]*)</g)].map(([, line = '']) =>
      line.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
    );
    expect(lines.join(' ')).toBe(text);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(80);
    expect(picture).not.toContain('<b>');
  });

  it("shows characters that XML can't have as U+FFFD", () => {
    const picture = summaryPicture('a\0b\u0007c\ud800d\uffffe', []);
    expect(picture).toContain('>a\ufffdb\ufffdc\ufffdd\ufffde<');
  });

  it('has bars of what was paid and saved, as high as their amounts', () => {
    const picture = summaryPicture('Words.', [day(50, 100), NO_DAY_SUMS, day(60, 40)]);
    const bars = [...picture.matchAll(/<rect class="(paid|saved)"[^>]* height="([\d.]+)"/g)].map(
      ([, of, height]) => [of, Number(height)],
    );
    expect(bars).toEqual([
      ['saved', 36],
      ['paid', 36],
      ['paid', 43.2],
    ]);
    expect(summaryPicture('Words.', [NO_DAY_SUMS, NO_DAY_SUMS])).not.toMatch(/class="paid"/);
  });
});
