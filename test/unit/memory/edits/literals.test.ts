import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../../../src/lib/hash-table.ts';
import { byDistinction, eachLiteral, type Literal } from '../../../../src/memory/edits/literals.ts';
import { anyUrl } from '../../../support/conversations/urls.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter } from '../../../support/laws/view-of.ts';

const literalsOf = (given: string): Pick<Literal, 'text' | 'weight'>[] => {
  const literals: Pick<Literal, 'text' | 'weight'>[] = [];
  eachLiteral(given, ({ text, weight }) => literals.push({ text, weight }));
  return literals;
};
const found = (text: string): string[] => [...new Set(literalsOf(text).map((literal) => literal.text))];
const tokensOf = (text: string): number => counter.marker(` ${text}`);
const ordered = (text: string, most = 200): string[] =>
  [...byDistinction((take) => eachLiteral(text, take), tokensOf, most)].map((literal) => literal.text);

describe('the literals of a text', () => {
  it('are ids, paths, URLs, hashes, amounts and names of symbols', () => {
    const text =
      'Order ORD-4711 (user_id usr_9f3) at https://shop.test/o?id=7 failed in src/pay/charge.ts, commit 3f2a9bc, total $1,204.50, see chargeCustomer.';
    expect(found(text)).toEqual([
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
    expect(found('The quick brown fox jumps over the lazy dog.')).toEqual([]);
  });

  it.each([
    'https://shop.test/o?id=7&n=1',
    'postgres://db.test/shop',
    'file:///srv/app/a.js:12:5',
    '28ed1b2a-54b2-817f-8bf8-cc8da2838a66',
    '00000000-0000-0000-0000-000000000000',
    '3f2a9bc',
    '0f343b0931126a20f133d67c2b018a3b5e6d1f27',
    'src/pay/charge.ts',
    './wazuh-install.sh',
    '../src/utils.js',
    '/opt/ruby31/lib',
    '~/.pi/agent/themes',
    '.../0-mysql-common_5.8+1.0.8_all.deb',
    '.git/entire-sessions',
    'cmd/cli/hooks.go:282',
    'cmd/cli/hooks.go:282:9',
    'src/pay/charge.ts#L12',
    'test_reporting.py:10',
    '@types/node@22.1.0',
    'nginxinc/nginx-unprivileged:1.25-alpine',
    'gnupg-ring:/usr/share/keyrings/wazuh.gpg',
    'redis:7.2',
    'u3b4a8a7c@example.com',
    'jo.doe@example.com',
    '10.0.12.7',
    '10.0.12.7:8080',
    '9494281769',
    '555-123-4567',
    '#W6729841',
    '#4711',
    '#ff00ff',
    '#808080',
    '#ffffff',
    'ORD-4711',
    'HAT021',
    '4XGCCM',
    'credit_card_7901829',
    '2025-01-09-abc123',
    '7.81.0-1ubuntu1.23',
    '1-WqsiCVSGCVw0jGMl-YneIsAdcFbN1QtpTW3ir4IsLk',
    '341943-guru92k-cliphigh-qwen32b-Qwen2.5-32B-think',
    'stateDiagram-v2',
  ])('are names of things, such as %j', (text) => {
    expect(literalsOf(text)).toEqual([{ text, weight: 1 }]);
    expect(found(`see (${text}), or “${text}”: ${text}.`)).toEqual([text]);
  });

  it.each([
    '$1,204.50',
    '€120',
    '1204.50',
    '62.5%',
    '12,345',
    '2024',
    '4711',
    '123456',
    '3.12.1',
    '100ms',
    '2.5GB',
    '2025-01-09',
    '2025-01-09T12:33:44.120Z',
    '2022/23',
    '09/18/2024',
    'and/or',
    '/word',
    '24-bit',
  ])('are quantities and what many texts hold, which count less, such as %j', (text) => {
    expect(literalsOf(text)).toEqual([{ text, weight: 0.1 }]);
    expect(found(`see (${text}), or ${text}.`)).toEqual([text]);
  });

  it.each(['user_id', 'os.path', 'chargeCustomer', 'HTTPServer', 'MAX_SIZE', 'a.b#c'])(
    'are names of symbols, which count least, such as %j',
    (text) => {
      expect(literalsOf(text)).toEqual([{ text, weight: 0.01 }]);
    },
  );

  it.each([
    'word',
    'Sentence',
    'ERROR',
    'well-known',
    '--dry-run',
    '12',
    '...',
    '#include',
    '@param',
    'http://',
    'src/**/*.ts',
    'é/è1',
  ])('are not %j', (text) => {
    expect(found(text)).toEqual([]);
  });

  it.each([
    ['src/a/b.ts:12:import x', ['src/a/b.ts:12']],
    ['src/a/b.ts:12:5:error', ['src/a/b.ts:12:5']],
    ['./src/a/b.ts:import x', ['./src/a/b.ts']],
    ['282:import x', []],
    ['282:see ORD-4711', ['ORD-4711']],
    ['git@host.test:shop/web.git', ['git@host.test:shop/web.git']],
  ])('leave out what a search has found after its place: %j', (text, literals) => {
    expect(found(text)).toEqual(literals);
  });

  it('are parted by commas, but not within a URL or a number', () => {
    expect(found('ORD-1,ORD-2,12345')).toEqual(['ORD-1', 'ORD-2', '12345']);
    expect(found('2024-01-02,ORD-1,1234567,7654321')).toEqual(['2024-01-02', 'ORD-1', '1234567', '7654321']);
    expect(found('https://a.test/1,2,3')).toEqual(['https://a.test/1,2,3']);
    expect(found('$1,204.50,')).toEqual(['$1,204.50']);
  });

  it('are parted by the escapes of JSON inside a text', () => {
    expect(found(String.raw`{"out":"see\nsrc/a.ts\n\tORD-4711\\nORD-4712\u001bORD-4713"}`)).toEqual([
      'src/a.ts',
      'ORD-4711',
      'ORD-4712',
      'ORD-4713',
    ]);
  });

  it('are no names of elements', () => {
    expect(found('<p1>text</p1> <a:b2>ORD-4711</a:b2>')).toEqual(['a:b2', 'ORD-4711']);
  });

  it('come as often as they occur, unless they are known', () => {
    const text = 'ORD-4711 (ORD-4711), src/a.ts';
    expect(literalsOf(text).map((literal) => literal.text)).toEqual(['ORD-4711', 'ORD-4711', 'src/a.ts']);
    const fresh: string[] = [];
    eachLiteral(
      text,
      (literal) => fresh.push(literal.text),
      ({ low }) => low === hashOf('ORD-4711').low,
    );
    expect(fresh).toEqual(['src/a.ts']);
  });

  it('are at most 120 characters long', () => {
    expect(found(`a/${'b'.repeat(118)}1 a/${'c'.repeat(119)}1`)).toEqual([]);
    expect(found(`a/${'b'.repeat(117)}1`)).toHaveLength(1);
  });

  it.each([
    '.',
    'a',
    '/a',
    'a.',
    '1,',
    'http://',
    '-',
    'aB',
    '\\',
    '</',
    '#',
    '1-',
    'a:1',
    'a@b.',
    '~/',
    '1:',
  ])('are found in one pass over a long run of %j', (unit) => {
    expect(found(`see ORD-4711 ${unit.repeat(300_000)}`)).toContain('ORD-4711');
  });

  it.each(['a-', '/a.b', '1,', 'aB', '1.', 'a.b:1', '1-', 'a_', 'a@b.', '#a', '1:', './', 'a:', '$1,'])(
    'are found as fast among words of %j that are almost one',
    (unit) => {
      const word = `${unit.repeat(Math.floor(112 / unit.length))}%&`;
      const words = Array.from({ length: 10_000 }, (_, index) => `${word}${index}`).join(' ');
      expect(found(`${words} ORD-4711`)).toContain('ORD-4711');
    },
  );

  it('hold no white space, and are literals by themselves', () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'binary' }), anyUrl, fc.emailAddress()));
    forAll(text, (parts) => {
      for (const literal of literalsOf(parts.join(' '))) {
        expect(literal.text).toMatch(/^\S{4,120}$/);
        expect(literalsOf(literal.text)).toEqual([literal]);
      }
    });
  });
});

describe('the most distinctive literals', () => {
  it('are those that tell most for their tokens', () => {
    expect(ordered('chargeCustomer 1204.50 src/pay/of/the/shop/charge.ts HAT021 ORD-4711')).toEqual([
      'HAT021',
      'ORD-4711',
      'src/pay/of/the/shop/charge.ts',
      '1204.50',
      'chargeCustomer',
    ]);
  });

  it('are named once', () => {
    expect(ordered('ORD-4711 (ORD-4711), ORD-4711,ORD-4711')).toEqual(['ORD-4711']);
  });

  it('are in their own order when they tell as much', () => {
    expect(ordered('HAT023 HAT021 HAT022')).toEqual(['HAT023', 'HAT021', 'HAT022']);
    // Characters choose whom to count, and say nothing of the order.
    expect(tokensOf('HAT021')).toBe(tokensOf('/srv/app'));
    expect(ordered('/srv/app HAT021')).toEqual(['/srv/app', 'HAT021']);
  });

  it('are counted only as far as they can be of use', () => {
    const orders = Array.from({ length: 30_000 }, (_, index) => `ORD-${index}`).join(' ');
    let counted = 0;
    const best = [
      ...byDistinction(
        (take) => eachLiteral(orders, take),
        (text) => text.length + ++counted * 0,
        200,
      ),
    ];
    expect(literalsOf(orders)).toHaveLength(30_000);
    expect(best).toHaveLength(200);
    expect(counted).toBe(200);
    expect(best[0]?.text).toBe('ORD-0');
  });

  it('are not counted while heavier ones are chosen', () => {
    const counted: string[] = [];
    const [first] = byDistinction(
      (take) => eachLiteral('2027 a.member ORD-4711', take),
      (text) => counted.push(text),
      10,
    );
    expect(first?.text).toBe('ORD-4711');
    expect(counted).toEqual(['ORD-4711']);
  });

  it('F2: chooses the same, however many there are and however often each comes', () => {
    const literal = fc.record({
      text: fc.integer({ min: 0, max: 60 }).map((n) => 'x'.repeat(4 + (n % 9)) + n),
      weight: fc.constantFrom(1, 0.1, 0.01),
    });
    forAll(fc.array(literal, { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (given, most) => {
      const weights = new Map(
        given.map(({ text, weight }) => [text, weight]).reverse() as [string, number][],
      );
      const literals = given.map(({ text }) => ({ text, weight: weights.get(text) ?? 0, low: 0, high: 0 }));
      const distinct = [...new Map(literals.map((one) => [one.text, one])).values()];
      const firsts = distinct.sort((a, b) => indexOf(a.text) - indexOf(b.text));
      function indexOf(text: string): number {
        return literals.findIndex((one) => one.text === text);
      }
      const score = ({ text, weight }: Literal): number => weight / (text.length + 1);
      const best = new Set(firsts.toSorted((a, b) => score(b) - score(a)).slice(0, most));
      const expected = firsts
        .filter((one) => best.has(one))
        .sort((a, b) => b.weight / b.text.length - a.weight / a.text.length)
        .map(({ text }) => ({ text, tokens: text.length }));
      const chosen = byDistinction(
        (take) => literals.forEach(take),
        (text) => text.length,
        most,
      );
      expect([...chosen].map(({ text, tokens }) => ({ text, tokens }))).toEqual(expected);
    });
  });
});
