import { describe, expect, it } from 'vitest';
import type { ConversationTables } from '../../../src/storage/conversation/tables.ts';
import { UnknownRows, writeRows } from '../../../src/storage/table-rows.ts';
import { NO_USAGE } from '../../../src/summary/summarizer.ts';
import { boundary, conversation, LATER, made, recordLog, request, writing } from './conversation-object.ts';

recordLog();

describe('the rows that a conversation’s object keeps', () => {
  const count = (storage: DurableObjectStorage, table: string, condition = '1') =>
    storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE ${condition}`).one().n;

  it('is at most 500 memories: failed ones go first, then the oldest, never one in the making or its base', async () => {
    const { begin, call, clock, make } = conversation();
    const base = await make(1, 'a base');
    const writer = await begin(2, { bases: [boundary(1)] });
    const failing = writing(async () => ({
      made: { ok: false, reason: { error: 'upstream_error' } },
      usage: NO_USAGE,
    }));
    await call(async (memory, { storage }) => {
      const order = (end: number, material = made(`${end}`)) =>
        memory.text(request(end, { retryIntervalMs: 0 }), material, 10_000);
      for (let end = 10; end < 510; end++) {
        await order(end, end % 2 ? undefined : failing);
        // The shortest pause after a failure.
        clock.now += 100;
      }
      expect(count(storage, 'memories')).toBe(500);
      expect(count(storage, 'memories', "status = 'completed'")).toBe(251);
      for (let end = 1000; end < 1260; end++) await order(end);
      expect(count(storage, 'memories')).toBe(500);
      expect(count(storage, 'memories', "status = 'failed'")).toBe(0);
      // The base, the row in progress, and the rest of the older half.
      expect(count(storage, 'memories', 'covers_end < 35')).toBe(2);
      expect(count(storage, 'memories', 'covers_end < 1000')).toBe(240);
      expect(count(storage, 'memories', `memory_id = ${base.memory_id}`)).toBe(1);
    });
    expect(await writer.complete('two')).toMatchObject({ memory: { base_memory_id: base.memory_id } });
  });

  it('is at most 500 pins', async () => {
    const { call, make } = conversation();
    await make(2, 'two');
    await call((memory, { storage }) => {
      for (let round = 0; round < 510; round++)
        memory.versions.find({
          strategyHash: 'strategy',
          boundaries: [boundary(2)],
          round: { hash: `round ${round}`, previous: `round ${round - 1}` },
        });
      expect(count(storage, 'pins')).toBe(500);
      expect(count(storage, 'pins', "round_hash = 'round 509'")).toBe(1);
    });
  });
});

describe('the digest of a round', () => {
  it('is decided once, and reported to the next round', async () => {
    const { call, find, make } = conversation();
    await make(2, 'two');
    const first = { hash: 'first', previous: null };
    expect((await find([2], first)).digest).toEqual({ here: null, before: null });
    await call((memory) => memory.versions.pinDigest('first', 'strategy', 'array:4'));
    await call((memory) => memory.versions.pinDigest('first', 'strategy', 'array:6'));
    expect((await find([2], first)).digest).toEqual({ here: 'array:4', before: null });
    const second = { hash: 'second', previous: 'first' };
    expect((await find([2], second)).digest).toEqual({ here: null, before: 'array:4' });
  });
});

describe('the tables of an earlier version', () => {
  it('lose the columns of leases, and nothing else', async () => {
    const { call, find, make, look } = conversation();
    const four = await make(4, 'four');
    await call(async (memory, { storage: { sql } }) => {
      await memory.outputDigests.make([{ key: 'shown', material: null }], 0, LATER);
      for (const column of ['lease TEXT', 'lease_until INTEGER NOT NULL DEFAULT 0'])
        for (const table of ['memories', 'output_digests'])
          sql.exec(`ALTER TABLE ${table} ADD COLUMN ${column}`);
      for (const column of ['lease_ms', 'retry_interval_ms'])
        sql.exec(`ALTER TABLE memories ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
      sql.exec('ALTER TABLE output_digests ADD COLUMN settled INTEGER NOT NULL DEFAULT 1');
      sql.exec("UPDATE output_digests SET digest_text = 'words'");
      sql.exec("INSERT INTO output_digests (digest_key, settled) VALUES ('being made', 0)");
      // As when the object comes to life.
      Reflect.get(memory, 'tables').forget();
    });

    expect(await find([4])).toMatchObject({ memory: four });
    const keys = ['shown', 'being made', 'another'];
    expect(await call((memory) => memory.outputDigests.find(keys))).toEqual([
      { key: 'shown', text: 'words' },
      { key: 'being made', text: null },
      null,
    ]);
    expect((await look(6, { bases: [boundary(4)] })).state).toBe('wanted');
    await make(6, 'six', { bases: [boundary(4)] });
    const columns = await call((_, { storage: { sql } }) =>
      ['memories', 'output_digests'].flatMap((table) =>
        sql.exec<{ name: string }>('SELECT name FROM pragma_table_info(?)', table).toArray(),
      ),
    );
    expect(columns.filter(({ name }) => /lease|settled|retry/.test(name))).toEqual([]);
  });

  it('come back from a backup without those columns', async () => {
    const { call, find } = conversation();
    const own = {
      prefix_hash: 'array:4',
      strategy_hash: 'strategy',
      start_sequence: 0,
      end_sequence: 3,
      covers_end: 4,
      status: 'completed',
      memory_text: 'four',
      model: 'a-model',
      conversation: 'c',
      created_at: 1,
      completed_at: 1,
    };
    const page = (more: object) => {
      const row = { ...own, ...more };
      return JSON.stringify([{ table: 'memories', columns: Object.keys(row), rows: [Object.values(row)] }]);
    };
    await call((memory) => {
      const tables: ConversationTables = Reflect.get(memory, 'tables');
      expect(() => writeRows(tables, page({ unheard_of: 1 }), {})).toThrow(UnknownRows);
      writeRows(tables, page({ lease: 'a lease', lease_ms: 1, lease_until: 1, retry_interval_ms: 1 }), {});
    });

    expect((await find([4])).memory).toMatchObject({ memory_text: 'four', covers_end: 4 });
  });
});
