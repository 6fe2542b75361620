/** Events of requests that an isolate gathers, and sends together. */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { ConversationMemory } from '../../../src/index.ts';
import type { BillSums } from '../../../src/memory/money/bill-schema.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { assistant, body, user } from '../../support/conversations/chat.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, startApp, watchedBucket, watchedObjects } from '../support.ts';

/** Long enough for many requests on a busy machine. */
const BATCH_MS = 3_000;

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 512 },
};

beforeEach(() => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation(() => undefined);
  shorten({ eventBatchMs: BATCH_MS });
});

afterEach(() => {
  vi.restoreAllMocks();
});

interface Page {
  readonly data: readonly RunEvent[];
  readonly bill: BillSums;
  readonly behind_ms: number;
  readonly lost: number;
}

let keys = 0;

/** Isolates of a caller of its own, whose requests don't wait for what comes after them. */
function caller() {
  const key = `sk-a-caller-whose-events-are-gathered-${++keys}`;
  const isolate = (variables: Partial<Env> = {}) => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const watched = watchedBucket();
    hang(watched);
    const app = startApp(watched.bucket, { CONVERSATION_MEMORY: objects.namespace, ...variables }, key);
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () =>
      Response.json({ id: 'chatcmpl-1', choices: [], usage: USAGE }),
    );
    const ask = async (messages: number, id = 'c', fields: object = {}) => {
      const all = Array.from({ length: messages }, (_, at) => (at % 2 ? assistant('Yes.') : user('And?')));
      const answer = await app.chat(body(all, { conversation_id: id, memory_strategy: 'none', ...fields }));
      expect(answer.status).toBe(200);
      await answer.arrayBuffer();
    };
    const list = async (id = 'c'): Promise<Page> =>
      (await app.request(`/v1/conversations/${id}/requests`)).json();
    const keeps = () => objects.calls.filter((call) => call === 'keepRuns').length;
    return { app, objects, ask, list, keeps };
  };
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const stub = env.CONVERSATION_MEMORY.getByName(
    conversationName(tenant, undefined, { id: 'c' }),
  ) as DurableObjectStub<ConversationMemory>;
  const rows = () =>
    runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql.exec("SELECT name FROM sqlite_master WHERE name = 'run_events'").toArray().length === 0
        ? []
        : sql.exec<{ events: string }>('SELECT events FROM run_events ORDER BY first_n').toArray(),
    );
  const sizes = async () => (await rows()).map(({ events }) => (JSON.parse(events) as unknown[]).length);
  return { isolate, stub, sizes };
}

const numbers = ({ data }: Page) => data.map(({ n, messages }) => [n, messages]);

describe('requests of a conversation within two seconds', () => {
  it('cost one call and one row for all but the first', async () => {
    const { isolate, sizes } = caller();
    const { ask, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    for (let n = 2; n <= 6; n++) await ask(n);
    await vi.waitUntil(async () => (await sizes()).length > 1, { timeout: 3 * BATCH_MS });

    expect(await sizes()).toEqual([1, 5]);
    expect(keeps()).toBe(2);
  });

  it('can be read at once in their isolate, with exact bills', async () => {
    const { isolate, sizes } = caller();
    const { ask, list, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    for (let n = 2; n <= 5; n++) await ask(n);

    const page = await list();

    expect(numbers(page)).toEqual([
      [5, 5],
      [4, 4],
      [3, 3],
      [2, 2],
      [1, 1],
    ]);
    expect(page).toMatchObject({ behind_ms: BATCH_MS, lost: 0 });
    const amounts = page.data.map(({ bill }) => bill?.sent?.amount ?? Number.NaN);
    // 488 × 2 000 + 512 × 500 + 10 × 8 000 nanodollars.
    expect(amounts).toEqual(Array(5).fill(1_312_000));
    expect(page.bill).toMatchObject({ requests: 5, billed: 5, sent: { amount: 5 * 1_312_000 } });
    expect(await sizes()).toEqual([1, 4]);
  });

  it('are numbered as their batches come, where another isolate answers too', async () => {
    const { isolate } = caller();
    const [one, other] = [isolate(), isolate()];
    await one.ask(1);
    await one.list();
    await one.ask(2);
    await other.ask(11);
    await other.ask(12);

    // The events of the first isolate are behind.
    expect(numbers(await other.list())).toEqual([
      [3, 12],
      [2, 11],
      [1, 1],
    ]);
    expect(numbers(await one.list())).toEqual([
      [4, 2],
      [3, 12],
      [2, 11],
      [1, 1],
    ]);
  });

  it('are of their own conversation', async () => {
    const { isolate } = caller();
    const { ask, list } = isolate();
    for (const id of ['c', 'd', 'c', 'd', 'd']) await ask(1, id);

    expect((await list('c')).data).toHaveLength(2);
    expect((await list('d')).data).toHaveLength(3);
  });

  it.each<[string, (app: ReturnType<typeof startApp>) => Promise<Response>]>([
    ['a flush', (app) => app.request('/v1/conversations/c/memory/flush', { method: 'POST' })],
    [
      'the end of the conversation',
      (app) =>
        app.request('/v1/conversations/c/end', {
          method: 'POST',
          body: JSON.stringify(body([user('Hello'), assistant('Hi'), user('And?')])),
        }),
    ],
    ['a list of conversations', (app) => app.request('/v1/conversations')],
    ['statistics', (app) => app.request('/v1/stats')],
  ])('are sent by %s', async (_, call) => {
    const { isolate, sizes } = caller();
    const { app, ask } = isolate();
    for (let n = 1; n <= 3; n++) await ask(n);
    const before = (await sizes()).flat().reduce((sum, count) => sum + count, 0);
    expect(before).toBeLessThan(3);

    await call(app);

    expect((await sizes()).reduce((sum, count) => sum + count)).toBe(3);
  });

  it.each(['/v1/conversations/c/memory', '/v1/memory'])('are gone after DELETE %s', async (path) => {
    const { isolate, sizes } = caller();
    const { app, ask, list } = isolate();
    for (let n = 1; n <= 3; n++) await ask(n);

    expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);

    expect(await sizes()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 1.5 * BATCH_MS));
    expect(await sizes()).toEqual([]);
    await ask(9);
    expect(numbers(await list())).toEqual([[1, 9]]);
  });

  it('have their captures', async () => {
    const { isolate } = caller();
    const { app, ask, list } = isolate({ CAPTURE: 'true' } as Partial<Env>);
    for (let n = 1; n <= 3; n++) await ask(n, 'c', { memory_report: { capture: n !== 2 } });

    const { data } = await list();
    for (const { n, messages, captured } of data) {
      expect(captured).toBe(messages !== 2);
      const view = await app.request(`/v1/conversations/c/requests/${n}/view`);
      expect(view.status).toBe(captured ? 200 : 404);
      if (captured) expect(((await view.json()) as { messages: [] }).messages).toHaveLength(messages);
    }
  });
});

describe('where the object fails', () => {
  it('events wait for the next call, and are kept once', async () => {
    const { isolate } = caller();
    const { ask, list, objects } = isolate();
    objects.failing.add('keepRuns');
    await ask(1);
    await vi.waitUntil(() => objects.calls.includes('keepRuns'));
    await ask(2);
    objects.failing.clear();

    expect(await list()).toMatchObject({ data: [{ messages: 2 }, { messages: 1 }], lost: 0 });
  });

  it('their conversation is told of those that were lost', async () => {
    onTestFinished(shorten({ eventBatchMs: 50 }));
    const { isolate } = caller();
    const { ask, list, objects, keeps } = isolate();
    await ask(1);
    await vi.waitUntil(() => keeps() === 1);
    objects.failing.add('keepRuns');
    await ask(2);
    await vi.waitUntil(() => keeps() === 3);
    objects.failing.clear();
    await ask(3);

    expect(await list()).toMatchObject({ data: [{ messages: 3 }, { messages: 1 }], lost: 1 });
  });
});
