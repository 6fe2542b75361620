/** Settings without a user, which a request with one only asks for to warn. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { KEY, remoteConversation, startApp, throughCalls } from '../support.ts';

const DAY_MS = 86_400_000;

const { id: tenant } = new Tenants(env.PRECIS_SECRET).ofToken(KEY);
const nameOf = (user: string | undefined, id: string) => conversationName(tenant, user, { id });

/** The real objects, of which the one of a name never answers. */
function hangingAt(name: string): DurableObjectNamespace {
  const silent = env.CONVERSATION_MEMORY.idFromName(name).toString();
  return throughCalls(env.CONVERSATION_MEMORY, (_, goOn, id) =>
    id.toString() === silent ? new Promise(() => undefined) : goOn(),
  );
}

const ask = (id: string, user: string) => ({
  method: 'POST',
  body: JSON.stringify({
    model: 'gpt-4.1',
    conversation_id: id,
    user,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
});

it('do not cost a request its own settings where they cannot be read', async () => {
  const id = 'silent without a user';
  await remoteConversation(nameOf('ann', id))((stub) =>
    stub.state.configure({ memory_strategy: { mode: 'trim', max_turns: 9 } }),
  );
  const app = startApp(env.REFS, { CONVERSATION_MEMORY: hangingAt(nameOf(undefined, id)) });

  const response = await app.request('/v1/chat/completions', ask(id, 'ann'));

  expect(response.headers.get('x-memory-mode')).toBe('trim');
  expect(response.headers.get('x-memory-source')).toBe('conversation');
  expect(response.headers.get('x-memory-warning')).toBeNull();
});

it('are no use of the conversation without a user', async () => {
  const id = 'unused without a user';
  const memory = remoteConversation(nameOf(undefined, id));
  await memory((stub) => stub.state.configure({ memory_strategy: { mode: 'trim' } }));
  const usedAt = async () => (await memory((stub) => stub.leave(0))) as { usedAt?: number };
  const before = await usedAt();
  // A use is reported to the tenant's object at intervals.
  await runInDurableObject(env.CONVERSATION_MEMORY.getByName(nameOf(undefined, id)), (object) => {
    Reflect.set(object, 'now', () => Date.now() + 2 * DAY_MS);
  });
  const app = startApp(env.REFS);

  const response = await app.request('/v1/chat/completions', ask(id, 'ann'));

  expect(response.headers.get('x-memory-warning')).toBe('settings_without_user');
  expect(await usedAt()).toEqual(before);
});
