import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { assistant, calls, result, system, user } from '../../support/conversations/chat.ts';
import { KEY } from '../support.ts';
import { ANSWER, archive, type Item, type Page, packsOf, recordLog, tablesOf } from './archived.ts';

const logged = recordLog();

describe('a page of the archive', () => {
  it('has as many messages as are wanted, and names the next one', async () => {
    const { ask, page } = archive();
    const talk = [1, 2, 3, 4, 5].map((n) => user(`Question ${n}`));
    await ask(talk);
    const pages: Page[] = [];
    for (let cursor: string | null | undefined = '0'; cursor != null; cursor = pages.at(-1)?.cursor)
      pages.push(await page({ limit: '4', cursor }));

    expect(pages.map(({ data, has_more }) => [data.length, has_more])).toEqual([
      [4, true],
      [2, false],
    ]);
    expect(pages.flatMap(({ data }) => data.map(({ message }) => message))).toEqual([...talk, ANSWER]);
  });

  it('is shorter where messages are large', async () => {
    const { ask, page } = archive();
    // Spaces are counted fast.
    const talk = ['a', 'b', 'c', 'd'].map((letter) => user(letter.padEnd(3 * 1024 * 1024)));
    await ask(talk);

    const first = await page();
    const second = await page({ cursor: first.cursor ?? '' });

    expect([first, second].map(({ data, has_more }) => [data.length, has_more])).toEqual([
      [2, true],
      [3, false],
    ]);
    expect([...first.data, ...second.data].map(({ message }) => message)).toEqual([...talk, ANSWER]);
  });

  it('reports a message whose pack is lost', async () => {
    const { ask, page } = archive();
    const before = await packsOf();
    await ask([user('One')]);
    await env.REFS.delete(await packsOf(KEY, before));

    expect((await page()).data.map(({ position, message }) => [position, message])).toEqual([
      [0, null],
      [1, null],
    ]);
  });

  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.failing, 'get'],
    ['the object', ({ objects }) => objects.failing, 'archive.page'],
  ])('is refused for now when %s fails', async (_, failingOf, method) => {
    const talk = archive();
    await talk.ask([user('One')]);
    failingOf(talk).add(method);

    const response = await talk.get();

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: 'store_failed' } });
  });

  it('reports a message whose pack is damaged, and logs that', async () => {
    const { ask, get, page } = archive();
    const before = await packsOf();
    await ask([user('the words of the caller')]);
    const [first = ''] = await packsOf(KEY, before);
    await ask([user('the words of the caller'), ANSWER, user('Two')]);
    await env.REFS.put(first, new Uint8Array([1, 2, 3]));
    const listed = await get();
    const lines = [...logged];

    expect(listed.status).toBe(200);
    const { data } = (await listed.json()) as Page;
    expect(data.map(({ message }) => message)).toEqual([null, null, user('Two'), ANSWER]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('damaged_pack');
    expect((await page({ q: 'caller' })).data).toMatchObject([
      { message: null, snippet: 'the words of the caller' },
    ]);
    expect(logged.join()).not.toContain('the words of the caller');
  });

  it('does not open for another purpose, or under another name', async () => {
    const { ask, messages } = archive();
    const before = await packsOf();
    const words = 'words that come into no ciphertext by chance';
    await ask([user(words)]);
    const [pack = ''] = await packsOf(KEY, before);
    const object = await env.REFS.get(pack);
    const bytes = new Uint8Array((await object?.arrayBuffer()) ?? []);
    expect(new TextDecoder().decode(bytes)).not.toContain(words);
    const other = archive();
    await other.ask([user('Two')]);
    const [theirs = ''] = await packsOf(KEY, [...before, pack]);
    await env.REFS.put(theirs, bytes);

    expect(await other.messages()).toEqual([null, null]);
    expect(await messages()).toEqual([user(words), ANSWER]);
  });
});

describe('a search of the archive', () => {
  it('finds texts, outputs, arguments of calls and answers, and shows the words around', async () => {
    const { ask, found, page } = archive();
    await ask([
      user('Where is the blue whale?'),
      calls(['call_1', 'look_up', '{"animal":"humpback"}']),
      result('call_1', [
        { type: 'text', text: 'It was seen off Húsavík, by ORD-4711.' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ]),
    ]);

    const output = result('call_1', expect.anything());
    expect(await found('blue')).toEqual(['Where is the blue whale?']);
    expect(await found('whale WHERE')).toEqual(['Where is the blue whale?']);
    expect((await page({ q: 'humpback' })).data.map(({ position }) => position)).toEqual([1]);
    expect((await page({ q: 'look_up' })).data.map(({ position }) => position)).toEqual([1]);
    expect((await page({ q: 'husavik' })).data).toEqual([
      {
        object: 'conversation.message',
        position: 2,
        created_at: expect.any(Number),
        message: output,
        snippet: 'It was seen off Húsavík, by ORD-4711.',
      },
    ]);
    expect((await page({ q: 'ORD-4711' })).data).toHaveLength(1);
    expect((await page({ q: 'iVBORw0KGgo' })).data).toEqual([]);
    expect(await found('answer')).toEqual(['This is the answer.']);
    expect(await found('blue answer')).toEqual([]);
    expect(await found('4711-ORD')).toEqual([]);
  });

  it('leaves the preamble out', async () => {
    const { ask, found, messages } = archive();
    const talk = [system('Speak of whales.'), user('One whale'), { role: 'developer', content: 'Whales!' }];
    await ask(talk);

    expect(await found('whale')).toEqual(['One whale']);
    expect(await found('whales')).toEqual([]);
    expect(await messages()).toEqual([...talk, ANSWER]);
  });

  it('finds words of scripts that put no space between them', async () => {
    const { ask, page, found } = archive();
    await ask([user('我喜欢苹果，也喜欢梨。'), user('ホットコーヒーです'), user('苹 or 果')]);

    expect((await page({ q: '苹果' })).data.map(({ position, snippet }) => [position, snippet])).toEqual([
      [0, '我喜欢苹果，也喜欢梨。'],
    ]);
    expect(await found('コーヒー')).toEqual(['ホットコーヒーです']);
    expect(await found('果苹')).toEqual([]);
  });

  it.each([
    ['Python入門の本', ['Python', '入門', 'python入門', '本']],
    ['iPhone価格は10万円', ['価格', 'iPhone', '万円', '10万円', '10']],
    ['ใช้Pythonเขียนโปรแกรม', ['Python', 'เขียน', 'ใช้Python']],
  ])('finds each word of %s', async (text, words) => {
    const { ask, page } = archive();
    await ask([user(text)]);

    for (const q of words)
      expect(
        (await page({ q })).data.map(({ snippet }) => snippet),
        q,
      ).toEqual([text]);
  });

  it('gives the best match first, in pages', async () => {
    const { ask, page } = archive();
    await ask([
      user(`One whale among many ${'other words '.repeat(50)}`),
      user('whale whale whale'),
      user('No such animal'),
      user('A whale and a ship'),
    ]);

    const first = await page({ q: 'whale', limit: '2' });
    const second = await page({ q: 'whale', limit: '2', cursor: first.cursor ?? '' });

    expect(first.data.map(({ position }) => position)).toEqual([1, 3]);
    expect([first.has_more, second.has_more, second.cursor]).toEqual([true, false, null]);
    expect(second.data.map(({ position }) => position)).toEqual([0]);
    expect(second.data[0]?.snippet).toMatch(/^One whale among many .*…$/);
  });

  it('goes on where it was when messages come in between', async () => {
    const { ask, page } = archive();
    const talk = [1, 2, 3, 4].map((n) => user(`whale ${'and more '.repeat(n)}`));
    await ask(talk);
    const first = await page({ q: 'whale', limit: '2' });
    await ask([...talk, ANSWER, user('whale'), user('whale')]);
    const second = await page({ q: 'whale', limit: '2', cursor: first.cursor ?? '' });
    const anew = await page({ q: 'whale', limit: '2' });

    expect(first.data.map(({ position }) => position)).toEqual([0, 1]);
    expect(second.data.map(({ position }) => position)).toEqual([2, 3]);
    expect([second.has_more, second.cursor]).toEqual([false, null]);
    expect(anew.data.map(({ position }) => position)).toEqual([5, 6]);
  });

  it.each([
    '"',
    '""',
    '*',
    'One OR',
    'AND',
    'NOT One',
    'NEAR(One, 2)',
    'text : One',
    '{text} : One',
    '^One',
    '-One',
    '(One',
    'One*',
    "One'; DROP TABLE archive_messages; --",
    'One\0',
    '\ud800',
    '\u200b',
    'a '.repeat(128),
  ])('takes %j for words', async (q) => {
    const { ask, get, found } = archive();
    await ask([user('One')]);

    expect((await get({ q })).status).toBe(200);
    expect(await found('One')).toEqual(['One']);
  });

  it('finds nothing where nothing is archived', async () => {
    const { app, id, messages } = archive();
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    await app.request(path, { method: 'PATCH', body: '{"mode":"trim"}' });

    expect(await messages({ q: 'One' })).toEqual([]);
  });

  it('reads a bounded part of a message', async () => {
    const { ask, page } = archive();
    await ask([user(`first ${'word '.repeat(100_000)} last`), user(`${'x'.repeat(300_000)} end`)]);

    const { data } = await page({ q: 'first' });
    expect(data[0]?.snippet?.length).toBeLessThan(1_000);
    expect((await page({ q: 'last' })).data).toEqual([]);
  });
});

describe('an archive of 10,000 messages', () => {
  it('is written at one request, listed, searched, and deleted without a trace', async () => {
    const { ask, page, found, stub, remove, writes } = archive();
    const before = await packsOf();
    const talk = Array.from({ length: 10_000 }, (_, n) =>
      n % 2 === 0
        ? user(`Question ${n} about topic${n % 97}`)
        : assistant(`Answer ${n}. ${'Some words. '.repeat(8)}`),
    );
    const response = await ask(talk);
    const packs = writes();

    const listed: Item[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const next: Page = await page({ limit: '100', cursor });
      listed.push(...next.data);
      cursor = next.cursor;
    }
    const one = await found('question 7777');
    const another = await found('question 7776');
    const many = await page({ q: 'topic13', limit: '100' });
    await ask([...talk, ANSWER, user('One more')]);
    const more = writes() - packs;
    const last = await page({ cursor: '9999' });
    const deleted = await remove();

    expect(response.status).toBe(200);
    expect(packs).toBeLessThan(10);
    expect(listed.map(({ message }) => message)).toEqual([...talk, ANSWER]);
    expect(listed.map(({ position }) => position)).toEqual(listed.map((_, index) => index));
    expect(one).toEqual([]);
    expect(another).toEqual(['Question 7776 about topic16']);
    expect(many.data.every(({ message }) => String(message?.content).endsWith('topic13'))).toBe(true);
    expect(many.data).toHaveLength(talk.filter(({ content }) => String(content).endsWith('topic13')).length);
    expect(more).toBe(1);
    expect(last.data.map(({ message }) => message)).toEqual([talk[9_999], ANSWER, user('One more'), ANSWER]);
    expect(deleted.status).toBe(200);
    expect(await packsOf(KEY, before)).toEqual([]);
    expect(await tablesOf(stub)).toEqual([]);
  }, 120_000);
});
