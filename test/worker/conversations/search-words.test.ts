/** What a search makes of words and texts itself, compared with what FTS5 makes of them. */
import { runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passageOf } from '../../../src/storage/archive/passage.ts';
import { matchAll, searchable, wordsOf } from '../../../src/storage/archive/text.ts';
import { tokensOf } from '../../../src/storage/archive/tokens.ts';
import { user } from '../../support/conversations/chat.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import { archive, objectOf, recordLog } from './archived.ts';

recordLog();

const TOKENIZER = "tokenize = 'unicode61 remove_diacritics 2'";

/** Runs in an object with an index `texts` of its own. */
const inIndex = (name: string, work: (sql: SqlStorage) => void) =>
  runInDurableObject(objectOf({ id: `search words: ${name}` }), (_, { storage: { sql } }) => {
    sql.exec(`CREATE VIRTUAL TABLE texts USING fts5(text, ${TOKENIZER})`);
    work(sql);
    sql.exec('DROP TABLE texts');
  });

/** Of eight characters beyond the first plane, this many are tried. */
const OF_EIGHT = runs(1, 8);

/** All but surrogates, and but for one in 64 where thousands of letters are alike. */
const CODE_POINTS = Array.from({ length: 0x32_400 }, (_, code) => code).filter(
  (code) =>
    code > 0 &&
    (code < 0xd800 || code > 0xdfff) &&
    (code % 64 === 0 ||
      code < 0x3400 ||
      (code > 0xd7a3 && code < 0xe000) ||
      (code > 0xf8ff && code < 0x20_000 && (code < 0x1_0000 || code % 8 < OF_EIGHT))),
);

describe('the tokens of a search', () => {
  it.each([
    ['alone', (letter: string) => letter],
    ['within a word', (letter: string) => `q${letter}q`],
  ])('are equal where FTS5’s are, for every character %s', async (_, form) => {
    const theirs = new Map<number, string[]>();
    await inIndex(form('x'), (sql) => {
      for (let from = 0; from < CODE_POINTS.length; from += 500) {
        const some = CODE_POINTS.slice(from, from + 500);
        const text = some.map((code) => `key${code} ${form(String.fromCodePoint(code))} `).join('');
        sql.exec('INSERT INTO texts (rowid, text) VALUES (?, ?)', from + 1, text);
      }
      sql.exec("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, 'instance')");
      let tokens: string[] = [];
      for (const { term } of sql
        .exec<{ term: string; doc: number; offset: number }>('SELECT term, doc, offset FROM tokens')
        .toArray()
        .sort((a, b) => a.doc - b.doc || a.offset - b.offset))
        if (/^key\d+$/.test(term)) {
          tokens = [];
          theirs.set(Number(term.slice(3)), tokens);
        } else tokens.push(term);
      sql.exec('DROP TABLE tokens');
    });
    const ours = new Map<string, string>();
    const unequal: string[] = [];
    let same = 0;
    for (const code of CODE_POINTS) {
      const tokens = JSON.stringify(theirs.get(code));
      const own = JSON.stringify(
        Array.from(tokensOf(form(String.fromCodePoint(code))), ({ folded }) => folded),
      );
      if ((ours.get(tokens) ?? own) !== own) unequal.push(code.toString(16));
      ours.set(tokens, own);
      if (own === tokens) same++;
    }
    expect(theirs.size).toBe(CODE_POINTS.length);
    expect(unequal).toEqual([]);
    expect(same / CODE_POINTS.length).toBeGreaterThan(0.9);
  });
});

describe('the passage of a search', () => {
  it('is the one of snippet()', async () => {
    const word = fc.constantFrom('a', 'b', 'a', 'B', 'é', 'café', 'x1', 'the', 'of', 'a-b', '字果', 'й');
    const gap = fc.constantFrom(' ', ' ', ' ', '. ', ': ', ', ', '\n', '.', '/', ' - ', '.\n\n');
    const pieces = fc.array(fc.tuple(word, gap), { minLength: 1, maxLength: 120, size: 'max' });
    const query = fc.array(
      fc.constantFrom('a', 'b', 'E', 'cafe', 'the', 'a-b', 'b.a', '字', 'of/a', 'nowhere'),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    const size = fc.constantFrom(2, 5, 32, 64);
    const numRuns = runs(100, 1_000);
    let shown = 0;
    await inIndex('snippet()', (sql) => {
      forAll(numRuns, pieces, query, size, fc.constantFrom('', '"', '. '), (parts, words, tokens, before) => {
        const text = searchable([`${before}${parts.flat().join('')}`]);
        sql.exec('INSERT OR REPLACE INTO texts (rowid, text) VALUES (1, ?)', text);
        const [theirs] = sql
          .exec<{ snippet: string }>(
            `SELECT snippet(texts, 0, char(2), '', '…', ${tokens}) AS snippet FROM texts WHERE texts MATCH ?`,
            matchAll(words.join(' ')) ?? '""',
          )
          .toArray();
        const ours = passageOf(text, wordsOf(words.join(' ')), tokens);
        expect(ours === undefined).toBe(theirs === undefined);
        if (!ours || !theirs) return;
        const { start, end, word: at } = ours;
        const shows = (passage: string): string =>
          `${start > 0 ? '…' : ''}${passage}${end < text.length ? '…' : ''}`;
        expect(shows(text.slice(start, end))).toBe(theirs.snippet.replaceAll('\u0002', ''));
        shown++;
        // It joins words that overlap, and leaves out a mark before the passage.
        if (wordsOf(words.join(' ')).some((parts) => parts.length > 1)) return;
        const [head = ''] = theirs.snippet.split('\u0002');
        expect(head).toBe(`${start > 0 ? '…' : ''}${text.slice(start, at)}`);
      });
    });
    expect(shown).toBeGreaterThan(numRuns / 5);
  });
});

describe('a search of a text that is one word over and over', () => {
  const many = 'z '.repeat(120_000);

  it.each([
    ['the word', 'z'],
    ['the word again and again', 'z '.repeat(120).trim()],
    [
      'the word in all its forms',
      ['z', 'Z', 'ź', 'Ž', 'z.', '(z)', 'z\u0301', '"z"', 'z,', 'z:', '-z', '/z', '.z', 'z!'].join(' '),
    ],
    [
      'longer and longer runs',
      Array.from({ length: 14 }, (_, at) =>
        Array(at + 2)
          .fill('z')
          .join('.'),
      ).join(' '),
    ],
    ['a run as long as a query', Array(128).fill('z').join('-')],
  ])('answers a query of %s', async (_, q) => {
    const { ask, get, page } = archive();
    await ask([user(many), user(`one z, ${many}`), user('no such word')]);

    expect((await get({ q })).status).toBe(200);
    const { data } = await page({ q });
    expect(data.map(({ position }) => position).sort()).toEqual([0, 1]);
    for (const { snippet } of data)
      expect(snippet).toMatch(/^(…|one z, )?(z ){30,32}?z…$|^one (z,? ){30}z…$/);
  });

  it('ends a page before its texts are too long together', async () => {
    const { ask, page } = archive();
    const talk = Array.from({ length: 12 }, (_, at) => user(`${'z '.repeat(99_990)}${at}`));
    await ask(talk);

    const first = await page({ q: 'z', limit: '100' });
    const second = await page({ q: 'z', limit: '100', cursor: first.cursor ?? '' });

    expect([first, second].map(({ data, has_more }) => [data.length, has_more])).toEqual([
      [10, true],
      [2, false],
    ]);
    expect([...first.data, ...second.data].map(({ position }) => position).sort((a, b) => a - b)).toEqual(
      talk.map((_, index) => index),
    );
  });
});
