/** A conversation with an archive, as the tests of archives use it. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import { conversationName, type Session } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant } from '../../support/conversations/chat.ts';
import { KEY, startApp, throughCalls, watchedBucket, watchedObjects } from '../support.ts';

export const COMPACT = { mode: 'compact', archive: true };
export const OTHER_KEY = 'sk-another-caller-of-the-worker-tests';

export const tenantOf = (key: string) => new Tenants(env.PRECIS_SECRET).ofToken(key).id;
export const objectOf = (session: Session, { key = KEY, ofUser }: { key?: string; ofUser?: string } = {}) =>
  env.CONVERSATION_MEMORY.getByName(
    conversationName(tenantOf(key), ofUser, session),
  ) as DurableObjectStub<ConversationMemory>;

/**
 * The names of all packs of a tenant. The files of this folder share a bucket, and what an earlier
 * test has deleted may still be there.
 *
 * @param before those that are left out
 */
export async function packsOf(key = KEY, before: readonly string[] = []): Promise<string[]> {
  const { objects } = await env.REFS.list({ prefix: `${tenantOf(key)}/archive_` });
  return objects.map((object) => object.key).filter((name) => !before.includes(name));
}

/** The SQLite tables of the archive, including shadow tables. */
export const tablesOf = (stub: DurableObjectStub<ConversationMemory>): Promise<string[]> =>
  runInDurableObject(stub, (_, { storage }) =>
    storage.sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .toArray()
      .map(({ name }) => name),
  );

export interface Item {
  object: string;
  position: number;
  created_at: number;
  message: { role: string; content: unknown } | null;
  snippet?: string;
}
export interface Page {
  object: string;
  data: Item[];
  has_more: boolean;
  cursor: string | null;
}

let made = 0;

/** The app and a new conversation. */
export function archive(variables: Partial<Env> = {}, key = KEY) {
  const id = `archived ${made++}`;
  const watched = watchedBucket();
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const bound = { CONVERSATION_MEMORY: objects.namespace, ...variables };
  const app = startApp(watched.bucket, bound, key);
  app.answer.words = () => 'This is the answer.';
  const ask = (messages: object[], more: object = {}) =>
    app.chat({ model: 'gpt-4.1', conversation_id: id, memory_strategy: COMPACT, ...more, messages });
  const path = (of = id) => `/v1/conversations/${encodeURIComponent(of)}`;
  const get = (query: Record<string, string> = {}, init: RequestInit = {}, of = id) =>
    app.request(`${path(of)}/messages?${new URLSearchParams(query)}`, init);
  const page = async (...how: Parameters<typeof get>): Promise<Page> => (await get(...how)).json();
  const messages = async (...how: Parameters<typeof get>) =>
    (await page(...how)).data.map(({ message }) => message);
  const found = async (q: string) => (await messages({ q })).map((message) => message?.content);
  const remove = () => app.request(`${path()}/memory`, { method: 'DELETE' });
  const writes = () => watched.operations.filter(({ name }) => name === 'put').length;
  return {
    id,
    app,
    watched,
    objects,
    ask,
    get,
    page,
    messages,
    found,
    remove,
    writes,
    stub: objectOf({ id }, { key }),
  };
}

export const ANSWER = assistant('This is the answer.');

/**
 * A request of a conversation, from another isolate.
 *
 * @param before is awaited before each call of the bucket and of the object, by the name of the
 *   method
 */
export function racingApp(id: string, before: (method: string) => Promise<void>, key = KEY) {
  const raced = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get:
        (_, name) =>
        async (...values: unknown[]) => {
          await before(String(name));
          return Reflect.apply(
            Reflect.get(target, name) as (...values: unknown[]) => unknown,
            target,
            values,
          );
        },
    });
  const namespace = throughCalls(env.CONVERSATION_MEMORY, async (path, goOn) => {
    await before(path);
    return goOn();
  });
  const app = startApp(raced(env.REFS), { EVENTS: 'off', CONVERSATION_MEMORY: namespace }, key);
  app.answer.words = () => 'This is the answer.';
  return (messages: object[]) => app.chat({ conversation_id: id, memory_strategy: COMPACT, messages });
}

/**
 * What each test of a file logs, without the line about each request. Nothing of it is printed.
 */
export function recordLog(): readonly string[] {
  const logged: string[] = [];

  beforeEach(() => {
    logged.length = 0;
    for (const level of ['info', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((...line) => {
        const text = line.map(String).join(' ');
        if (!text.includes('a request was answered')) logged.push(text);
      });
  });

  return logged;
}
