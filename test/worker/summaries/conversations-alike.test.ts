import { describe, expect, it } from 'vitest';
import type { Boundary } from '../../../src/memory/conversation/passage.ts';
import type { TextRequest } from '../../../src/storage/conversation/memories.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import {
  boundary,
  conversation,
  MINUTE,
  made,
  newTenant,
  recordLog,
  request,
} from './conversation-object.ts';

recordLog();

describe.each([
  { life: 'that stays awake', evicted: false },
  { life: 'that is evicted after each call', evicted: true },
])('an object of all conversations that open alike, $life', ({ evicted }) => {
  const HOUR = 60 * MINUTE;
  const unnamed = () => conversation(evicted, conversationName(newTenant(), undefined, { hash: 'opening' }));
  const opening: Boundary = { prefixHash: 'opening', end: 2, sequence: 1 };
  /** A version of one of several arrays. Its bases are the opening and every second message. */
  const of = (array: string, end: number, changes: Partial<TextRequest> = {}): Partial<TextRequest> => ({
    boundary: boundary(end, array),
    bases: [opening, ...Array.from({ length: end / 2 - 2 }, (_, index) => boundary(2 * index + 4, array))],
    ...changes,
  });
  const rounds = (array: string, n: number) => ({ hash: `${array} ${n}`, previous: `${array} ${n - 1}` });

  it('F1: lets one conversation rest, and no other', async () => {
    const { look, fail, call } = unnamed();
    await fail(4, of('left', 4));

    expect((await look(6, of('left', 6))).state).toBe('resting');
    expect((await look(4, of('right', 4))).state).toBe('wanted');
    const healthOf = async (array: string) =>
      (
        await call((memory) =>
          memory.versions.find({ strategyHash: 'strategy', boundaries: [boundary(4, array)] }),
        )
      ).health;
    expect([await healthOf('left'), await healthOf('right')]).toEqual(['degraded', 'healthy']);
  });

  it('F1: heals one conversation, and no other', async () => {
    const { look, make, fail } = unnamed();
    await fail(4, of('left', 4));
    await make(4, 'right', of('right', 4));

    expect((await look(6, of('left', 6))).state).toBe('resting');
  });

  it('F1: keeps them apart where the summary of the opening serves all', async () => {
    const { look, fail, make } = unnamed();
    const shared = await make(2, 'Both said hi.', { boundary: opening });
    expect(await fail(4, of('left', 4))).toMatchObject({ base: shared });

    expect((await look(6, of('left', 6))).state).toBe('resting');
    expect(await look(4, of('right', 4))).toMatchObject({ state: 'wanted', base: shared });
    expect(await make(4, 'right', of('right', 4))).toMatchObject({ memory_text: 'right' });
  });

  it('F1: knows a rolling conversation by its rounds where its memory is the opening’s', async () => {
    const { look, fail } = unnamed();
    const at = (array: string, n: number): Partial<TextRequest> => ({
      boundary: opening,
      round: rounds(array, n),
      exclusive: 'conversation',
      retryIntervalMs: HOUR,
    });
    await fail(2, at('left', 2));
    for (const n of [3, 4, 5]) expect((await look(2, at('left', n))).state).toBe('resting');
    expect((await look(2, at('right', 5))).state).toBe('wanted');
  });

  it.each([
    { of: 'what is behind the opening', claimOf: of },
    { of: 'the opening', claimOf: (): Partial<TextRequest> => ({ boundary: opening }) },
  ])('F1: keeps apart what begins with one question, after a memory of $of', async ({ claimOf }) => {
    const { look, fail } = unnamed();
    const question = { hash: 'question', previous: null };
    const rolling = { exclusive: 'conversation', retryIntervalMs: HOUR } as const;
    await fail(4, { ...claimOf('left', 4), ...rolling, round: question });

    const second = { hash: 'right 2', previous: 'question' };
    expect((await look(6, { ...claimOf('right', 6), ...rolling, round: second })).state).toBe('wanted');
  });

  it('F1: shows a conversation nothing of others', async () => {
    const { call, make } = unnamed();
    await make(4, 'left', of('left', 4));
    const found = await call((memory) =>
      memory.versions.find({
        strategyHash: 'strategy',
        boundaries: [opening, boundary(4, 'right')],
        round: rounds('right', 2),
      }),
    );
    expect(found).toMatchObject({ memory: null, health: 'healthy', known: false });
  });
});

describe('the rolling memories of conversations that open alike', () => {
  it('F1: are made one at a time in each conversation alone', async () => {
    const name = conversationName(newTenant(), undefined, { hash: 'opening' });
    const { begin, look } = conversation(false, name);
    const at = (array: string, end: number): Partial<TextRequest> => ({
      boundary: boundary(end, array),
      bases: Array.from({ length: end / 2 - 1 }, (_, index) => boundary(2 * index + 2, array)),
      exclusive: 'conversation',
    });
    await begin(4, at('left', 4));
    expect((await look(6, at('left', 6))).state).toBe('busy');
    expect((await look(6, at('right', 6))).state).toBe('wanted');
  });
});

describe('the rows of conversations that open alike', () => {
  const unnamed = () => conversation(false, conversationName(newTenant(), undefined, { hash: 'opening' }));
  const count = (storage: DurableObjectStorage, query: string) =>
    storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${query}`).one().n;

  it('F1: is at most 500 memories and 500 pins of each, whatever the others have', async () => {
    const { call, make, find } = unnamed();
    const mine = await make(4, 'mine', { round: { hash: 'mine 1', previous: 'mine 0' } });
    await find([4], { hash: 'mine 2', previous: 'mine 1' });
    await call(async (memory, { storage }) => {
      for (let end = 4; end < 560; end++) {
        const bases = [boundary(end - 1, 'theirs')];
        const round = { hash: `theirs ${end}`, previous: `theirs ${end - 1}` };
        const changes = { boundary: boundary(end, 'theirs'), bases, round };
        await memory.text(request(end, changes), made(`${end}`), 10_000);
      }
      expect(count(storage, 'memories')).toBe(501);
      expect(count(storage, 'pins')).toBe(502);
    });
    expect((await find([4])).memory).toEqual(mine);
    expect(await find([4], { hash: 'mine 3', previous: 'mine 2' })).toMatchObject({ moved: false });
  });

  it('F1: is at most 1000 conversations, those that were used least lately go', async () => {
    const { call, clock } = unnamed();
    await call(async (memory, { storage }) => {
      const make = async (array: string): Promise<void> => {
        await memory.text(request(4, { boundary: boundary(4, array) }), made(array), 10_000);
      };
      for (let n = 0; n < 1_000; n++) await make(`array ${n}`);
      clock.now += 61 * MINUTE;
      await make('array 0');
      await make('array 1000');
      const kept = ['array 0', 'array 1', 'array 2', 'array 1000'].map(async (array) => {
        const asked = { strategyHash: 'strategy', boundaries: [boundary(4, array)] };
        return (await memory.versions.find(asked)).memory?.memory_text;
      });
      expect(await Promise.all(kept)).toEqual(['array 0', undefined, 'array 2', 'array 1000']);
      expect(count(storage, 'memories')).toBe(1_000);
      expect(count(storage, 'lineages')).toBe(1_000);
    });
  });
});
