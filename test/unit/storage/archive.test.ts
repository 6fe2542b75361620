import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { archiveKeys, prefixHashes } from '../../../src/memory/conversation/prefix-hash.ts';
import { excerptOf } from '../../../src/storage/archive/excerpt.ts';
import { LARGEST_PACK, packBytes, packMessages } from '../../../src/storage/archive/packing.ts';
import { bestStart, passageOf } from '../../../src/storage/archive/passage.ts';
import { matchAll, readable, searchable, wordsOf } from '../../../src/storage/archive/text.ts';
import { sha256Hex } from '../../../src/tenant/identity.ts';
import { conversation } from '../../support/conversations/arbitrary-conversation.ts';
import { assistant, read, system, user } from '../../support/conversations/chat.ts';
import { forAll } from '../../support/laws/runs.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A JSON string of this many bytes. */
const ofBytes = (bytes: number) => ({ json: encoder.encode(`"${'x'.repeat(bytes - 2)}"`) });
/** As text: bytes are compared one by one, which takes long. */
const textOf = ({ json }: { json: Uint8Array }): string => decoder.decode(json);
const sizesOf = (...bytes: number[]): number[][] =>
  packMessages(bytes.map(ofBytes)).map((pack) => pack.map(({ message }) => message.json.length));

describe('the packing of archived messages', () => {
  it('puts everything into one pack as long as that is not too large', () => {
    expect(sizesOf()).toEqual([]);
    expect(sizesOf(10, 20, 30)).toEqual([[10, 20, 30]]);
    expect(sizesOf(100_000, 100_000, 100_000)).toEqual([[100_000, 100_000], [100_000]]);
  });

  it('fills a pack to the last byte, its brackets and commas counted', () => {
    expect(sizesOf(10, LARGEST_PACK - 13)).toEqual([[10, LARGEST_PACK - 13]]);
    expect(sizesOf(10, LARGEST_PACK - 12)).toEqual([[10], [LARGEST_PACK - 12]]);
  });

  it('gives a message that is too large a pack of its own', () => {
    const large = LARGEST_PACK * 3;
    expect(sizesOf(large)).toEqual([[large]]);
    expect(sizesOf(10, large, 20, 30)).toEqual([[10], [large], [20, 30]]);
  });

  it('loses nothing, keeps the order, and finds each message by its place', () => {
    const size = fc.oneof(fc.integer({ min: 2, max: 50 }), fc.integer({ min: 2, max: LARGEST_PACK * 2 }));
    forAll(50, fc.array(size, { maxLength: 12 }), (sizes) => {
      const messages = sizes.map(ofBytes);
      const packs = packMessages(messages);
      expect(packs.flatMap((pack) => pack.map(({ message }) => textOf(message)))).toEqual(
        messages.map(textOf),
      );
      for (const pack of packs) {
        const bytes = packBytes(pack);
        expect(bytes.length <= LARGEST_PACK || pack.length === 1).toBe(true);
        for (const { message, start } of pack)
          expect(decoder.decode(bytes.subarray(start, start + message.json.length))).toBe(textOf(message));
        expect(JSON.parse(decoder.decode(bytes))).toHaveLength(pack.length);
      }
    });
  });
});

describe('the query of a search', () => {
  it.each([
    ['blue whale', '"blue" "whale"'],
    ['  blue\n\twhale ', '"blue" "whale"'],
    ['say "no" OR (x*)', '"say" """no""" "OR" "(x*)"'],
    ['a\0b', '"a" "b"'],
    ['\ud800', '"\ufffd"'],
    [' ', undefined],
    ['', undefined],
    ['日本の spring', '"\u200b日\u200b本\u200bの\u200b" "spring"'],
    ['コーヒー', '"\u200bコ\u200bー\u200bヒ\u200bー\u200b"'],
    ['Python入門3', '"Python\u200b入\u200b門\u200b3"'],
    ['𠮷野', '"\u200b𠮷\u200b野\u200b"'],
    ['\0', undefined],
  ])('takes all of %j for words', (words, match) => {
    expect(matchAll(words)).toBe(match);
  });

  it.each([
    [`z Z z. "z" ${'z '.repeat(100)}`, '"z"'],
    ['z z.z z-z-z z/z', '"z-z-z"'],
    ['a.ts src/a.ts src lib/a', '"src/a.ts" "lib/a"'],
    ['café CAFE\u0301 cafe', '"café"'],
    ['ς Σ σ', '"ς"'],
    ['* blue ** (', '"*" "blue"'],
    ['果 苹果 梨', '"\u200b苹\u200b果\u200b" "\u200b梨\u200b"'],
    ['й и', '"й" "и"'],
    ['straße strasse', '"straße" "strasse"'],
  ])('has each word of %j once, and no word that is part of another one', (words, match) => {
    expect(matchAll(words)).toBe(match);
  });

  it('has no two words that can begin at the same place', () => {
    const word = fc.array(fc.constantFrom('z', 'Z', 'ź', 'a', 'á'), { minLength: 1, maxLength: 4 });
    forAll(fc.array(word, { maxLength: 40 }), (words) => {
      const needed = wordsOf(words.map((parts) => parts.join('.')).join(' '));
      const begins = needed.filter((one) =>
        needed.some((other) => other !== one && one.every((part, index) => other[index] === part)),
      );
      expect(begins).toEqual([]);
      const all = needed.map((parts) => ` ${parts.join(' ')} `);
      for (const parts of words) {
        const plain = ` ${parts.join(' ')} `
          .toLowerCase()
          .normalize('NFD')
          .replace(/\u0301/g, '');
        expect(all.some((other) => other.includes(plain))).toBe(true);
      }
    });
  });

  it('holds no quote that is not doubled, whatever it is made of', () => {
    forAll(fc.string({ unit: fc.constantFrom('"', "'", ' ', '\0', 'a', '*', '(', '\ud800') }), (words) => {
      expect(matchAll(words) ?? '""').toMatch(/^"([^"\0]|"")*"( "([^"\0]|"")*")*$/u);
    });
  });
});

describe('the searchable text of a message', () => {
  it('has the characters of scripts without spaces apart, unseen', () => {
    const text = searchable(['我喜欢苹果 and apples', 'ฉันกิน', 'Python入門の本']);
    expect(text).toContain('苹\u200b果\u200b and apples\n');
    expect(text).toContain('Python\u200b入\u200b門\u200bの\u200b本');
    expect(readable(text)).toBe('我喜欢苹果 and apples\nฉันกิน\nPython入門の本');
  });

  it('is well-formed, holds no NUL, and is cut', () => {
    expect(searchable(['a\0b\ud800'])).toBe('a b\ufffd');
    for (const text of ['x'.repeat(300_000), '字'.repeat(300_000), '\u{1f600}'.repeat(150_001)]) {
      const cut = searchable([text]);
      expect(cut).toHaveLength(200_000);
      expect(cut.isWellFormed()).toBe(true);
    }
  });
});

describe('the excerpt of a hit', () => {
  const words = Array.from({ length: 1_000 }, (_, n) => `word${n}`);
  const around = (n: number) => excerptOf(words.join(' '), words.slice(0, n).join(' ').length + Math.sign(n));

  it('is the whole of a text that is short', () => {
    const text = searchable(['Python入門の本 '.repeat(80)]);
    expect(text.length).toBeGreaterThan(1_200);
    expect(excerptOf(text, 5)).toBe('Python入門の本 '.repeat(80));
  });

  it.each([0, 1, 30, 500, 970, 997])('holds the words that were found, wherever they are: %d', (n) => {
    const excerpt = around(n);
    const shown = excerpt.split(' ').filter((word) => word !== '…');
    expect(excerpt.length).toBeLessThanOrEqual(1_204);
    expect(excerpt.length).toBeGreaterThan(1_000);
    expect(` ${words.join(' ')} `).toContain(` ${shown.join(' ')} `);
    expect(shown).toEqual(expect.arrayContaining(words.slice(n, n + 3)));
    expect([excerpt.startsWith('… '), excerpt.endsWith(' …')]).toEqual([
      shown[0] !== words[0],
      shown.at(-1) !== words.at(-1),
    ]);
  });

  it('is well-formed and keeps what was found, whatever the text', () => {
    const piece = fc.constantFrom(
      '\u{1f600}'.repeat(97),
      '字'.repeat(90),
      'x'.repeat(301),
      ' ',
      '\n',
      'a b c',
    );
    forAll(fc.array(piece, { maxLength: 40 }), fc.array(piece, { maxLength: 40 }), (before, after) => {
      const text = searchable([`${before.join('')} needle ${after.join('')}`]);
      const excerpt = excerptOf(text, text.indexOf('needle'));
      expect(excerpt).toContain('needle');
      expect(excerpt.isWellFormed()).toBe(true);
      expect(excerpt.length).toBeLessThanOrEqual(1_204);
      expect(readable(text)).toContain(excerpt.replace(/^… /, '').replace(/ …$/, ''));
    });
  });

  it('begins at the beginning where nothing is found', () => {
    expect(excerptOf('x'.repeat(2_000), 0)).toBe(`${'x'.repeat(1_200)} …`);
  });
});

describe('the passage of a text', () => {
  const shown = (text: string, words: string, size = 4): string | undefined => {
    const passage = passageOf(text, wordsOf(words), size);
    return passage && `${text.slice(passage.start, passage.end)} @${text.slice(passage.word).split(' ')[0]}`;
  };
  const letters = 'a b c d e f g h i j k l m n';

  it.each([
    ['the words in its middle', letters, 'g', 'f g h i @g'],
    ['the beginning, with what is before it', `"${letters}`, 'a', '"a b c d @a'],
    ['the end, with what is behind it', `${letters}!`, 'n', 'k l m n! @n!'],
    ['a short text', 'One, two.', 'two', 'One, two. @two.'],
    ['most of the words', 'a x b c d e f g x y h i j', 'x y', 'g x y h @x'],
    ['the first of equal ones', 'a x b c d e f g x h i j', 'x', 'a x b c @x'],
    ['the beginning of a sentence', 'a b c d e. f x g h i j k', 'x', 'f x g h @x'],
    ['words that stand together', 'a-b c d e f g h b-a c d', 'b-a', 'h b-a c @b-a'],
    ['words in another form', 'a b c d e f CAFÉ g h', 'café', 'f CAFÉ g h @CAFÉ'],
  ])('shows %s', (_, text, words, passage) => {
    expect(shown(text, words)).toBe(passage);
  });

  it('is none where a word is missing, and where there is no word', () => {
    expect(shown(letters, 'a z')).toBeUndefined();
    expect(shown(letters, 'b-a')).toBeUndefined();
    expect(shown(letters, '* "')).toBeUndefined();
    expect(shown('', 'a')).toBeUndefined();
  });

  it.each([1, 2, 64])('is found in one pass over the places of the words, %d for each token', (words) => {
    const tokens = Math.ceil(10_000 / words);
    const places = Array.from({ length: tokens * words }, (_, at) => ({
      token: Math.floor(at / words),
      length: 1,
      word: at % words,
    }));
    let reads = 0;
    const counted = new Proxy(places, {
      get(target, key) {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    const starts = Array.from({ length: tokens }, (_, at) => 2 * at);
    const sentences = starts.filter((token) => token % 3 === 0 && token < tokens);
    bestStart({ starts, ends: starts, sentences, places: counted }, 32, words);
    expect(reads).toBeGreaterThan(places.length);
    expect(reads).toBeLessThan(20 * places.length);
  });
});

describe('the keys of an archive', () => {
  const keysOf = (...messages: Record<string, unknown>[]) => archiveKeys(read(messages), sha256Hex);

  it('are the hashes of prefixes, where a message is none of the preamble', () => {
    forAll(conversation, ({ messages }) => {
      const said = read(messages);
      const keys = archiveKeys(said, sha256Hex);
      const hashes = prefixHashes(said, sha256Hex);
      expect(keys.map(({ chained }) => chained)).toEqual(said.map(({ role }) => role !== 'preamble'));
      for (const [index, { key, chained }] of keys.entries())
        if (chained) expect(key).toBe(hashes[index + 1]);
    });
  });

  it('are different for all messages of an array, equal ones too', () => {
    forAll(conversation, ({ messages }) => {
      const keys = keysOf(...messages, ...messages).map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
    });
    const twice = keysOf(system('s'), system('s'), user('a'), user('a'), system('s')).map(({ key }) => key);
    expect(new Set(twice).size).toBe(5);
  });

  it('do not change as the array grows, nor with the preamble, but for its own', () => {
    const [first, second, third] = keysOf(system('Monday'), user('a'), assistant('b'));
    const [changed, ...rest] = keysOf(system('Tuesday'), user('a'), assistant('b'), user('c'));
    expect(changed).not.toEqual(first);
    expect(rest.slice(0, 2)).toEqual([second, third]);
  });
});
