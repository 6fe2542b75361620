/** The search of an archive by words and by meaning. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { MadeNear } from '../../../src/storage/archive/near.ts';
import { unitOf } from '../../../src/storage/archive/vectors.ts';
import { assistant, calls, result, system, user } from '../../support/conversations/chat.ts';
import { meaningOf } from '../../support/conversations/concepts.ts';
import { ANSWER, COMPACT, type Page, recordLog } from '../conversations/archived.ts';
import { CONVERSATIONS, startApp } from '../support.ts';
import { EMBEDDINGS, embeddedArchive, embeddingsServer, idle, useModel } from './embedded.ts';

const logged = recordLog();

const TALK = [
  system('Speak of the weather and whales.'),
  user('I saw a humpback today.'),
  assistant('Where?'),
  user('I want to be reimbursed for the trip.'),
  calls(['call_1', 'look_up', '{"what":"automobile"}']),
  result('call_1', 'The vehicle is red.'),
];

describe('a search by words and by meaning', () => {
  it('finds a message by a paraphrase, and shows its beginning', async () => {
    const { said, page, server } = embeddedArchive();
    await said(TALK);
    server.texts();

    const { data, ...rest } = await page({ q: 'repay money' });

    expect(data).toEqual([
      {
        object: 'conversation.message',
        position: 3,
        created_at: expect.any(Number),
        message: TALK[3],
        snippet: 'I want to be reimbursed for the trip.',
      },
    ]);
    expect(rest).toEqual({ object: 'list', has_more: false, cursor: null });
    expect(server.texts()).toEqual(['repay money']);
  });

  it('sends what is searched, with the key of the deployment, and never the preamble', async () => {
    const { said, server } = embeddedArchive();
    await said(TALK);

    expect(server.asked).toHaveLength(1);
    const [{ url, authorization, model, input } = { input: [] as readonly string[] }] =
      server.asked as typeof server.asked;
    expect([url, authorization, model]).toEqual([
      'http://embeddings.test/v1/embeddings',
      'Bearer sk-the-key-of-the-embeddings',
      'an-embedding-model',
    ]);
    expect(input).toHaveLength(TALK.length);
    expect(input.join('\n')).not.toContain('Speak of');
    expect(input).toContain('I saw a humpback today.');
    expect(input).toContain('This is the answer.');
  });

  it('puts first what both find, and then what one of them finds', async () => {
    const { said, found } = embeddedArchive();
    await said([user('Just a car'), user('A vehicle'), user('An automobile, or a car'), user('The rain')]);

    // By words: 0, 2. By meaning: all three are alike, the newest first.
    expect(await found('car')).toEqual(['An automobile, or a car', 'Just a car', 'A vehicle']);
  });

  it('shows the words around where they are found, and the beginning elsewhere', async () => {
    const { said, page } = embeddedArchive();
    const long = 'and more '.repeat(100);
    await said([user(`A vehicle ${long}`), user(`${long} a car ${long}`)]);

    const { data } = await page({ q: 'car' });

    expect(data.map(({ position }) => position)).toEqual([1, 0]);
    expect(data[0]?.snippet).toContain('a car and');
    expect(data[1]?.snippet).toMatch(/^A vehicle and more .*…$/);
    expect(data[1]?.snippet?.length).toBeLessThanOrEqual(200);
  });

  it('goes through all results in pages, each once, whatever comes in between', async () => {
    const { said, ask, page, stub } = embeddedArchive();
    const talk = Array.from({ length: 70 }, (_, n) => user(n % 2 ? `A car ${n}` : `A vehicle ${n}`));
    await said(talk);
    const all = (await page({ q: 'car', limit: '100' })).data.map(({ position }) => position);
    const pages: Page[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next: Page = await page({ q: 'car', limit: '30', ...(cursor ? { cursor } : {}) });
      pages.push(next);
      cursor = next.cursor;
      await ask([...talk, ANSWER, user('A car, a car'), user('The vehicle')]);
      await idle(stub);
    }

    // 35 hold the word, and 50 are the most that are found by meaning.
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter((position) => position % 2).length).toBe(35);
    expect(pages.map(({ data }) => data.length).slice(0, 1)).toEqual([30]);
    expect(pages.flatMap(({ data }) => data.map(({ position }) => position))).toEqual(all);
  });

  it('finds each writing system as it was written', async () => {
    const { said, server } = embeddedArchive();
    await said([user('我喜欢苹果，也喜欢梨。')]);

    expect(server.texts()).toContain('我喜欢苹果，也喜欢梨。');
  });
});

describe('a search while the embeddings fail', () => {
  const late = () => new Promise<never>(() => undefined);
  const faults: [string, () => Response | Promise<Response>][] = [
    ['refuse', () => new Response('no', { status: 401 })],
    ['are down', () => new Response('no', { status: 503 })],
    ['cannot be reached', () => Promise.reject(new TypeError('no route'))],
    ['are late', late],
    ['answer with something else', () => Response.json({ data: [] })],
    ['answer with an endless vector', () => Response.json({ data: [{ embedding: Array(5_000).fill(1) }] })],
  ];

  it.each(faults)('goes by words alone and says so if they %s', async (_, answer) => {
    const { said, get, server } = embeddedArchive();
    await said([user('A car'), user('A vehicle')]);
    server.answer = answer;

    const response = await get({ q: 'car' });

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toBe('embeddings_failed');
    const page = (await response.json()) as Page & { warnings: string[] };
    expect(page.data.map(({ position }) => position)).toEqual([0]);
    expect(page.warnings).toEqual(['embeddings_failed']);
    expect(logged.join()).toContain('"code":"embeddings_failed"');
    expect(logged.join()).not.toContain('sk-the-key');
    expect(logged.join()).not.toMatch(/A car|A vehicle/);
  });

  it('goes on by words in later pages of such a search, without a warning and without a call', async () => {
    const { said, page, server } = embeddedArchive();
    await said([user('A car'), user('A vehicle'), user('Another car')]);
    server.answer = () => new Response('no', { status: 503 });
    const first = await page({ q: 'car', limit: '1' });
    server.answer = undefined;
    server.texts();

    const second = await page({ q: 'car', limit: '1', cursor: first.cursor ?? '' });

    expect([first, second].map(({ data }) => data.map(({ position }) => position))).toEqual([[0], [2]]);
    expect([second.cursor, 'warnings' in second]).toEqual([null, false]);
    expect(server.texts()).toEqual([]);
  });

  it('says so where a later page cannot go on by meaning', async () => {
    const { said, get, page, server, stub } = embeddedArchive();
    await said([user('A car'), user('A vehicle'), user('Another car')]);
    const first = await page({ q: 'car', limit: '1' });
    server.answer = () => new Response('no', { status: 503 });
    const failed = await get({ q: 'car', limit: '1', cursor: first.cursor ?? '' });
    server.answer = undefined;
    await useModel(stub, 'another-model');
    const changed = await get({ q: 'car', limit: '1', cursor: first.cursor ?? '' });

    for (const { status, headers } of [failed, changed])
      expect([status, headers.get('x-memory-warning')]).toEqual([200, 'embeddings_failed']);
  });
});

describe('the texts of a search', () => {
  it('go nowhere if the conversation has no archive, or nobody knows it', async () => {
    const { app, id, get, server } = embeddedArchive();
    const unknown = await get({ q: 'a secret' });
    await app.request(`/v1/conversations/${encodeURIComponent(id)}/memory`, {
      method: 'PATCH',
      body: '{"mode":"trim"}',
    });
    const empty = await get({ q: 'a secret' });

    expect([unknown.status, empty.status]).toEqual([404, 200]);
    expect(server.asked).toEqual([]);
  });

  it('go nowhere for a key that the upstream refuses', async () => {
    const app = startApp(
      env.REFS,
      { ...EMBEDDINGS, VERIFY_KEYS: 'true' },
      'sk-a-refused-key-of-the-worker-tests',
    );
    Object.assign(app.answer, { status: 401, modelsStatus: 401 });
    const server = embeddingsServer();
    const messages = [user('A secret')];
    const asked = await app.chat({ conversation_id: 'refused', memory_strategy: COMPACT, messages });
    const searched = await app.request('/v1/conversations/refused/messages?q=secret');

    expect([asked.status, searched.status]).toEqual([401, 401]);
    expect(server.asked).toEqual([]);
  });

  it('go nowhere without `archive`', async () => {
    const { ask, server, stub } = embeddedArchive();
    await ask([user('A secret')], { memory_strategy: { mode: 'compact' } });
    await idle(stub);

    expect(server.asked).toEqual([]);
  });

  it('find nothing of another key or user, and are not sent for them', async () => {
    const { said, get, server } = embeddedArchive();
    await said([user('I want to be reimbursed')]);
    server.texts();

    const stranger = await get(
      { q: 'refund' },
      { headers: { authorization: 'Bearer sk-a-stranger-of-the-worker-tests' } },
    );
    const ofUser = await get({ q: 'refund', user: 'ann' });

    expect([stranger.status, ofUser.status]).toEqual([404, 404]);
    expect(server.texts()).toEqual([]);
  });
});

describe('a deployment with embeddings', () => {
  it('makes no more calls of storage for it', async () => {
    const { said, objects, watched, server } = embeddedArchive();
    await said([user('A whale')]);

    expect(server.asked).toHaveLength(1);
    const calls = objects.calls.filter((call) => call !== 'events.add');
    expect(calls).toEqual(['state.settings', 'archive.lacking', 'archive.notePacks', 'archive.add']);
    expect(watched.operations.map(({ name }) => name)).toEqual(['put']);
  });
});

describe('a search in an archive that nobody has named', () => {
  it('F1: compares the messages of the request’s own array alone', async () => {
    const { said, stub } = embeddedArchive();
    await said([user('I want to be reimbursed'), user('I need a refund soon'), user('The vehicle')]);
    const keys = await runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql
        .exec<{ key: string }>('SELECT message_key AS key FROM archive_messages ORDER BY archived_id')
        .toArray(),
    );
    const hitsIn = async (...own: number[]) => {
      const asked = own.map((index) => keys[index]?.key ?? '');
      const { archive } = CONVERSATIONS.get(stub.id) as typeof stub;
      const found = await archive.hits('money', 10, asked);
      return found?.hits.map(({ position }) => position);
    };

    expect(await hitsIn(0, 1, 2, 3)).toEqual([1, 0]);
    expect(await hitsIn(0, 2)).toEqual([0]);
    expect(await hitsIn(2)).toEqual([]);
    expect(await hitsIn()).toEqual([]);
  });
});

describe('a search of several archives, whose vector is made before', () => {
  const MODEL = 'an-embedding-model';

  it('goes by that vector, and asks for no other', async () => {
    const { said, stub, server } = embeddedArchive();
    await said([user('I want to be reimbursed'), user('The vehicle')]);
    server.texts();
    const positions = async (made: MadeNear) => {
      const { archive } = CONVERSATIONS.get(stub.id) as typeof stub;
      const found = await archive.hits('money', 10, null, made);
      return [found?.meaning, found?.hits.map(({ position }) => position)];
    };
    const vector = unitOf(meaningOf('money')) as Float32Array;

    expect(await positions({ model: MODEL, near: { meaning: 'used', vector } })).toEqual(['used', [0]]);
    expect(await positions({ model: MODEL, near: { meaning: 'failed' } })).toEqual(['failed', []]);
    // Of another version of the Worker, whose vectors can't be compared.
    expect(await positions({ model: 'another', near: { meaning: 'used', vector } })).toEqual(['off', []]);
    const short = { meaning: 'used', vector: Float32Array.of(1) } as const;
    expect(await positions({ model: MODEL, near: short })).toEqual(['off', []]);
    expect(server.texts()).toEqual([]);
  });
});

describe('a search in an archive of very many messages', () => {
  it('compares the newest 20,000 vectors', async () => {
    const { said, found, stub } = embeddedArchive();
    await said([user('I want to be reimbursed')]);
    /** Adds copies of the newest message. */
    const grow = (count: number) =>
      runInDurableObject(stub, (_, { storage: { sql } }) => {
        sql.exec(
          `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
           INSERT INTO archive_vectors SELECT n + (SELECT max(archived_id) FROM archive_vectors), vector
           FROM n CROSS JOIN archive_vectors WHERE archived_id = 2`,
          count,
        );
        // The search looks up to the newest message.
        sql.exec(
          'UPDATE archive_messages SET archived_id = (SELECT max(archived_id) FROM archive_vectors) WHERE position = 1',
        );
      });

    await grow(19_998);
    const within = await found('refund');
    await grow(1);

    expect(within).toEqual(['I want to be reimbursed']);
    expect(await found('refund')).toEqual([]);
  });
});
