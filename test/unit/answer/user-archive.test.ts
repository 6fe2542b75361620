import { describe, expect, it, vi } from 'vitest';
import { UserArchive } from '../../../src/answer/user-archive.ts';
import type { Services } from '../../../src/request/services.ts';
import { answerInsert, MOST_PASSAGES } from '../../../src/retrieval/insert-passage.ts';
import { conversationName } from '../../../src/storage/conversation/key.ts';
import { RememberedConversations } from '../../../src/storage/conversation/remembered.ts';
import { Tenants } from '../../../src/tenant/identity.ts';

const tenant = new Tenants('a secret for tests only', 'the secret before').ofName('a caller');
const { previous } = tenant;
const nameOf = (id: string) => conversationName(tenant.id, 'ann', { id });

interface Given {
  /** The found positions by conversation; a `failed` one throws, and a `silent` one hangs. */
  readonly found?: Readonly<Record<string, readonly number[] | 'failed' | 'silent'>>;
  readonly count?: number;
}

/** Services whose objects answer so. */
function services({ found = {}, count = 0 }: Given) {
  const asked: string[] = [];
  const logged: string[] = [];
  const stubOf = (name: string) => ({
    archivedAt: (keys: readonly string[]) => keys.map(() => null),
    archivedCount: () => count,
    archiveHits: () => {
      asked.push(name);
      const positions = Object.entries(found).find(([id]) => nameOf(id) === name)?.[1];
      if (positions === 'failed') throw new Error('the object is down');
      if (positions === 'silent') return new Promise(() => undefined);
      const hits = positions?.map((position) => ({ position, role: 'user', excerpt: `at ${position}` }));
      return hits ? { hits, meaning: 'off' } : null;
    },
  });
  const given = {
    log: (_: string, message: string) => logged.push(message),
    remembered: new RememberedConversations(),
    conversation: (name: string) => async (call: (stub: object) => unknown) => call(stubOf(name)),
    tenant: (id: string) => async (call: (stub: object) => unknown) =>
      call({
        namesWith: (_: string, most: number) =>
          id === tenant.id ? Object.keys(found).slice(0, most).map(nameOf) : [],
      }),
  };
  return { asked, logged, archive: new UserArchive('ann', tenant, given as unknown as Services) };
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
    const conversations = Array.from({ length: 30 }, (_, n) => [`c${n}`, [n]] as const);
    const many = services({ found: Object.fromEntries(conversations) });
    await many.archive.hits('words', 3);
    // Twenty conversations, and the passages under both secrets.
    expect(many.asked).toHaveLength(22);
    expect(many.asked.filter((name) => name.startsWith(`${previous?.id}:`))).toHaveLength(1);
  });

  it('give what the others hold where one never answers', async () => {
    vi.useFakeTimers();
    const { archive } = services({ found: { silent: 'silent', up: [1] } });
    const found = archive.hits('words', 3);
    await vi.advanceTimersByTimeAsync(2_900);
    vi.useRealTimers();
    expect((await found)?.hits).toHaveLength(1);
  });

  it('take no more passages than they may', async () => {
    const { archive } = services({ count: MOST_PASSAGES });
    expect(await archive.insert('one more')).toBe('too_many');
    const told = await answerInsert(
      '{"content":"one more"}',
      (passage) => archive.insert(passage),
      () => {},
    );
    expect(told).toBe('There are 1000 passages of this user, which is the limit. Nothing was kept.');
  });

  it('say so where a passage could not be kept', async () => {
    const failures: unknown[] = [];
    const fault = new Error('R2 is down');
    const failing = () => Promise.reject(fault);
    const told = await answerInsert('{"content":"one"}', failing, (error) => failures.push(error));
    expect(told).toMatch(/^Storage does not answer at the moment\. The passage may not be kept/);
    expect(failures).toEqual([fault]);
  });
});
