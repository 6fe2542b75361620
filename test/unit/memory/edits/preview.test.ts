import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lruOf } from '../../../../src/lib/lru.ts';
import { eachLiteral, type Literal } from '../../../../src/memory/edits/literals.ts';
import { createPreviewWriter, previewTokens } from '../../../../src/memory/edits/preview.ts';
import { createTokenCounter } from '../../../../src/memory/tokens/tokens.ts';
import { BELIEFS } from '../../../../src/request/beliefs.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { assistant, body, lines, read, step, user } from '../../../support/conversations/chat.ts';
import { anyUrl } from '../../../support/conversations/urls.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter, messagesOf, viewOf } from '../../../support/laws/view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;

/** The preview of the last of these outputs, without its marker. */
function preview(tokens: number, ...outputs: string[]): string {
  const steps = outputs.flatMap((output, index) => step(`call_${index}`, 'f', output));
  const sent = messagesOf(
    viewOf(body([user('go'), ...steps, assistant('done')]), { ...OLD, compact_preview_tokens: tokens }),
  );
  return String(sent.at(-2)?.content).split('\n').slice(1).join('\n');
}

const literalsOf = (text: string): Literal[] => {
  const literals: Literal[] = [];
  eachLiteral(text, (literal) => literals.push(literal));
  return literals;
};

/** A writer for an output, message 2, after a user's words. */
function writerOf(words: string, output: string, countedBy = counter) {
  const context = { counter: countedBy, digest: sha256Hex, previews: lruOf(BELIEFS.previews) };
  return createPreviewWriter(read([user(words), ...step('call_1', 'f', output)]), context);
}

/** The literals that a preview names. */
const heldIn = (preview: string): string[] => preview.split('\nheld: ')[1]?.split(' ') ?? [];

describe('previews', () => {
  const json = JSON.stringify(
    { id: 'ORD-4711', items: Array.from({ length: 80 }, (_, index) => ({ n: index, sum: 5 })) },
    null,
    1,
  );

  it('tell the shape of an output and the literals that it held', () => {
    expect(preview(48, json)).toMatch(/^JSON object {id items}, \d+ lines\nheld: ORD-4711$/);
  });

  it('tell the length of an array and the keys of its rows', () => {
    const rows = JSON.stringify(Array.from({ length: 60 }, (_, index) => ({ name: 'x', value: index })));
    expect(preview(48, rows)).toBe('JSON array, 60 items {name value}, 1 line');
  });

  it('cut no character in half', () => {
    const key = `a${'😀'.repeat(40)}`;
    const text = preview(200, JSON.stringify({ [key]: lines(60, 'row').replace(/\d+/g, '1') }));
    expect(text).toContain(`{a${'😀'.repeat(31)}}`);
    expect(text.isWellFormed()).toBe(true);
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

  it('name what says most for its tokens', () => {
    const output = `${lines(60, 'row').replace(/\d+/g, '1')}
      chargeCustomer total 1204.50 in src/pay/of/the/shop/charge.ts:12 by #W6729841 and HAT021`;
    expect(preview(48, output)).toBe(
      '61 lines\nheld: HAT021 #W6729841 src/pay/of/the/shop/charge.ts:12 1204.50 chargeCustomer',
    );
    expect(preview(14, output)).toBe('61 lines\nheld: HAT021 #W6729841');
  });

  it('leave to literals what keys need not have', () => {
    const names = Array.from({ length: 9 }, (_, index) => `long name of column ${'abcdefghi'[index]}`);
    const wide = (value: string): string =>
      JSON.stringify(Object.fromEntries(names.map((name, index) => [name, `${value}${index}`])));
    expect(preview(48, wide('some words that are no literal, with the number '))).toMatch(
      /^JSON object {long name of column a long name of column b .* …}, 1 line$/,
    );
    const ids = preview(48, wide('the order with the number ORD-471'));
    expect(ids).toMatch(/^JSON object, 1 line\nheld: ORD-4710 ORD-4711 /);
    expect(heldIn(ids)).toHaveLength(9);
  });

  it('leave their placeholder recognizable, however full they are', () => {
    const output = Array.from({ length: 80 }, (_, index) => `HAT${index + 100} is ORD-${index}`).join('\n');
    for (let tokens = 30; tokens < 60; tokens++) {
      const strategy = { ...OLD, compact_offload: false, compact_preview_tokens: tokens };
      const messages = [user('go'), ...step('call_1', 'f', output), assistant('done')];
      const sent = messagesOf(viewOf(body(messages), strategy));
      expect(sent[2]?.content).toContain('held: HAT100');
      expect(messagesOf(viewOf(body(sent), strategy))).toEqual(sent);
    }
  });

  it.each([
    ['by itself', (ref: string) => `${ref} ${lines(60)}`],
    ['in a URL', (ref: string) => `https://memory.test/v1/refs/${ref}/content ${lines(60)}`],
    ['as a key', (ref: string) => JSON.stringify({ [ref]: lines(60), other: 1 })],
    ['as a key of rows', (ref: string) => JSON.stringify([{ [ref]: lines(60), other: 1 }])],
  ])('name no ref that an output holds %s', (_, outputWith) => {
    const ref = `ref_${'a'.repeat(26)}`;
    const text = preview(200, outputWith(ref));
    expect(text).not.toBe('');
    expect(text).not.toContain('ref_');
  });

  describe('of a part whose surroundings stay in view', () => {
    const output = `head ORD-1 ${'x '.repeat(50)} ORD-2 ORD-3 ${'y '.repeat(50)} tail ORD-4`;
    const cut = (from: string, to: string) => ({ from: output.indexOf(from), to: output.indexOf(to) });
    const writer = writerOf('go with ORD-3', output);
    const write = (part?: { from: number; to: number }): string => writer.write(2, () => output, 48, part);

    it('leave out what these hold', () => {
      expect(heldIn(write())).toEqual(['ORD-1', 'ORD-2', 'ORD-4']);
      expect(heldIn(write(cut('x x', 'tail')))).toEqual(['ORD-2']);
    });

    it('name a literal whole that the cut goes through', () => {
      const { from, to } = cut('D-1', 'tail');
      expect(heldIn(write({ from, to }))).toEqual(['ORD-1', 'ORD-2']);
    });

    it('are not taken for another part’s', () => {
      const parts = [undefined, cut('head', 'ORD-2'), cut('x x', 'tail'), cut('ORD-2', 'ORD-4'), undefined];
      const again = parts.map(write);
      expect(again).toEqual(
        parts.map((part) => writerOf('go with ORD-3', output).write(2, () => output, 48, part)),
      );
      expect(new Set(again).size).toBe(3);
    });
  });

  describe('of any output', () => {
    const ref = fc
      .string({ unit: fc.constantFrom(...'abcxyz234567'), minLength: 26, maxLength: 26 })
      .map((characters) => `ref_${characters}`);
    const piece = fc.oneof(
      fc.constantFrom('ORD-4711', 'HAT021', '#W6729841', 'src/a/b.ts:12', '$1,204.50', '2024', 'user_id'),
      fc.constantFrom('\n', '{', '}', '"', '\\n', ',', '…', '😀', '\ud83d', 'the order'),
      ref,
      ref.map((text) => `https://memory.test/refs/${text}`),
      anyUrl,
      fc.uuid(),
      fc.emailAddress(),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.nat().map(String),
    );
    const plain = fc
      .array(fc.tuple(piece, fc.constantFrom(' ', '\n', ', ', '')), { maxLength: 60 })
      .map((pieces) => pieces.flat().join(''));
    const jsonText = fc
      .array(fc.dictionary(piece, piece, { maxKeys: 6 }), { maxLength: 5 })
      .map((rows) => JSON.stringify(rows.length === 1 ? rows[0] : rows));
    const text = fc.oneof(plain, jsonText);

    it('have at most the tokens that were asked for, and are the same each time', () => {
      forAll(text, text, fc.nat(120), fc.nat(600), fc.nat(600), (words, output, most, a, b) => {
        const part = { from: Math.min(a, b, output.length), to: Math.min(Math.max(a, b), output.length) };
        for (const removed of [undefined, part]) {
          const first = writerOf(words, output);
          const written = first.write(2, () => output, most, removed);
          expect(written === '' ? 0 : counter.text(`\n${written}`)).toBeLessThanOrEqual(most);
          expect(first.write(2, () => output, most, removed)).toBe(written);
          expect(writerOf(words, output).write(2, () => output, most, removed)).toBe(written);
        }
      });
    });

    it('have no more where the parts of a text have fewer tokens than the whole', () => {
      const strange = createTokenCounter((text) => text.length + text.split(' ').length ** 2);
      forAll(text, fc.nat(600), (output, most) => {
        const written = writerOf('go', output, strange).write(2, () => output, most);
        expect(written === '' ? 0 : strange.text(`\n${written}`)).toBeLessThanOrEqual(most);
      });
    });

    it('name literals of it alone, none that is known or in view, and no ref', () => {
      forAll(text, text, fc.nat(200), fc.nat(600), fc.nat(600), (words, output, most, a, b) => {
        const part = { from: Math.min(a, b, output.length), to: Math.min(Math.max(a, b), output.length) };
        const known = literalsOf(words).map((literal) => literal.text);
        const own = literalsOf(output).map((literal) => literal.text);
        const rest = [output.slice(0, part.from), output.slice(part.to)].flatMap(literalsOf);
        const whole = writerOf(words, output).write(2, () => output, most);
        const middle = writerOf(words, output).write(2, () => output, most, part);
        for (const written of [whole, middle]) {
          expect(written).not.toMatch(/ref_[a-z2-7]{26}/);
          for (const literal of heldIn(written)) {
            expect(own).toContain(literal);
            expect(known).not.toContain(literal);
          }
        }
        for (const literal of heldIn(middle)) expect(rest.map(({ text }) => text)).not.toContain(literal);
      });
    });
  });
});

describe('without a setting a preview has', () => {
  it.each([
    [0, 24],
    [720, 24],
    [1_230, 41],
    [6_000, 200],
    [100_000, 256],
  ])('of an output of %i tokens at most %i', (output, most) => {
    expect(previewTokens(undefined, output)).toBe(most);
    expect(previewTokens(48, output)).toBe(48);
    expect(previewTokens(0, output)).toBe(0);
  });

  it('more of a longer output, and no more than that', () => {
    const ids = (count: number) => Array.from({ length: count }, (_, at) => `ord-${7_000 + at}`).join('\n');
    const steps = (count: number) => [
      ...step('call_1', 'search', ids(count)),
      ...[2, 3, 4, 5].flatMap((at) => step(`call_${at}`, 'look', 'It is fine.')),
    ];
    const shown = (count: number): string => {
      const input = {
        mode: 'auto',
        token_soft_budget: 100,
        low_watermark_pct: 0,
        min_reclaim_tokens: 0,
      } as const;
      const { view } = viewOf(body([user('go'), ...steps(count)]), input);
      return view.removals.get(2)?.[0]?.replacement.split('\n').slice(1).join('\n') ?? '';
    };
    const [few, many] = [shown(150), shown(1_000)];
    expect(counter.text(few)).toBeLessThanOrEqual(40);
    expect(counter.text(many)).toBeGreaterThan(150);
    expect(counter.text(many)).toBeLessThanOrEqual(256);
  });
});
