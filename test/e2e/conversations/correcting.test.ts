import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
const deployment = deploy({ vars: summarizer.vars });

const OTHER_KEY = 'sk-the-key-of-another-test-caller';

let users = 0;
const newUser = () => `user-${++users}`;

type Message = Record<string, unknown>;
const TRIM = { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 };

/** Turns of a caller; at every third one the frontier of `TRIM` moves. */
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, n) => [
    { role: 'user', content: question(n) },
    ...(n < count - 1 ? [{ role: 'assistant', content: `Answer ${n}.` }] : []),
  ]).flat();

overProtocols('the memory of a user', deployment, (protocol) => {
  /** Ends a conversation of a user with these words. */
  async function tell(user: string, id: string, words: string): Promise<void> {
    summarizer.say(words);
    const response = await deployment.postTo(`/v1/conversations/${encodeURIComponent(id)}/end`, {
      model: 'gpt-4.1-mini',
      user,
      [protocol.field]: protocol.elements(turns(2)),
    });
    expect(response.status).toBe(200);
  }

  const call = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
    deployment.fetch(`/v1/users/${path}`, { method, headers });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
  const read = async (user: string, headers = {}): Promise<any> =>
    (await call(`${encodeURIComponent(user)}/memory`, 'GET', headers)).json();

  /** One request of a conversation, its block and its report. */
  async function ask(user: string, id: string, more: Message = {}, count = 1) {
    const named = { user, conversation_id: id, memory_injection: true, memory_report: true };
    const body = { model: 'gpt-4.1-mini', ...named, ...more, messages: turns(count) };
    const response = await deployment.chat(body);
    expect(response.status).toBe(200);
    const view: Message[] = deployment.lastChat().body.messages;
    const block = view.find(({ content }) => String(content).startsWith('Cross-session memory'));
    // biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
    const { memory } = (await response.json()) as any;
    return { block: String(block?.content ?? ''), memory };
  }

  it('is shown: what is injected, and from which conversations', async () => {
    const user = `änne/${newUser()}`;
    await tell(user, 'the first', 'Likes tea.');
    await tell(user, 'the sécond', 'Lives in Oslo.');

    const shown = await read(user);

    expect(shown).toEqual({
      user,
      object: 'memory.user',
      injection: {
        text: expect.stringContaining('Lives in Oslo.'),
        tokens: expect.any(Number),
        conversations: ['the sécond', 'the first'],
      },
      conversations: [
        { id: 'the sécond', text: expect.stringContaining('Oslo'), updated_at: expect.any(Number) },
        { id: 'the first', text: expect.stringContaining('tea'), updated_at: expect.any(Number) },
      ],
      passages: [],
    });
    expect((await ask(user, 'new')).block).toBe(shown.injection.text);
  });

  it('is empty for a user of whom nothing is known, and for another key', async () => {
    const user = newUser();
    await tell(user, 'one', 'Likes tea.');
    const nothing = { object: 'memory.user', injection: null, conversations: [], passages: [] };

    expect(await read('nobody')).toEqual({ user: 'nobody', ...nothing });
    expect(await read(user, { authorization: `Bearer ${OTHER_KEY}` })).toEqual({ user, ...nothing });
  });

  it.each(['', '.', '%2E', 'two/..'])(
    'loses nothing by the name %j, of which a client makes it all',
    async (id) => {
      const user = newUser();
      await tell(user, 'one', 'Likes tea.');

      const refused = await call(`${user}/memory/${id}`, 'DELETE');

      expect(refused.status).toBe(404);
      expect((await read(user)).conversations).toHaveLength(1);
    },
  );

  it('loses one entry, or all of them', async () => {
    const user = newUser();
    for (const id of ['a/b', 'two', 'three']) await tell(user, id, `Told in ${id}.`);

    const one = await call(`${user}/memory/a%2Fb`, 'DELETE');
    const again = await call(`${user}/memory/a%2Fb`, 'DELETE');
    const left = (await read(user)).conversations.map(({ id }: { id: string }) => id);
    const all = await call(`${user}/memory`, 'DELETE');
    const nothing = await call(`${user}/memory`, 'DELETE');

    expect(await one.json()).toEqual({
      id: 'a/b',
      user,
      object: 'memory.user.conversation.deleted',
      deleted: true,
    });
    expect(await all.json()).toEqual({ user, object: 'memory.user.deleted', deleted: true });
    expect([again.status, nothing.status]).toEqual([404, 404]);
    expect(await again.json()).toMatchObject({ error: { code: 'conversation_not_found' } });
    expect(left).toEqual(['three', 'two']);
    expect((await read(user)).conversations).toEqual([]);
    // The conversation itself stays.
    expect((await deployment.fetch(`/v1/conversations/two/memory?user=${user}`)).status).toBe(200);
  });

  it('loses an entry with an id that is too long for a name, by the name that the list gives', async () => {
    const user = newUser();
    const id = 'é'.repeat(200);
    await tell(user, id, 'Likes tea.');
    const [entry] = (await read(user)).conversations;

    expect(entry.id).toMatch(/^##/);
    expect((await call(`${user}/memory/${encodeURIComponent(entry.id)}`, 'DELETE')).status).toBe(200);
    expect((await read(user)).conversations).toEqual([]);
  });

  it('is not deleted by another key', async () => {
    const user = newUser();
    await tell(user, 'one', 'Likes tea.');
    const other = { authorization: `Bearer ${OTHER_KEY}` };

    const refused = [
      await call(`${user}/memory`, 'DELETE', other),
      await call(`${user}/memory/one`, 'DELETE', other),
    ];

    expect(refused.map(({ status }) => status)).toEqual([404, 404]);
    expect((await read(user)).conversations).toHaveLength(1);
  });

  it('needs a key that stores, and takes these methods alone', async () => {
    const short = { authorization: 'Bearer nineteen-characters' };

    expect((await call('ann/memory', 'GET', short)).status).toBe(401);
    expect((await call('ann/memory/one', 'DELETE', short)).status).toBe(401);
    expect((await call('ann/memory', 'PUT')).headers.get('allow')).toBe('GET, HEAD, DELETE');
    expect((await call('ann/memory/one')).headers.get('allow')).toBe('DELETE');
    expect((await call('ann/memory', 'HEAD')).status).toBe(200);
    expect((await call(`${'x'.repeat(257)}/memory`)).status).toBe(400);
    expect(deployment.upstream.requests.filter(({ path }) => path.includes('users'))).toEqual([]);
  });

  it('is in the report, as the model reads it', async () => {
    const user = newUser();
    await tell(user, 'one', 'Likes tea.');

    const { block, memory } = await ask(user, 'new');

    expect(block).toContain('Likes tea.');
    expect(memory.injection).toEqual({ text: block, tokens: expect.any(Number) });
  });

  describe('in a conversation whose block has a deleted source', () => {
    /** A conversation that was given both, before one of them was deleted. */
    async function corrected() {
      const user = newUser();
      await tell(user, 'right', 'Likes tea.');
      await tell(user, 'wrong', 'Lives in Oslo.');
      const first = await ask(user, 'new', { memory_strategy: TRIM });
      expect(first.block).toContain('Oslo');
      await call(`${user}/memory/wrong`, 'DELETE');
      return { user, first };
    }

    it('is the same until the frontier moves, and then made anew', async () => {
      const { user, first } = await corrected();

      const second = await ask(user, 'new', { memory_strategy: TRIM }, 2);
      const third = await ask(user, 'new', { memory_strategy: TRIM }, 3);
      const fourth = await ask(user, 'new', { memory_strategy: TRIM }, 4);

      expect(second.block).toBe(first.block);
      expect(third.memory.frontier.moved).toBe(true);
      expect(third.block).toContain('Likes tea.');
      expect(third.block).not.toContain('Oslo');
      expect(third.memory.injection.text).toBe(third.block);
      expect(fourth.block).toBe(third.block);
    });

    it('is made anew at once with refresh', async () => {
      const { user } = await corrected();
      await tell(user, 'newest', 'Has a dog.');

      const refreshed = await ask(user, 'new', { memory_injection: { refresh: true } });
      const after = await ask(user, 'new');

      expect(refreshed.block).toContain('Has a dog.');
      expect(refreshed.block).not.toContain('Oslo');
      expect(after.block).toBe(refreshed.block);
    });

    it('goes when nothing is left', async () => {
      const { user } = await corrected();
      await call(`${user}/memory`, 'DELETE');

      const { block, memory } = await ask(user, 'new', { memory_strategy: TRIM }, 3);

      expect(block).toBe('');
      expect(memory.injection).toBeUndefined();
    });
  });

  it('stays as it is at a move while its sources are there, whatever they came to', async () => {
    const user = newUser();
    await tell(user, 'one', 'Likes tea.');
    const first = await ask(user, 'new', { memory_strategy: TRIM });
    await tell(user, 'two', 'Has a dog.');

    const moved = await ask(user, 'new', { memory_strategy: TRIM }, 3);

    expect(moved.memory.frontier.moved).toBe(true);
    expect(moved.block).toBe(first.block);
  });

  it('goes with the conversation that it comes from', async () => {
    const user = newUser();
    await tell(user, 'one', 'Likes tea.');
    await ask(user, 'new', { memory_strategy: TRIM });
    await deployment.fetch(`/v1/conversations/one/memory?user=${user}`, { method: 'DELETE' });

    expect((await read(user)).injection).toBeNull();
    expect((await ask(user, 'new', { memory_strategy: TRIM }, 3)).block).toBe('');
  });
});
