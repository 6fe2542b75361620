/** The vectors of archived messages: made after the writes, and gone with the messages. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { assistant, system, user } from '../../support/conversations/chat.ts';
import { ANSWER, recordLog, tablesOf } from '../conversations/archived.ts';
import { CONVERSATIONS } from '../support.ts';
import { embeddedArchive, idle, useModel, vectorsOf } from './embedded.ts';

const logged = recordLog();

/** A promise, and how it is resolved. */
const gate = () => Promise.withResolvers<void>();

const rows = (count: number, of = 'Row') => Array.from({ length: count }, (_, n) => user(`${of} ${n}`));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

describe('the vectors of an archive', () => {
  it('are made once of each message, in batches, the newest first', async () => {
    const { said, server, vectors } = embeddedArchive();
    const talk = rows(150);
    await said(talk);

    expect(server.asked.map(({ input }) => input.length)).toEqual([64, 64, 23]);
    expect(server.asked[0]?.input.slice(0, 2)).toEqual(['This is the answer.', 'Row 149']);
    expect(await vectors()).toEqual({ made: range(0, 151), queued: [] });
    server.texts();
    await said([...talk, ANSWER, user('More')]);
    expect(server.texts()).toEqual(['This is the answer.', 'More']);
  });

  it('are made of 512 messages after one write, and of the others after the next ones', async () => {
    const { said, server, vectors } = embeddedArchive();
    const talk = rows(600);
    await said(talk);
    const first = await vectors();
    await said([...talk, ANSWER, user('More')]);

    expect(first.made).toEqual(range(601 - 512, 601));
    expect(first.queued).toEqual(range(0, 601 - 512));
    expect((await vectors()).queued).toEqual([]);
    expect(server.asked.map(({ input }) => input.length)).toEqual([...Array(9).fill(64), 27]);
  });

  it('are made of the beginning of a long message, and of a bounded part of many', async () => {
    const { said, server } = embeddedArchive();
    await said([
      user('é'.repeat(20_000)),
      ...Array.from({ length: 50 }, (_, n) => user(`${n} ${'word '.repeat(4_000)}`)),
    ]);

    const bytesOf = (text: string) => new TextEncoder().encode(text).length;
    expect(server.asked.map(({ input }) => input.length)).toEqual([33, 19]);
    for (const { input } of server.asked)
      expect(input.reduce((sum, text) => sum + bytesOf(text), 0)).toBeLessThanOrEqual(256 * 1024);
    expect(
      server
        .texts()
        .map(bytesOf)
        .filter((bytes) => bytes > 8_000),
    ).toEqual([]);
  });

  it('are not made of messages without text, nor of the preamble', async () => {
    const { said, server, vectors } = embeddedArchive();
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    await said([system('Be brief.'), user(' \n'), user([image]), user('One')]);

    expect(server.texts()).toEqual(['This is the answer.', 'One']);
    expect(await vectors()).toEqual({ made: [3, 4], queued: [] });
  });

  it('stay when an answer comes back as it was, and are made anew if it says something else', async () => {
    const { said, server, found } = embeddedArchive();
    await said([user('One')]);
    server.texts();
    await said([user('One'), { ...ANSWER, refusal: null }, user('Two')]);
    const same = server.texts();
    const talk = [user('One'), { ...ANSWER, refusal: null }, user('Two')];
    await said([...talk, assistant('This is the answer.'), user('Three')]);

    expect(same).toEqual(['This is the answer.', 'Two']);
    expect(server.texts()).toEqual(['This is the answer.', 'Three']);
    expect(await found('Three')).toEqual(['Three']);
  });

  it('outlive the object’s memory', async () => {
    const { said, found, stub, server } = embeddedArchive();
    await said([user('I want to be reimbursed')]);
    await evictDurableObject(stub);
    server.texts();

    expect(await found('refund')).toEqual(['I want to be reimbursed']);
    expect(server.texts()).toEqual(['refund']);
  });

  it('are made of what was archived before there were embeddings, or while there were none', async () => {
    const { said, stub, server, vectors } = embeddedArchive();
    await useModel(stub, undefined);
    await said([user('One')]);
    const without = await tablesOf(stub);
    await useModel(stub, 'an-embedding-model');
    await said([user('One'), ANSWER, user('Two')]);
    await useModel(stub, undefined);
    await said([user('One'), ANSWER, user('Two'), ANSWER, user('Three')]);
    const between = await vectors();
    await useModel(stub, 'an-embedding-model');
    await said([user('One'), ANSWER, user('Two'), ANSWER, user('Three'), ANSWER, user('Four')]);

    expect(without).toContain('archive_text');
    expect(without.filter((name) => /embed|vector/.test(name))).toEqual([]);
    expect(between.made).toEqual([0, 1, 2, 3]);
    expect(await vectors()).toEqual({ made: range(0, 8), queued: [] });
    expect(server.texts().toSorted()).toEqual(
      ['One', 'Two', 'Three', 'Four', ...Array(4).fill('This is the answer.')].toSorted(),
    );
  });
});

describe('another model', () => {
  it('is not asked for a search while all vectors are the earlier one’s, and replaces them with the next write', async () => {
    const { said, found, stub, server, vectors } = embeddedArchive();
    await said([user('I want to be reimbursed')]);
    await useModel(stub, 'another-model');
    server.texts();
    const before = await found('refund');
    const asked = server.texts();
    await said([user('I want to be reimbursed'), ANSWER, user('Well?')]);

    expect([before, asked]).toEqual([[], []]);
    expect(server.asked).toHaveLength(1);
    expect(await vectors()).toEqual({ made: [0, 1, 2, 3], queued: [] });
    expect(await found('refund')).toEqual(['I want to be reimbursed']);
  });

  it('under the same name is known by its dimensions', async () => {
    const { said, found, server, vectors } = embeddedArchive();
    await said([user('I want to be reimbursed')]);
    server.answer = ({ input }) => {
      const data = input.map((_, index) => ({ index, embedding: [1, 2, 3] }));
      return Response.json({ data });
    };
    const ofOthers = await found('refund');
    await said([user('I want to be reimbursed'), ANSWER, user('Well?')]);

    expect(ofOthers).toEqual([]);
    expect(await vectors()).toEqual({ made: [0, 1, 2, 3], queued: [] });
    expect(await found('refund')).toHaveLength(4);
  });
});

describe('embeddings that fail', () => {
  it('are tried again, and then with the next write', async () => {
    const { said, messages, server, vectors } = embeddedArchive();
    server.answer = () =>
      new Response('down with the whale', { status: 503, headers: { 'retry-after': '0' } });
    await said([user('A whale')]);
    const [tries, archived, failed] = [server.asked.length, await messages(), await vectors()];
    const lines = logged.join('\n');
    server.answer = undefined;
    await said([user('A whale'), ANSWER, user('Two')]);

    expect([tries, archived]).toEqual([2, [user('A whale'), ANSWER]]);
    expect(failed).toEqual({ made: [], queued: [0, 1] });
    expect(lines).toContain('"code":"embeddings_failed","fault":"upstream_error"');
    expect(lines).not.toMatch(/whale|sk-the-key/);
    expect(await vectors()).toEqual({ made: [0, 1, 2, 3], queued: [] });
  });

  it('answer the second time', async () => {
    const { said, server, vectors } = embeddedArchive();
    server.answer = () => {
      server.answer = undefined;
      return new Response('busy', { status: 429, headers: { 'retry-after': '0' } });
    };
    await said([user('A whale')]);

    expect(server.asked).toHaveLength(2);
    expect(await vectors()).toEqual({ made: [0, 1], queued: [] });
  });

  it.each<[string, () => Response]>([
    ['refuse', () => new Response('no', { status: 400 })],
    ['have no vector for', () => Response.json({ data: [{ embedding: null }] })],
  ])('keep no message from its vector but the one that they %s', async (_, refusal) => {
    const { said, server, vectors } = embeddedArchive();
    server.answer = ({ input }) => (input.some((text) => text.includes('poison')) ? refusal() : undefined);
    const talk = [user('One'), user('A poison'), user('Two')];
    for (let n = 0; n < 6; n++) {
      await said(talk);
      talk.push(ANSWER, user(`More ${n}`));
    }

    const { made, queued } = await vectors();
    expect(queued).toEqual([]);
    expect(made).toEqual(range(0, 14).filter((position) => position !== 1));
    const asked = server.asked.filter(({ input }) => input.includes('A poison'));
    expect(asked.map(({ input }) => input.length)).toEqual([4, 1, 1]);
  });

  it.each([401, 404])('leave all messages in the queue when they answer %i', async (status) => {
    const { said, server, vectors } = embeddedArchive();
    const talk = [user('One')];
    server.answer = () => new Response('no', { status });
    for (let n = 0; n < 5; n++) {
      await said(talk);
      talk.push(ANSWER, user(`More ${n}`));
    }

    expect(server.asked).toHaveLength(5);
    expect((await vectors()).queued).toEqual(range(0, 10));
  });

  it('are asked by one run at a time, which goes on for what comes meanwhile', async () => {
    const { said, ask, server, stub, vectors } = embeddedArchive();
    const [asked, answered] = [gate(), gate()];
    server.answer = async () => {
      asked.resolve();
      await answered.promise;
      return undefined;
    };
    await ask([user('One')]);
    await asked.promise;
    await ask([user('One'), ANSWER, user('Two')]);
    const during = server.asked.length;
    answered.resolve();
    await idle(stub);

    expect(during).toBe(1);
    expect(await vectors()).toEqual({ made: [0, 1, 2, 3], queued: [] });
    await said([user('One'), ANSWER, user('Two'), ANSWER, user('Three')]);
    expect((await vectors()).made).toEqual(range(0, 6));
  });

  it('archive messages all the same when their vectors cannot be stored', async () => {
    const { said, stub, messages } = embeddedArchive();
    await said([user('One')]);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec('DROP TABLE archive_unembedded');
    });
    await said([user('One'), ANSWER, user('Two')]);

    expect(await messages()).toEqual([user('One'), ANSWER, user('Two'), ANSWER]);
    expect(logged.join()).toContain('the vectors of messages could not be stored');
  });
});

describe('a deletion', () => {
  const deletions: [string, (talk: ReturnType<typeof embeddedArchive>) => Promise<unknown>][] = [
    ['of the conversation', ({ remove }) => remove()],
    ['of everything', ({ app }) => app.request('/v1/memory', { method: 'DELETE' })],
    ['for its age', ({ stub }) => stub.leave(Date.now() + 1)],
  ];

  it.each(deletions)('%s takes the vectors', async (_, remove) => {
    const talk = embeddedArchive();
    await talk.said([user('I want to be reimbursed')]);
    await talk.app.request(`/v1/conversations/${encodeURIComponent(talk.id)}/memory`, {
      method: 'PATCH',
      body: '{"mode":"trim"}',
    });
    await remove(talk);

    await vi.waitUntil(
      async () => !(await tablesOf(talk.stub)).some((name) => /^archive_(vec|emb|unemb)/.test(name)),
      { timeout: 30_000 },
    );
    talk.server.texts();
    await talk.get({ q: 'refund' });
    expect(talk.server.texts()).toEqual([]);
  });

  it.each(deletions)('%s lets nothing be stored that is being made', async (_, remove) => {
    const talk = embeddedArchive();
    const [asked, answered] = [gate(), gate()];
    talk.server.answer = async () => {
      asked.resolve();
      await answered.promise;
      return undefined;
    };
    await talk.ask([user('I want to be reimbursed')]);
    await asked.promise;
    await remove(talk);
    answered.resolve();
    await idle(talk.stub);

    await vi.waitUntil(
      async () => !(await tablesOf(talk.stub)).some((name) => /^archive_(vec|emb|unemb|text)/.test(name)),
      { timeout: 30_000 },
    );
    talk.server.answer = undefined;
    await talk.said([user('Anew')]);
    expect(await vectorsOf(talk.stub)).toEqual({ made: [0, 1], queued: [] });
  });

  it('lets no vector of what is gone be stored for what comes after it', async () => {
    const { ask, server, stub, found, remove, said } = embeddedArchive();
    const [asked, answered] = [gate(), gate()];
    server.answer = async () => {
      server.answer = undefined;
      asked.resolve();
      await answered.promise;
      return undefined;
    };
    await ask([user('I want to be reimbursed')]);
    await asked.promise;
    await remove();
    await ask([user('The weather is fine')]);
    answered.resolve();
    await idle(stub);

    expect(await found('refund')).toEqual([]);
    expect(await found('storm')).toEqual(['The weather is fine']);
    await said([user('The weather is fine'), ANSWER, user('Two')]);
    expect((await vectorsOf(stub)).queued).toEqual([]);
  });
});

describe('a message whose text changes', () => {
  /** Adds an answer, and then the message that comes back. */
  const changing = async (
    between: (stub: ReturnType<typeof embeddedArchive>['stub']) => Promise<unknown>,
  ) => {
    const { server, stub } = embeddedArchive();
    const [asked, answered] = [gate(), gate()];
    server.answer = async () => {
      server.answer = undefined;
      asked.resolve();
      await answered.promise;
      return undefined;
    };
    const { archive } = CONVERSATIONS.get(stub.id) as typeof stub;
    const noted = await archive.notePacks(null, ['a pack'], Date.now());
    const place = { key: 'a key', position: 0, role: 'assistant', pack: 'a pack', start: 0, bytes: 1 };
    const add = (text: string, answerDigest: string | null) =>
      archive.add(noted?.generation ?? '', [{ ...place, answerDigest, text }]);
    await add('You will be reimbursed.', 'a digest');
    await asked.promise;
    if (between === idle) answered.resolve();
    await between(stub);
    await add('The weather is fine.', null);
    answered.resolve();
    await idle(stub);
    const hitsOf = async (words: string) => (await archive.hits(words, 10, null))?.hits.length;
    return { refund: await hitsOf('refund'), storm: await hitsOf('storm'), ...(await vectorsOf(stub)) };
  };

  it('gets the vector of its new text', async () => {
    expect(await changing(idle)).toEqual({ refund: 0, storm: 1, made: [0], queued: [] });
  });

  it('gets that too if it changes while the earlier one is made', async () => {
    const meanwhile = async () => undefined;
    expect(await changing(meanwhile)).toEqual({ refund: 0, storm: 1, made: [0], queued: [] });
  });
});
