/** What the isolate that has served a deletion still knows of what was deleted. */
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { ROLLING, SUMMARIZER, startApp, watchedBucket, watchedObjects } from '../support.ts';

let made = 0;

/** An isolate, and callers of it. */
function isolate(variables: Partial<Env> = {}) {
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(watchedBucket().bucket, {
    CONVERSATION_MEMORY: objects.namespace,
    ...variables,
  } as Partial<Env>);
  app.answer.words = () => 'This is the answer.';
  const caller = () => {
    const key = `sk-a-caller-who-is-forgotten-${++made}`;
    const { id } = new Tenants(env.PRECIS_SECRET).ofToken(key);
    const headers = { authorization: `Bearer ${key}` };
    const request = (path: string, init: RequestInit = {}) =>
      app.request(path, { ...init, headers: { ...headers, ...(init.headers as object) } });
    const chat = (messages: Message[], more: Message = {}) =>
      request('/v1/chat/completions', { method: 'POST', body: JSON.stringify(body(messages, more)) });
    return { id, request, chat };
  };
  return { app, objects, caller };
}

/**
 * Where a value holds one of the words, as keys, as text or as bytes. A promise, a function and
 * what the runtime hides are not looked into.
 */
function placesOf(words: readonly string[], root: object): string[] {
  const places: string[] = [];
  const seen = new Set<object>();
  const holds = (text: string) => words.some((word) => text.includes(word));
  const look = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (holds(value)) places.push(path);
      return;
    }
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Uint8Array) {
      look(new TextDecoder().decode(value), path);
      return;
    }
    if (value instanceof Map || value instanceof Set) {
      const entries: [unknown, unknown][] = [...value.entries()];
      for (const [key, held] of entries) {
        look(key, `${path}.key`);
        look(held, `${path}.${typeof key === 'string' ? key : 'value'}`);
      }
    }
    for (const key of Reflect.ownKeys(value)) look(Reflect.get(value, key), `${path}.${String(key)}`);
  };
  look(root, 'services');
  return places;
}

/** That a key is the upstream's is no content; and a deletion is noted under its owner's id. */
const MAY_STAY = /^services\.(?:accepted|memory\.held\.(?:acceptedKeys|keyVerdicts))\b|\.deletions\b/;

const COMPACT = { mode: 'compact', token_budget: 3_000, archive: true };
const agent = (word: string): Message[] => [
  user(`go: ${word}`),
  ...Array.from({ length: 6 }, (_, at) => step(`c${at}`, 'find', `${lines(60)} ${at} ${word}`)).flat(),
  assistant(`It is ${word}.`),
  user('and now?'),
];

describe('DELETE /v1/memory', () => {
  it('leaves nothing of the tenant in the isolate, and all of another', async () => {
    const { app, caller } = isolate();
    const [one, other] = [caller(), caller()];
    for (const [{ chat }, word] of [
      [one, 'WORDOFONE'],
      [other, 'WORDOFOTHER'],
    ] as const)
      await chat(agent(word), { memory_strategy: COMPACT, conversation_id: `of ${word}`, user: word });
    const held = (words: string[]) =>
      placesOf(words, app.services()).filter((place) => !MAY_STAY.test(place));
    expect(held([one.id]).length).toBeGreaterThan(5);
    expect(held(['WORDOFONE']).length).toBeGreaterThan(0);
    const ofOther = held([other.id, 'WORDOFOTHER']);

    expect((await one.request('/v1/memory', { method: 'DELETE' })).status).toBe(200);

    expect(held([one.id, 'WORDOFONE'])).toEqual([]);
    expect(held([other.id, 'WORDOFOTHER'])).toEqual(ofOther);
  });

  it.each<[string, Record<string, string>, string]>([
    ['/v1/conversations/../memory?user=ann', {}, 'user'],
    ['/v1/users/%2e%2e/memory', { 'x-memory-user': '..' }, 'x-memory-user'],
    ['/v1/memory', { 'x-conversation-id': 'c' }, 'x-conversation-id'],
  ])('deletes nothing where %s with %o means less than all', async (path, headers, param) => {
    const { app, caller } = isolate();
    const one = caller();
    await one.chat(agent('WORDOFONE'), { memory_strategy: COMPACT, conversation_id: 'c', user: 'ann' });

    const refused = await one.request(path, { method: 'DELETE', headers });

    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_value', param } });
    expect(placesOf(['WORDOFONE'], app.services()).length).toBeGreaterThan(0);
  });

  it.each(['/v1/memory', '/v1/conversations/c/memory'])('%s forgets the request before', async (path) => {
    const { objects, caller } = isolate();
    const { chat, request } = caller();
    const asked = () => objects.calls.filter((call) => call === 'events.answered').length;
    const send = () =>
      chat(agent('before'), {
        memory_strategy: { ...COMPACT, low_watermark_pct: 0.5, min_reclaim_tokens: 0 },
        conversation_id: 'c',
      });
    await send();
    const before = asked();
    await send();
    expect(asked()).toBe(before);
    await request(path, { method: 'DELETE' });
    await send();
    expect(asked()).toBe(before + 1);
  });
});

describe('a request that came before a deletion, and is sent after it', () => {
  it.each(['/v1/memory', '/v1/conversations/c/memory'])('stores nothing again after %s', async (path) => {
    const { app, caller } = isolate();
    const { chat, request } = caller();
    await chat(agent('before'), { memory_strategy: COMPACT, conversation_id: 'c' });
    const refs = async () => ((await (await request('/v1/refs')).json()) as { data: object[] }).data.length;
    expect(await refs()).toBeGreaterThan(0);
    const fields = { model: 'gpt-4.1', memory_strategy: COMPACT, conversation_id: 'c' };
    const whole = new TextEncoder().encode(JSON.stringify({ ...fields, messages: agent('before') }));
    let finish = (): void => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(whole.slice(0, 100));
        finish = () => {
          controller.enqueue(whole.slice(100));
          controller.close();
        };
      },
    });
    const asking = request('/v1/chat/completions', { method: 'POST', body });
    await new Promise((resolve) => setTimeout(resolve, 5));

    expect((await request(path, { method: 'DELETE' })).status).toBe(200);
    finish();

    const answer = await asking;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-memory-warning')).toContain('store_failed');
    expect(app.sent.at(-1)?.body).not.toContain('⟦removed');
    expect(await refs()).toBe(0);
  });
});

describe('DELETE of a conversation', () => {
  it('leaves nothing in the isolate that is kept by its name', async () => {
    const { app, caller } = isolate(SUMMARIZER);
    const { id, chat, request } = caller();
    const held = (name: string) =>
      placesOf([`${id}::${name}`], app.services()).filter((place) => !MAY_STAY.test(place));
    for (const name of ['gone', 'kept']) {
      await chat(agent(name), { memory_strategy: COMPACT, conversation_id: name });
      await chat(agent(name), { memory_strategy: ROLLING, conversation_id: name });
      expect(held(name).length).toBeGreaterThan(2);
    }
    const kept = held('kept');

    expect((await request('/v1/conversations/gone/memory', { method: 'DELETE' })).status).toBe(200);

    expect(held('gone')).toEqual([]);
    expect(held('kept')).toEqual(kept);
  });
});
