import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { HEALTHY } from '../../../src/storage/conversation/memories.ts';
import { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import { Tables } from '../../../src/storage/tables.ts';

const NOTES = 'CREATE TABLE IF NOT EXISTS notes (note TEXT)';

let made = 0;

/** Runs a test in the storage of an object that nobody has called. */
const inStorage = (test: (storage: DurableObjectStorage) => void): Promise<void> =>
  runInDurableObject(env.CONVERSATION_MEMORY.getByName(`tables ${made++}`), (_, { storage }) =>
    test(storage),
  );

const namesIn = ({ sql }: DurableObjectStorage): string[] =>
  sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    )
    .toArray()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('sqlite'))
    .sort();

describe('tables', () => {
  it('are made by the first write alone', () =>
    inStorage((storage) => {
      const notes = new Tables(storage).lazy(NOTES);
      expect(notes.exists()).toBe(false);
      notes.clear();
      expect(namesIn(storage)).toEqual([]);
      notes.make();
      notes.make();
      expect(notes.exists()).toBe(true);
      expect(namesIn(storage)).toEqual(['notes']);
    }));

  it('are made again after a transaction that has made them and failed', () =>
    inStorage((storage) => {
      const tables = new Tables(storage);
      const notes = tables.lazy(NOTES);
      const failing = () => {
        notes.make();
        throw new Error('full');
      };
      expect(() => tables.atOnce(failing)).toThrow('full');
      expect(notes.exists()).toBe(false);
      notes.make();
      expect(namesIn(storage)).toEqual(['notes']);
    }));

  it('are looked for again after all were deleted', () =>
    runInDurableObject(env.CONVERSATION_MEMORY.getByName(`tables ${made++}`), async (_, { storage }) => {
      const tables = new Tables(storage);
      const notes = tables.lazy(NOTES);
      notes.make();
      await storage.deleteAll();
      tables.forget();
      expect(notes.exists()).toBe(false);
    }));

  it('of an earlier version get the columns that they lack, and keep their rows', () =>
    inStorage((storage) => {
      storage.sql.exec(NOTES);
      storage.sql.exec("INSERT INTO notes (note) VALUES ('early')");
      const hooks = { oldest: 'note', added: ['since INTEGER NOT NULL DEFAULT 0', 'note TEXT'] } as const;
      for (const _ of ['migrated', 'found']) {
        expect(new Tables(storage).lazy(NOTES, hooks).exists()).toBe(true);
        expect(storage.sql.exec('SELECT * FROM notes').toArray()).toEqual([{ note: 'early', since: 0 }]);
      }
    }));

  it('that lack a column of 0.8 are dropped, and made as they are now', () =>
    inStorage((storage) => {
      storage.sql.exec(`${NOTES}; INSERT INTO notes (note) VALUES ('early')`);
      const later = 'CREATE TABLE notes (note TEXT, since INTEGER)';
      const notes = new Tables(storage).lazy(later, { oldest: 'since' });
      expect(notes.exists()).toBe(false);
      expect(namesIn(storage)).toEqual([]);
      notes.make();
      expect(storage.sql.exec('SELECT since FROM notes').toArray()).toEqual([]);
    }));
});

describe('the tables of a part of the memory', () => {
  it('make the memory’s, and go with them', () =>
    inStorage((storage) => {
      const tables = new ConversationTables(storage);
      const notes = tables.lazyOfMemory(NOTES);
      notes.make();
      expect(tables.exists()).toBe(true);
      expect(namesIn(storage)).toEqual(['lineages', 'memories', 'notes', 'pins']);
      notes.drop();
      expect(notes.exists()).toBe(false);
      notes.make();
      tables.unmake();
      expect([tables.exists(), notes.exists()]).toEqual([false, false]);
      expect(namesIn(storage)).toEqual([]);
    }));

  it('are no trace of a record, which stays when the memory goes', () =>
    inStorage((storage) => {
      const tables = new ConversationTables(storage);
      const record = tables.lazy(NOTES);
      record.make();
      tables.set('told_at', 1);
      expect(tables.exists()).toBe(false);
      tables.set('health', HEALTHY);
      tables.unmake();
      expect(namesIn(storage)).toEqual(['notes', 'state']);
      expect([tables.get('told_at'), tables.get('health')]).toEqual([1, undefined]);
    }));
});
