import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import * as cl100k from 'gpt-tokenizer/encoding/cl100k_base';
import * as o200k from 'gpt-tokenizer/encoding/o200k_base';
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { describe, expect, it } from 'vitest';
import { TABLES } from '#token-tables';
import { loadEncoding } from '../../../../src/memory/tokens/encoding.ts';
import { NO_RANK, TokenRanks } from '../../../../src/memory/tokens/ranks.ts';
import { COUNTED_TEXTS } from '../../../support/conversations/counted-texts.ts';
import { sampleTraces } from '../../../support/conversations/traces.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';

/** What the rules of the encodings distinguish, in ASCII and beyond. */
const FRAGMENTS = [
  ...["'", "'s", "'S", "'d", "'M", "'t", "'ll", "'lL", "'ve", "'re", "'l", "'r", "'ſ", '’s', 'don', 'l', 'e'],
  ...[
    'a',
    'B',
    'Ab',
    'aB',
    'ABC',
    'HTMLElement',
    'word',
    ' Word',
    'quxz',
    'é',
    'É',
    'ǅ',
    'ʰ',
    'ß',
    'ſ',
    'ж',
    'Ж',
  ],
  ...['1', '12', '1234', '٣', '½', '²', 'Ⅷ', '漢', '字仮', 'ไ', 'ा', '\u0301', '가', '😀', '👩‍👧', '🇩🇪'],
  ...[
    ' ',
    '  ',
    '    ',
    '\t',
    '\v',
    '\f',
    '\n',
    '\n\n',
    '\r',
    '\r\n',
    '\u00a0',
    '\u3000',
    '\u2028',
    '\u0085',
  ],
  ...[
    '/',
    '//',
    '-',
    '--',
    '_',
    '.',
    ',',
    '()',
    '{"',
    '":',
    '",',
    '<|endoftext|>',
    '<|im_start|>',
    '\0',
    '\x7f',
  ],
  ...['\u200b', '\u200d', '\ufffd', '\ud800', '\udc00', '\ue000', '\u{10ffff}', '。', '，', '—', '“'],
];
/** gpt-tokenizer does not find tokens that begin with it when it merges. */
const BYTE_ORDER_MARK = '\ufeff';

const texts = (...more: readonly string[]) =>
  fc
    .array(fc.constantFrom(...FRAGMENTS, ...more), { size: '+1', maxLength: 60 })
    .map((parts) => parts.join(''));
const anyCodeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes))
  .filter((text) => !text.includes(BYTE_ORDER_MARK));

const asText = { disallowedSpecial: new Set<string>() };

describe.each([
  ['o200k_base', o200k, O200K_TOKEN_SPLIT_REGEX],
  ['cl100k_base', cl100k, CL100K_TOKEN_SPLIT_REGEX],
] as const)('the encoding %s', async (name, library, pattern) => {
  const encoding = await loadEncoding(name);
  const expectSame = (text: string): void => {
    expect(encoding.count(text), JSON.stringify(text)).toBe(library.countTokens(text, asText));
  };

  it('counts what its rules distinguish as gpt-tokenizer does', () => {
    forAll(runs(200, 3_000), texts(), expectSame);
  });

  it.each([
    ['characters', fc.string({ unit: 'binary', maxLength: 200 })],
    ['ASCII', fc.string({ unit: 'binary-ascii', maxLength: 200 })],
    ['halves of surrogate pairs', anyCodeUnits],
    ['tokens', fc.array(fc.nat(100_000), { maxLength: 40 }).map((ranks) => library.decode(ranks))],
  ])('counts any %s as gpt-tokenizer does', (_, any) => {
    const text = any.filter((text) => !text.includes(BYTE_ORDER_MARK));
    forAll(runs(120, 1_000), text, expectSame);
  });

  it('counts each of its fragments, and two of them, as gpt-tokenizer does', () => {
    for (const first of FRAGMENTS) {
      expectSame(first);
      for (const second of FRAGMENTS) expectSame(first + second);
    }
  });

  it.each(['a', 'aB', ' ', '\n', ' \n', '-', '0', '漢', 'é', '😀', '\ud800', "'s", 'Unheardof'])(
    'counts a run of %j as gpt-tokenizer does, however long',
    (unit) => {
      for (const times of [1, 2, 3, 127, 128, 129, 400]) expectSame(unit.repeat(times));
    },
  );

  it.each(COUNTED_TEXTS)(
    'counts $name as gpt-tokenizer does, which the Worker is compared with',
    (counted) => {
      expectSame(counted.text);
      expect(encoding.count(counted.text)).toBe(counted[name]);
    },
  );

  it('counts recorded conversations as gpt-tokenizer does', () => {
    for (const { messages } of sampleTraces())
      for (const message of messages) {
        expectSame(JSON.stringify(message));
        if (typeof message.content === 'string') expectSame(message.content);
      }
  });

  it('merges the bytes of a byte order mark like any others', () => {
    const ranks = readRanks(name);
    const marked = texts(BYTE_ORDER_MARK, `${BYTE_ORDER_MARK}using`, `a${BYTE_ORDER_MARK}`);
    forAll(marked, (text) => {
      expect(encoding.count(text)).toBe(mergedByBytes(text, pattern, ranks));
    });
  });

  it('counts a text as if it had counted no other', () => {
    const fresh = encoding.count('ünheardofwords');
    for (const other of ['漢'.repeat(500), 'word '.repeat(20_000), '']) expectSame(other);
    expect(encoding.count('ünheardofwords')).toBe(fresh);
  });
});

describe('a table of tokens', async () => {
  const { default: table } = await TABLES.o200k_base();
  const ranks = new TokenRanks(table);
  const bytes = (text: string) => new TextEncoder().encode(text);

  it('knows the rank of each token, as gpt-tokenizer has it', () => {
    const known = readRanks('o200k_base');
    expect(known.size).toBe(199_998);
    for (const [token, rank] of known) {
      const found = ranks.rankOf(Buffer.from(token, 'latin1'), 0, token.length);
      if (found !== rank) expect([token, found]).toEqual([token, rank]);
    }
  });

  it('knows no other bytes', () => {
    for (const text of ['unheardof', 'x'.repeat(300), '']) {
      const found = bytes(text);
      expect(ranks.rankOf(found, 0, found.length)).toBe(NO_RANK);
    }
  });

  it('looks at a part of the bytes', () => {
    const word = bytes(' word');
    expect(ranks.rankOf(bytes('a word.'), 1, 6)).toBe(ranks.rankOf(word, 0, word.length));
  });

  it('refuses more tokens than a slot can hold', () => {
    const header = new DataView(new ArrayBuffer(4));
    header.setUint32(0, 2 ** 18, true);
    expect(() => new TokenRanks(header.buffer)).toThrow(RangeError);
  });
});

/** The ranks by the tokens' bytes, one character for each. */
function readRanks(name: string): Map<string, number> {
  const path = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${name}.tiktoken`);
  const lines = readFileSync(path, 'latin1').trimEnd().split('\n');
  return new Map(
    lines.map((line) => {
      const [token = '', rank] = line.split(' ');
      return [atob(token), Number(rank)];
    }),
  );
}

/** The merges of the encodings in their simplest form. */
function mergedByBytes(text: string, pattern: RegExp, ranks: ReadonlyMap<string, number>): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pattern)) {
    const parts = [...Buffer.from(piece).toString('latin1')];
    for (;;) {
      const pairs = parts
        .slice(1)
        .map((part, at) => ranks.get(`${parts[at]}${part}`) ?? Number.POSITIVE_INFINITY);
      const lowest = Math.min(...pairs);
      if (lowest === Number.POSITIVE_INFINITY) break;
      const at = pairs.indexOf(lowest);
      parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
    }
    tokens += parts.length;
  }
  return tokens;
}
