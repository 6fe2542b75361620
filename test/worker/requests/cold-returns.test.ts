/** Requests that come when the upstream's cache is cold, in isolates with one storage and clock. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import type { Report } from '../../../src/memory/plan/report.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { messagesBody } from '../../../tools/upstream/blocks.ts';
import { responsesBody } from '../../../tools/upstream/items.ts';
import { assistant, body, lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { remoteConversation, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

const MINUTE = 60_000;
const FIND = 'coldReturns.find';
const STRATEGY = { mode: 'auto', token_soft_budget: 4_000, cache_marks: 'off' };
/** OpenAI keeps a prefix of this model for half an hour. */
const MODEL = 'gpt-5.6-sol';
/** Its cache is read at marks alone. */
const CLAUDE = {
  model: 'claude-opus-4-8',
  memory_strategy: { ...STRATEGY, cache_marks: 'auto' },
};

let keys = 0;

/** Isolates of one deployment, a clock, and a caller of its own. */
function deployment(variables: Partial<Env> = {}) {
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  const pass = (minutes: number) => {
    now += minutes * MINUTE;
  };
  const key = `sk-a-caller-who-returns-${++keys}`;
  const { bucket } = watchedBucket();
  let sent: readonly { readonly body: string }[] = [];
  const isolate = () => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const app = startApp(
      bucket,
      { CONVERSATION_MEMORY: objects.namespace, ...variables } as Partial<Env>,
      key,
    );
    app.answer.words = () => 'Done.';
    sent = app.sent;
    const of = (steps: number, fields: Message = {}) => {
      const outputs = Array.from({ length: steps }, (_, at) => step(`c${at}`, 'find', `${lines(50)} ${at}`));
      return body([user(`go ${key}`), ...outputs.flat()], {
        model: MODEL,
        memory_strategy: STRATEGY,
        conversation_id: 'c',
        ...fields,
      });
    };
    const post = async (body: object, path = '/v1/chat/completions') => {
      const began = objects.calls.length;
      const headers: HeadersInit = path === '/v1/messages' ? { 'anthropic-version': '2023-06-01' } : {};
      const response = await app.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status).toBe(200);
      const header = (name: string) => response.headers.get(`x-memory-${name}`);
      return {
        body: sent.at(-1)?.body ?? '',
        trigger: header('trigger'),
        frontier: header('frontier'),
        warning: header('warning'),
        asked: objects.calls.slice(began).filter((call) => call === FIND).length,
      };
    };
    /** The report of an answer. */
    const report = async (steps: number) => {
      const asked = JSON.stringify(of(steps, { memory_report: true }));
      const response = await app.request('/v1/chat/completions', { method: 'POST', body: asked });
      return ((await response.json()) as { memory: Report }).memory;
    };
    return { app, objects, of, post, report, send: (...of_: Parameters<typeof of>) => post(of(...of_)) };
  };
  const tenant = new Tenants(env.PRECIS_SECRET).ofToken(key).id;
  const object = (id: string) => remoteConversation(conversationName(tenant, undefined, { id }));
  const noted = () => object('c')((stub) => stub.coldReturns.find(null));
  return { isolate, pass, noted, object };
}

type Isolate = ReturnType<ReturnType<typeof deployment>['isolate']>;

/** Sends one step more at a time until a move waits. @returns the number of steps */
async function untilWaiting({ send }: Isolate, fields: Message = {}): Promise<number> {
  for (let steps = 1; steps < 30; steps++)
    if ((await send(steps, fields)).warning?.includes('waiting')) return steps;
  throw new Error('no move waits');
}

/** The messages of a body that went upstream. */
const messagesOf = (text: string) => (JSON.parse(text) as { messages: object[] }).messages;

describe('a request that comes when the cache of the upstream is cold', () => {
  it('makes the move that waits, and every isolate and retry the same view from then on', async () => {
    const { isolate, pass, noted } = deployment();
    const [a, b] = [isolate(), isolate()];
    const steps = await untilWaiting(a);
    pass(32);

    const first = await b.send(steps + 1);
    const others = [await a.send(steps + 1), await b.send(steps + 1), await isolate().send(steps + 1)];

    expect(first).toMatchObject({ trigger: 'cold_return', frontier: 'moved', warning: null, asked: 1 });
    expect(first.body).toContain('⟦removed: ');
    for (const other of others) expect(other.body).toBe(first.body);
    expect(await noted()).toHaveLength(1);
    pass(1);
    const next = await isolate().send(steps + 2);
    expect(next).toMatchObject({ trigger: 'cold_return', frontier: 'kept' });
    for (const one of [a, b]) expect((await one.send(steps + 2)).body).toBe(next.body);
    const before = messagesOf(first.body);
    expect(messagesOf(next.body).slice(0, before.length)).toEqual(before);
  });

  it('is noted once where two come at the same time, and both have the same view', async () => {
    const { isolate, pass, noted } = deployment();
    const [a, b] = [isolate(), isolate()];
    const steps = await untilWaiting(a);
    pass(32);

    const both = await Promise.all([a.post(a.of(steps)), b.post(b.of(steps))]);

    expect(both.map(({ trigger }) => trigger)).toEqual(['cold_return', 'cold_return']);
    expect(await noted()).toHaveLength(1);
    expect((await a.send(steps)).body).toBe((await b.send(steps)).body);
  });

  it('leaves other branches as they are', async () => {
    const { isolate, pass } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a);
    pass(32);
    await a.send(steps + 1);
    pass(1);

    const [other] = [await a.post({ ...a.of(steps), messages: [...a.of(steps).messages, assistant('So?')] })];

    expect(other?.trigger).toBe('none');
  });

  it('needs no name', async () => {
    const { isolate, pass } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a, { conversation_id: undefined });
    pass(32);

    const first = await isolate().send(steps + 1, { conversation_id: undefined });

    expect(first).toMatchObject({ trigger: 'cold_return', frontier: 'moved' });
    expect((await a.send(steps + 1, { conversation_id: undefined })).body).toBe(first.body);
  });
});

describe.each([
  ['Responses', '/v1/responses', responsesBody, {}],
  ['Messages', '/v1/messages', messagesBody, { ...CLAUDE, max_tokens: 100 }],
] as const)('a cold return over %s', (_, path, translated, fields) => {
  it('has the same view from all isolates, and later requests extend it', async () => {
    const { isolate, pass } = deployment();
    const [a, b] = [isolate(), isolate()];
    const post = ({ of, post }: Isolate, steps: number) => post(translated(of(steps, fields)), path);
    let steps = 1;
    while (!(await post(a, steps)).warning?.includes('waiting')) steps++;
    pass(32);

    const first = await post(b, steps + 1);

    expect(first).toMatchObject({ trigger: 'cold_return', frontier: 'moved', warning: null });
    expect((await post(a, steps + 1)).body).toBe(first.body);
    pass(1);
    const later = [a, b, isolate()];
    const views = [];
    for (const one of later) views.push(await post(one, steps + 2));
    for (const view of views) {
      expect(view).toMatchObject({ trigger: 'cold_return', frontier: 'kept' });
      expect(view.body).toBe(views[0]?.body);
    }
  });
});

describe('a conversation whose cache is warm', () => {
  it('asks nobody where it was served, and once where it was not', async () => {
    const { isolate, pass } = deployment();
    const a = isolate();
    let asked = 0;
    for (let steps = 1; steps < 3; steps++) asked += (await a.send(steps)).asked;
    const steps = await untilWaiting(a);
    for (let more = 0; more < 3; more++) {
      pass(25);
      const { trigger, asked: calls } = await a.send(steps);
      expect(trigger).toBe('none');
      asked += calls;
    }
    expect(asked).toBe(0);

    const other = isolate();
    expect(await other.send(steps)).toMatchObject({ trigger: 'none', asked: 1 });
    expect((await other.send(steps)).asked).toBe(0);
  });

  it('asks nobody after a pause where nothing waits', async () => {
    const { isolate, pass, noted } = deployment();
    await isolate().send(2);
    pass(1_000);
    expect(await isolate().send(3)).toMatchObject({ trigger: 'none', asked: 0 });
    expect(await noted()).toEqual([]);
  });
});

describe('how long a cache lives', () => {
  const HOUR_MARK = [{ type: 'text', text: 'Do.', cache_control: { type: 'ephemeral', ttl: '1h' } }];
  const marked = ({ of }: Isolate, steps: number, fields: Message) => {
    const { messages, ...rest } = of(steps, fields);
    return { ...rest, messages: [{ role: 'system', content: HOUR_MARK }, ...messages] };
  };

  it.each<[string, Message, number, string]>([
    ['half an hour for a newer model of OpenAI', {}, 29, 'none'],
    ['a day where the caller asks for it', { prompt_cache_retention: '24h' }, 62, 'none'],
    ['a day, and then no more', { prompt_cache_retention: '24h' }, 24 * 60 + 2, 'cold_return'],
    ['no time that is known', { prompt_cache_options: { ttl: '7d' } }, 10_000, 'none'],
    ['no time that its vendor states', { model: 'grok-4.5' }, 10_000, 'none'],
    ['no time where cold moves are off', { memory_strategy: { ...STRATEGY, cold_moves: false } }, 62, 'none'],
    ['five minutes for a model of Anthropic', CLAUDE, 7, 'cold_return'],
  ])('is %s', async (_, fields, minutes, trigger) => {
    const { isolate, pass } = deployment();
    const steps = await untilWaiting(isolate(), fields);
    pass(minutes);
    expect((await isolate().send(steps + 1, fields)).trigger).toBe(trigger);
  });

  it('is an hour where a mark says so', async () => {
    const { isolate, pass } = deployment();
    const [a, fields] = [isolate(), CLAUDE];
    const steps = await untilWaiting(a, fields);
    await a.post(marked(a, steps, fields));
    pass(20);
    expect((await isolate().post(marked(a, steps, fields))).trigger).toBe('none');
    pass(62);
    expect((await isolate().post(marked(a, steps, fields))).trigger).toBe('cold_return');
  });

  it('is not known without events', async () => {
    const { isolate, pass } = deployment({ EVENTS: 'off' } as Partial<Env>);
    const steps = await untilWaiting(isolate());
    pass(32);
    expect((await isolate().send(steps + 1)).trigger).toBe('none');
  });
});

describe('a key that the upstream has not accepted yet', () => {
  const checks = ({ app }: Isolate) => app.sent.filter(({ url }) => url.endsWith('/models')).length;

  it('is asked about only where there is a cold return to note, and notes nothing if it is refused', async () => {
    const { isolate, pass, noted } = deployment({ VERIFY_KEYS: 'true' } as Partial<Env>);
    const steps = await untilWaiting(isolate());
    const warm = isolate();
    expect((await warm.send(steps)).trigger).toBe('none');
    expect(checks(warm)).toBe(0);

    pass(32);
    const refused = isolate();
    refused.app.answer.modelsStatus = 401;
    expect((await refused.send(steps + 1)).trigger).toBe('none');
    expect(checks(refused)).toBe(1);
    expect(await noted()).toEqual([]);

    pass(32);
    const accepted = isolate();
    expect((await accepted.send(steps + 1)).trigger).toBe('cold_return');
    expect(await noted()).toHaveLength(1);
  });
});

describe('what is not sent to the model', () => {
  it('says what a cold return would do, and notes nothing', async () => {
    const { isolate, pass, noted } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a);
    pass(32);
    const explain = async () => {
      const init = { method: 'POST', body: JSON.stringify(a.of(steps + 1)) };
      return (await (await a.app.request('/v1/explain', init)).json()) as { moves: { trigger: string }[] };
    };

    const { moves } = await explain();
    await a.send(steps + 1, { memory_strategy: { ...STRATEGY, observe: true } });

    expect(moves.at(-1)?.trigger).toBe('cold_return');
    expect(await noted()).toEqual([]);
  });
});

describe('cold returns of a conversation', () => {
  it('are deleted with it', async () => {
    const { isolate, pass, noted } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a);
    pass(32);
    await a.send(steps + 1);
    expect(await noted()).toHaveLength(1);

    await a.app.request('/v1/conversations/c/memory', { method: 'DELETE' });

    expect(await noted()).toEqual([]);
    expect((await isolate().send(steps + 1)).trigger).toBe('none');
  });

  it('come back from a backup', async () => {
    const { isolate, pass, noted, object } = deployment();
    const steps = await untilWaiting(isolate());
    pass(32);
    const first = await isolate().send(steps + 1);
    const part = await object('c')((stub) => stub.saveRows(null));
    const saved = { backup: 'a backup', at: Date.now(), used: Date.now() };

    const other = object('d');
    await other((stub) => stub.putAside({ ...saved, part: 0 }, part?.text ?? ''));
    expect(await other((stub) => stub.putBack({ ...saved, parts: 1 }))).toBe('restored');

    expect(await other((stub) => stub.coldReturns.find(null))).toEqual(await noted());
    const there = await isolate().send(steps + 1, { conversation_id: 'd' });
    expect(messagesOf(there.body)).toEqual(messagesOf(first.body));
  });

  it.each(['failing', 'hanging'] as const)('are done without where storage is %s', async (how) => {
    const { isolate, pass } = deployment();
    const steps = await untilWaiting(isolate());
    pass(32);
    const other = isolate();
    other.objects[how].add(FIND);

    const response = await other.send(steps + 1);

    expect(response).toMatchObject({ trigger: 'none', asked: 1 });
    expect(response.warning).toContain('store_failed');
    other.objects[how].clear();
    expect(await other.send(steps + 1)).toMatchObject({ asked: 1 });
  });

  it('stay known to an isolate that has read them, where storage fails', async () => {
    const { isolate, pass } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a);
    pass(32);
    const first = await a.send(steps + 1);
    pass(32);
    a.objects.failing.add(FIND);

    for (const more of [2, 3]) {
      const next = await a.send(steps + more);
      expect(next).toMatchObject({ trigger: 'cold_return', frontier: 'kept', asked: 1 });
      expect(next.warning).toContain('store_failed');
      const before = messagesOf(first.body);
      expect(messagesOf(next.body).slice(0, before.length)).toEqual(before);
    }
  });

  it('are the cause that is named where an isolate cannot read whether there were any', async () => {
    const { isolate, pass } = deployment();
    const a = isolate();
    const steps = await untilWaiting(a);
    const changedOf = async (one: Isolate, of: number) => {
      const { frontier, changed } = await one.report(of);
      return { moved: frontier.moved, changed };
    };
    pass(32);
    await a.send(steps + 1);
    const other = isolate();
    other.objects.failing.add(FIND);

    expect(await changedOf(other, steps + 2)).toEqual({ moved: true, changed: { cause: 'unread' } });
    // It has sent the request before itself, and this view extends that one.
    expect(await changedOf(other, steps + 3)).toEqual({ moved: false, changed: undefined });
    other.objects.failing.clear();
    expect(await changedOf(other, steps + 4)).toEqual({ moved: true, changed: { cause: 'move' } });
    expect(await changedOf(other, steps + 5)).toEqual({ moved: false, changed: undefined });
  });
});
