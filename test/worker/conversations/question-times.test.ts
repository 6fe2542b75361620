/** The times of questions in plain turns, as the events of their conversation know them. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, type Message, step, user } from '../../support/conversations/chat.ts';
import { batchOf, endedRun } from '../../support/conversations/ended-runs.ts';
import { CONVERSATIONS, startApp, watchedBucket, watchedObjects } from '../support.ts';

let logged: string[] = [];
/** Seconds since the epoch. */
let now = 0;

beforeEach(() => {
  logged = [];
  now = Math.floor(Date.now() / 1000);
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((line: string) => void logged.push(line));
  vi.spyOn(Date, 'now').mockImplementation(() => now * 1000);
});

const COMPACT = { mode: 'compact', token_budget: 3_000 };

let keys = 0;

/** A conversation with a caller of its own. */
function conversation(fields: object = { conversation_id: 'c', memory_strategy: COMPACT }) {
  const key = `sk-a-caller-who-wants-to-know-when-${++keys}`;
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(watchedBucket().bucket, { CONVERSATION_MEMORY: objects.namespace }, key);
  /** Asks ten seconds after the request before. @returns when, in seconds since the epoch */
  const ask = async (messages: readonly Message[], more: object = {}): Promise<number> => {
    now += 10;
    const at = now;
    expect((await app.chat(body([...messages], { ...fields, ...more }))).status).toBe(200);
    return at;
  };
  const times = async (messages: readonly Message[], more: object = {}) => {
    now += 10;
    const format = { ...fields, dry_run: true, format: 'conversation_memory', ...more };
    const init = { method: 'POST', body: JSON.stringify({ messages, ...format }) };
    const { recent_turns } = (await (await app.request('/v1/compact', init)).json()) as {
      recent_turns: { ts?: number }[];
    };
    return recent_turns.map(({ ts }) => ts);
  };
  const stub = CONVERSATIONS.getByName(
    conversationName(new Tenants(env.PRECIS_SECRET).ofToken(key).id, undefined, { id: 'c' }),
  ) as DurableObjectStub<ConversationMemory>;
  return { app, objects, ask, times, stub };
}

const first = [user('One')];
const worked = [...first, ...step('a', 'find', 'found'), ...step('b', 'find', 'found more')];
const second = [...worked, assistant('Done.'), user('Two')];
const third = [...second, assistant('Yes.'), user('Three')];

describe('a question of a conversation with events', () => {
  it('has the time of the first request that it ended', async () => {
    const { ask, times, objects } = conversation();
    const asked = [await ask(first)];
    await ask(worked.slice(0, 3));
    await ask(worked);
    asked.push(await ask(second));
    // A client that tries again.
    await ask(second);

    expect(objects.calls).not.toContain('events.askedAt');
    expect(await times(second)).toEqual(asked);
    expect(await times([...second, assistant('Yes.')])).toEqual(asked);
    asked.push(await ask(third));
    expect(await times(third)).toEqual(asked);
    expect(objects.calls.filter((call) => call === 'events.askedAt')).toHaveLength(3);
  });

  it('has none where it was edited, though the array is as long, and none in another fork', async () => {
    const { ask, times } = conversation();
    const asked = [await ask(first), await ask(second)];
    const edited = [...second.slice(0, -1), user('Two, please')];
    expect(await times(edited)).toEqual([asked[0], undefined]);

    const again = await ask(edited);
    expect(await times(edited)).toEqual([asked[0], again]);
    expect(await times(second)).toEqual(asked);
    const other = [user('Another'), ...second.slice(1)];
    expect(await times(other)).toEqual([undefined, undefined]);
  });

  it('has none that was in no request as the newest', async () => {
    const { ask, times } = conversation();
    const at = await ask(third);

    expect(await times(third)).toEqual([undefined, undefined, at]);
    const rest = [...third, user('And now?')];
    const later = await ask(rest);
    expect((await times(rest)).at(-1)).toBe(later);
  });

  it('has one in a conversation without a name, once that has an answer', async () => {
    const { ask, times } = conversation({ memory_strategy: COMPACT });
    await ask(first);
    const at = await ask(second);

    expect(await times(second)).toEqual([undefined, at]);
  });

  it('has none in a mode that edits nothing, and none of a request that has gone', async () => {
    const { app, ask, times } = conversation();
    await ask(first, { memory_strategy: { mode: 'none' } });
    expect(await times(first)).toEqual([undefined]);

    const at = await ask(second);
    expect(await times(second)).toEqual([undefined, at]);
    await app.request('/v1/conversations/c/memory', { method: 'DELETE' });
    expect(await times(second)).toEqual([undefined, undefined]);
  });

  it('has none while the events cannot be read, and the log says so', async () => {
    const { ask, times, objects } = conversation();
    await ask(first);
    objects.failing.add('events.askedAt');

    expect(await times(first)).toEqual([undefined]);
    expect(logged.join()).toContain('the times of questions could not be read');
  });

  it('is not found by events of versions that named no array', async () => {
    const { stub } = conversation();
    const created_at = now * 1000;
    await stub.events.add(batchOf(endedRun({ created_at })));
    await stub.events.add(
      batchOf(
        endedRun({ created_at: created_at + 2 }, { array: 'a' }),
        endedRun({ created_at: created_at + 1 }, { array: 'a' }),
        endedRun({ created_at }, { array: 'b' }),
      ),
    );

    const found = await runInDurableObject(stub, (memory) => memory.events.askedAt(['a', 'none', 'b', '']));
    expect(found).toEqual([created_at + 1, null, created_at, null]);
  });
});
