import { describe, expect, it } from 'vitest';
import { byDistinction, literalsOf } from '../../src/memory/literals.ts';
import { assistant, body, lines, step, user } from '../support/chat.ts';
import { counter, messagesOf, viewOf } from '../support/view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;

/** The preview of the last of these outputs, without its marker. */
function preview(tokens: number, ...outputs: string[]): string {
  const steps = outputs.flatMap((output, index) => step(`call_${index}`, 'f', output));
  const sent = messagesOf(
    viewOf(body([user('go'), ...steps, assistant('done')]), { ...OLD, compact_preview_tokens: tokens }),
  );
  return String(sent.at(-2)?.content).split('\n').slice(1).join('\n');
}

describe('literals', () => {
  it('are ids, paths, URLs, hashes, amounts and names of symbols', () => {
    const text =
      'Order ORD-4711 (user_id usr_9f3) at https://shop.test/o?id=7 failed in src/pay/charge.ts, commit 3f2a9bc, total $1,204.50, see chargeCustomer.';
    expect(literalsOf(text)).toEqual([
      'ORD-4711',
      'user_id',
      'usr_9f3',
      'https://shop.test/o?id=7',
      'src/pay/charge.ts',
      '3f2a9bc',
      '$1,204.50',
      'chargeCustomer',
    ]);
  });

  it('are not plain words', () => {
    expect(literalsOf('The quick brown fox jumps over the lazy dog.')).toEqual([]);
  });

  it.each(['.', 'a', '/a', 'a.', '1,', 'http://', '-', 'aB'])(
    'are found in one pass over a long run of %j',
    (unit) => {
      expect(literalsOf(`see ORD-4711 ${unit.repeat(300_000)}`)).toContain('ORD-4711');
    },
  );

  it('are named most distinctive first', () => {
    expect(byDistinction(['chargeCustomer', 'ORD-4711', 'src/a.ts', 'https://a.test/b'])).toEqual([
      'https://a.test/b',
      'src/a.ts',
      'ORD-4711',
      'chargeCustomer',
    ]);
  });
});

describe('previews', () => {
  const json = JSON.stringify(
    { id: 'ORD-4711', items: Array.from({ length: 80 }, (_, index) => ({ n: index, sum: 5 })) },
    null,
    1,
  );

  it('tell the shape of an output and the literals that it held', () => {
    expect(preview(48, json)).toMatch(/^shape: JSON object with keys id items, \d+ lines\nheld: ORD-4711$/);
  });

  it('tell the length of an array and the keys of its rows', () => {
    const rows = JSON.stringify(Array.from({ length: 60 }, (_, index) => ({ name: 'x', value: index })));
    expect(preview(48, rows)).toBe('shape: JSON array, 60 items of objects with keys name value, 1 line');
  });

  it('cut no character in half', () => {
    const key = `a${'😀'.repeat(20)}`;
    expect(preview(64, JSON.stringify({ [key]: lines(60) })).isWellFormed()).toBe(true);
  });

  it('leave out what an earlier message holds', () => {
    expect(preview(48, 'known: ORD-4711', `${lines(60, 'row')}\nORD-4711 and ORD-4712`)).toContain(
      'ORD-4712',
    );
    expect(preview(48, 'known: ORD-4711', `${lines(60, 'row')}\nORD-4711 and ORD-4712`)).not.toContain(
      'ORD-4711',
    );
  });

  it.each([8, 16, 48])('have at most the tokens that were asked for', (most) => {
    const output = Array.from(
      { length: 80 },
      (_, index) => `path /srv/app/file-${index}.ts id ORD-${index}`,
    ).join('\n');
    const text = preview(most, output);
    expect(counter.text(text)).toBeLessThanOrEqual(most);
    expect(text === '').toBe(most < 8);
  });

  it('are not written unless asked for', () => {
    expect(preview(0, json)).toBe('');
  });
});
