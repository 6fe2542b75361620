import { runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { user } from '../../support/conversations/chat.ts';
import { hang } from '../support.ts';
import { ANSWER, archive, objectOf, recordLog } from './archived.ts';

const logged = recordLog();

describe('the index of an archive', () => {
  const row = (key: string, pack: string) => ({
    key,
    position: 0,
    role: 'user',
    pack,
    start: 1,
    bytes: 2,
    answerDigest: null,
    text: 'One',
  });
  const index = (work: (memory: ConversationMemory, sql: SqlStorage) => Promise<void>) =>
    runInDurableObject(archive().stub, (memory, { storage }) => work(memory, storage.sql));
  const listed = async (memory: ConversationMemory) =>
    (await memory.archive.page(0, { rows: 10, bytes: 1_000_000 }))?.rows;

  it('takes a message and its text together, or not at all', () =>
    index(async (memory, sql) => {
      const noted = await memory.archive.notePacks(null, ['a'], Date.now());
      if (!noted) throw new Error('the pack was not noted');
      const rows = ['one', 'two'].map((key) => row(key, noted.names[0] ?? ''));
      sql.exec('ALTER TABLE archive_text RENAME TO archive_away');
      expect(() => memory.archive.add(noted.generation, rows)).toThrow();
      const between = await listed(memory);
      sql.exec('ALTER TABLE archive_away RENAME TO archive_text');

      expect(between).toEqual([]);
      expect(memory.archive.add(noted.generation, rows)).toBe(true);
      expect(await listed(memory)).toHaveLength(2);
    }));

  it('takes nothing that was noted before a deletion', () =>
    index(async (memory) => {
      const old = await memory.archive.notePacks(null, ['a'], Date.now());
      await memory.clear();
      const noted = await memory.archive.notePacks(null, ['a'], Date.now());

      expect(memory.archive.add(old?.generation ?? '', [row('one', old?.names[0] ?? '')])).toBe(false);
      expect(await listed(memory)).toEqual([]);
      expect(old?.names).not.toEqual(noted?.names);
    }));

  it('keeps the names of packs that a deletion has left', () =>
    index(async (memory) => {
      await memory.archive.notePacks(null, ['a'], Date.now());
      const { packs } = (await memory.leave()) as { packs: readonly string[] };

      expect(packs).toHaveLength(1);
      expect(await memory.leave()).toMatchObject({ packs });
    }));

  it('has the beginning of a role that is none', async () => {
    const { ask, id } = archive();
    const odd = { role: 'x'.repeat(100_000), content: 'One' };
    await ask([odd]);

    const roles = await runInDurableObject(objectOf({ id }), (_, { storage }) =>
      storage.sql
        .exec<{ role: string }>('SELECT role FROM archive_messages ORDER BY archived_id')
        .toArray()
        .map(({ role }) => role),
    );
    expect(roles).toEqual(['x'.repeat(64), 'assistant']);
  });
});

describe('an archive that cannot be written', () => {
  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.failing, 'put'],
    ['the object, when it is asked,', ({ objects }) => objects.failing, 'archive.lacking'],
    ['the object, before the write,', ({ objects }) => objects.failing, 'archive.notePacks'],
    ['the object, after the write,', ({ objects }) => objects.failing, 'archive.add'],
  ])('costs nothing else when %s fails, and is made up for', async (_, failingOf, method) => {
    const talk = archive();
    failingOf(talk).add(method);
    if (method === 'put') failingOf(talk).add('head');
    const secret = 'the words of the caller';

    const failed = await talk.ask([user(secret)]);
    const lines = [...logged];
    failingOf(talk).clear();
    await talk.ask([user(secret), ANSWER, user('Two')]);

    expect(failed.status).toBe(200);
    expect(failed.headers.get('x-memory-warning')).toBe('idle');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('store_failed');
    expect(lines.join()).not.toContain(secret);
    expect(await talk.messages()).toEqual([user(secret), ANSWER, user('Two'), ANSWER]);
  });

  it.each<[string, (talk: ReturnType<typeof archive>) => Set<string>, string]>([
    ['R2', ({ watched }) => watched.hanging, 'put'],
    ['the object', ({ objects }) => objects.hanging, 'archive.lacking'],
  ])('delays no request while %s does not answer', async (_, hangingOf, method) => {
    const talk = archive();
    // Background work is not awaited.
    hang(talk.watched);
    hangingOf(talk).add(method);

    const response = await talk.ask([user('One')]);

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ choices: [{ message: ANSWER }] });
  });
});
