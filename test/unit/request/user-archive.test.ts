import { afterEach, describe, expect, it, vi } from 'vitest';
import { pause } from '../../../src/lib/time-limit.ts';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import type { Services } from '../../../src/request/services.ts';
import { passagesOf, UserArchive } from '../../../src/request/user-archive.ts';
import { answerInsert, MOST_PASSAGES } from '../../../src/retrieval/insert-passage.ts';
import { findHits } from '../../../src/retrieval/search-memory.ts';
import type { Embedder } from '../../../src/storage/archive/embedder.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { type Tenant, Tenants, tenantsOf } from '../../../src/tenant/identity.ts';

const tenant = new Tenants('a secret for tests only').ofName('a caller');
const rotated = new Tenants('a later secret for tests only', 'a secret for tests only').ofName('a caller');

/** The found positions by conversation; `failed`: its object throws; `silent`: it never answers. */
type Answers = Readonly<Record<string, readonly number[] | 'failed' | 'silent'>>;

/** The passages of a self, as a conversation of `Answers`. */
const PASSAGES = 'the passages';

interface Given {
  readonly found?: Answers;
  /** Under the earlier secret. */
  readonly before?: Answers;
  readonly count?: number;
  readonly embedder?: Embedder;
}

/** Services whose objects answer so, and the archive of a user there. */
function services({ found = {}, before, count = 0, embedder }: Given) {
  const self: Tenant = before ? rotated : tenant;
  const asked: string[] = [];
  const logged: string[] = [];
  const nears: unknown[] = [];
  const answers = new Map<string, Answers[string]>();
  const names = new Map<string, string[]>();
  const stubOf = (name: string) => ({
    archive: {
      archivedAt: (keys: readonly string[]) => keys.map(() => null),
      count: () => count,
      hits: (_words: string, _limit: number, _keys: null, near: unknown) => {
        asked.push(name);
        nears.push(near);
        const positions = answers.get(name);
        if (positions === 'failed') throw new Error('the object is down');
        if (positions === 'silent') return new Promise(() => {});
        const hits = positions?.map((position) => ({
          position,
          role: 'user',
          excerpt: `at ${position}`,
          hasWords: true,
          similarity: 0,
        }));
        return hits ? { hits, meaning: 'off' } : null;
      },
    },
  });
  const given = {
    log: (_: string, message: string) => logged.push(message),
    memory: isolateMemory(),
    embedder: () => embedder,
    conversation: (name: string) => async (call: (stub: object) => unknown) => call(stubOf(name)),
    tenant: (id: string) => async (call: (stub: object) => unknown) =>
      call({
        conversations: { namesWith: (_: string, most: number) => names.get(id)?.slice(0, most) ?? [] },
      }),
  } as unknown as Services;
  for (const [index, one] of tenantsOf(self).entries()) {
    const entries = Object.entries((index === 0 ? found : before) ?? {});
    const nameOf = (id: string) =>
      id === PASSAGES ? passagesOf('ann', one, given).name : conversationName(one.id, 'ann', { id });
    for (const [id, positions] of entries) answers.set(nameOf(id), positions);
    names.set(
      one.id,
      entries.map(([id]) => nameOf(id)),
    );
  }
  return { asked, logged, nears, archive: new UserArchive('ann', self, given) };
}

const many = (count: number, positions: Answers[string]): Answers =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, positions]));

afterEach(() => void vi.useRealTimers());

/** The hits that a caller gets, after all time that it may take. */
async function hitsInTime({ archive }: Pick<ReturnType<typeof services>, 'archive'>) {
  vi.useFakeTimers();
  const found = findHits(archive, 'words').catch((error: Error) => error);
  await vi.advanceTimersByTimeAsync(3_000);
  return found;
}

describe('the archives of a user', () => {
  it('give each conversation’s best first, and of equal places the last used', async () => {
    const { archive } = services({ found: { newest: [4, 5], older: [7, 8] } });
    const found = await archive.hits('words', 3);
    expect(found?.hits.map(({ conversation, position }) => [conversation, position])).toEqual([
      ['newest', 4],
      ['older', 7],
      ['newest', 5],
    ]);
  });

  it('give what the others hold where one does not answer, and fail where none does', async () => {
    const some = services({ found: { down: 'failed', up: [1] } });
    expect((await some.archive.hits('words', 3))?.hits).toHaveLength(1);
    expect(some.logged).toEqual(['an archive of a user could not be searched']);
    const none = services({ found: { down: 'failed', [PASSAGES]: 'failed' } });
    await expect(none.archive.hits('words', 3)).rejects.toThrow('no archive answers');
    const all = services({ found: many(30, [1]) });
    await all.archive.hits('words', 3);
    // Twenty conversations, and the passages.
    expect(all.asked).toHaveLength(21);
  });

  it('F30: give in time what the others hold where some stay silent', async () => {
    const some = services({ found: { one: 'silent', two: [1], three: 'silent', four: [2] } });
    expect(await hitsInTime(some)).toMatchObject({ hits: [{ position: 1 }, { position: 2 }] });
    expect(some.logged).toEqual(Array(2).fill('an archive of a user could not be searched'));
  });

  it('F30: fail where all that hold something stay silent or fail', async () => {
    const silent = services({ found: { one: 'silent', [PASSAGES]: 'silent' } });
    expect(await hitsInTime(silent)).toMatchObject({ message: 'no archive answers' });
    const rest = services({ found: { one: 'silent', two: 'failed' } });
    expect(await hitsInTime(rest)).toMatchObject({ message: 'no archive answers' });
  });

  it('F30: give what one holds, however many stay silent before it', async () => {
    const some = services({ found: { ...many(19, 'silent'), last: [1] } });
    expect(await hitsInTime(some)).toMatchObject({ hits: [{ position: 1 }] });
  });

  it('give the passages under the earlier secret, however many conversations there are', async () => {
    const { archive, asked } = services({
      found: { ...many(20, []), [PASSAGES]: [1] },
      before: { older: [3], [PASSAGES]: [2] },
    });
    const found = await archive.hits('words', 3);
    expect(found?.hits).toMatchObject([
      { isPassage: true, position: 1 },
      { isPassage: true, position: 2 },
    ]);
    expect(asked).toHaveLength(22);
  });

  it('give the conversations under the earlier secret after those under this one', async () => {
    const { archive } = services({ found: { newer: [1] }, before: { older: [2] } });
    const found = await archive.hits('words', 3);
    expect(found?.hits.map(({ conversation }) => conversation)).toEqual(['newer', 'older']);
  });

  describe('with embeddings', () => {
    const embedderOf = (embed: Embedder['embed']) => {
      const texts: (readonly string[])[] = [];
      const embedder: Embedder = {
        model: 'a model',
        longestText: 100,
        embed: (some, limit) => {
          texts.push(some);
          return embed(some, limit);
        },
      };
      return { embedder, texts };
    };

    it('make the vector of the words once for all of them', async () => {
      const { embedder, texts } = embedderOf(async () => ({ ok: true, value: [[0, 2]] }));
      const { archive, nears } = services({ found: many(9, [1]), embedder });
      await archive.hits('words', 3);
      expect(texts).toEqual([['words']]);
      const near = { meaning: 'used', vector: Float32Array.of(0, 1) };
      expect(nears).toEqual(Array(10).fill({ model: 'a model', near }));
    });

    it('F30: find words alone in time where no vector comes', async () => {
      const { embedder } = embedderOf(async (_, limit) => {
        await pause(limit);
        return { ok: false, reason: { code: 'timeout', again: true } };
      });
      const all = services({ found: many(20, [1]), embedder });
      expect(await hitsInTime(all)).toMatchObject({ hits: { length: 10 } });
      expect(all.nears).toEqual(Array(21).fill({ model: 'a model', near: { meaning: 'failed' } }));
    });

    it('send no words where nothing of the user is kept', async () => {
      const { embedder, texts } = embedderOf(async () => ({ ok: true, value: [[0, 2]] }));
      await services({ embedder }).archive.hits('words', 3);
      expect(texts).toEqual([]);
    });
  });

  it('take no more passages than they may', async () => {
    const { archive } = services({ count: MOST_PASSAGES });
    expect(await archive.insert('one more')).toBe('too_many');
    const result = await answerInsert(
      '{"content":"one more"}',
      (passage) => archive.insert(passage),
      () => {},
    );
    expect(result).toBe('There are 1000 passages of this user, which is the limit. Nothing was kept.');
  });

  it('say so where a passage could not be kept', async () => {
    const failures: unknown[] = [];
    const fault = new Error('R2 is down');
    const failing = () => Promise.reject(fault);
    const result = await answerInsert('{"content":"one"}', failing, (error) => failures.push(error));
    expect(result).toMatch(/^Storage does not answer at the moment\. The passage may not be kept/);
    expect(failures).toEqual([fault]);
  });
});
