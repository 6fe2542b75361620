/** Reasoning that a bridge keeps, over real storage: who has it, and what its failures cost. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { Buffer } from 'node:buffer';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import type { Report } from '../../../src/memory/plan/report.ts';
import { chainAfter, NO_CHAIN, recordsIn } from '../../../src/storage/backup/records.ts';
import { LONGEST_KEPT, MOST_ANSWERS } from '../../../src/storage/conversation/kept-answers.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { responseOf } from '../../../tools/upstream/response.ts';
import { lines, type Message, result, system, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten, shortened } from '../../support/time-limits.ts';
import { remoteConversation, startApp, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

type Json = Record<string, unknown>;

const ADMIN_TOKEN = 'the-token-of-the-operator';
const TOOLS = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }];

const OTHER_TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

/** Of each result. */
const LINES = 20;

let made = 0;

/** A conversation whose model thinks before each answer, and isolates that serve it. */
function conversation({ model = 'gpt-6-astra', named = true, modelsStatus = 200, verifies = false } = {}) {
  const key = `sk-a-caller-whose-thoughts-are-kept-${++made}`;
  const id = `thoughts ${made}`;
  const bodies: Json[] = [];
  /** Characters of each thought, and what the model says instead of a call. */
  const says = {
    length: 4_000,
    words: undefined as string | undefined,
    input: '{}',
    refuses: false,
    fetches: false,
    /** The tools that the next answer calls, instead of one. */
    both: undefined as string[] | undefined,
    /** What it says beside the next call of a tool of Precis's. */
    preamble: undefined as string | undefined,
    /** The id of each call, if it is always the same. */
    id: undefined as string | undefined,
    error: undefined as Json | undefined,
    /** What it says in a refusal, instead of its words. */
    refusal: undefined as string | undefined,
    /** Whether it refuses something else. */
    isOthers: false,
  };
  /** Happens when the model is asked next. */
  const once: { asked?: (() => void) | undefined } = {};
  const isolate = () => {
    const objects = watchedObjects(env.CONVERSATION_MEMORY);
    const variables = {
      ...{ CONVERSATION_MEMORY: objects.namespace, ADMIN_TOKEN },
      VERIFY_KEYS: verifies ? 'true' : 'false',
    };
    const app = startApp(watchedBucket().bucket, variables, key);
    vi.mocked(globalThis.fetch).mockImplementation(async (input, init) => {
      const request = new Request(input, init);
      if (!request.url.endsWith('/responses')) return Response.json({ data: [] }, { status: modelsStatus });
      const body = (await request.json()) as Json;
      bodies.push(body);
      once.asked?.();
      once.asked = undefined;
      if (says.refuses && (thoughtsIn(body).length > 0 || says.isOthers))
        return Response.json({ error: says.error ?? { code: 'invalid_encrypted_content' } }, { status: 400 });
      const n = ++made;
      const encrypted = `thought ${n} `.padEnd(says.length, '.');
      const call = {
        id: says.id ?? `call_${n}`,
        name: says.fetches ? 'retrieve_ref' : 'find',
        arguments: says.input,
      };
      says.fetches = false;
      const both = says.both?.map((name, at) => ({ ...call, id: `${call.id}_${at}`, name }));
      says.both = undefined;
      const spoken = says.preamble === undefined ? {} : { content: says.preamble };
      says.preamble = undefined;
      const called = { ...spoken, toolCalls: both ?? [call] };
      const said = says.words === undefined ? called : { content: says.words };
      const response = responseOf(body, { id: `${n}`, ...said, reasoning: { encrypted } });
      if (says.refusal === undefined) return Response.json(response);
      const content = [{ type: 'refusal', refusal: says.refusal }];
      const output = (response.output as Json[]).map((item) =>
        item.type === 'message' ? { ...item, content } : item,
      );
      return Response.json({ ...response, output });
    });
    const ask = async (messages: readonly Message[], more: Json = {}) => {
      const named_ = named ? { conversation_id: id } : {};
      const fields = { model, tools: TOOLS, memory_strategy: 'auto', memory_report: true, ...named_ };
      const response = await app.chat({ ...fields, ...more, messages });
      expect(response.status).toBe(says.isOthers ? 400 : 200);
      const { choices = [], memory } = (await response.json()) as {
        choices: { message: Message }[];
        memory: Report;
      };
      return { message: choices[0]?.message as Message, memory };
    };
    return { app, ask, objects };
  };
  const { id: tenant } = new Tenants(env.PRECIS_SECRET).ofToken(key);
  const name = conversationName(tenant, undefined, { id });
  return { id, isolate, bodies, says, once, name, tenant };
}

type Isolate = ReturnType<ReturnType<typeof conversation>['isolate']>;

/** The thoughts in a body, in its order. */
const thoughtsIn = ({ input = [] }: Json = {}): string[] =>
  (input as Json[]).flatMap(({ encrypted_content: text }) => (text ? [String(text).trim()] : []));

/** What a client sends after an answer. */
const back = ({ content, tool_calls = [] }: Message): Message[] => [
  { role: 'assistant', content, ...((tool_calls as Json[]).length > 0 ? { tool_calls } : {}) },
  ...((tool_calls as { id: string }[]).map(({ id }) => result(id, lines(LINES, id))) as Message[]),
];

/** Some steps of a tool loop, with the report of the last one. */
async function steps({ ask }: Isolate, messages: Message[], count: number, more: Json = {}): Promise<Report> {
  let last: Report | undefined;
  for (let step = 0; step < count; step++) {
    const { message, memory } = await ask(messages, more);
    messages.push(...back(message));
    last = memory;
  }
  return last as Report;
}

/** What the event of the newest request says of it. */
async function droppedIn({ app }: Isolate, id: string): Promise<Report['reasoning_dropped']> {
  const page = await app.request(`/v1/conversations/${encodeURIComponent(id)}/requests?limit=1`);
  const { data } = (await page.json()) as { data: Pick<Report, 'reasoning_dropped'>[] };
  return data[0]?.reasoning_dropped;
}

describe('the reasoning that a bridge keeps', () => {
  it('is there for a second isolate, which reads it once, and costs one that knows it nothing', async () => {
    const { isolate, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 3);
    expect(a.objects.calls.filter((call) => call.startsWith('keptAnswers'))).toEqual(
      ['add', 'add', 'add'].map((method) => `keptAnswers.${method}`),
    );
    await steps(b, messages, 2);
    expect(b.objects.calls.filter((call) => /^keptAnswers\.(?:find|read)/.test(call))).toEqual([
      'keptAnswers.find',
      'keptAnswers.read',
    ]);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 3, 4]);
  });

  /** Forms in which clients send an answer again that they have stored since. */
  const STORED: [string, (answer: Message) => Message][] = [
    ['with empty words', (answer) => ({ ...answer, content: answer.content ?? '' })],
    ['with members that say nothing', (answer) => ({ ...answer, refusal: null, annotations: [] })],
    ['with reasoning', (answer) => ({ ...answer, reasoning_content: 'Hm.' })],
    [
      'with arguments in another order',
      ({ tool_calls, ...answer }) => ({
        ...answer,
        tool_calls: (tool_calls as Json[]).map((call) => ({
          ...call,
          function: { name: 'find', arguments: '{ "b": 2, "a": 1 }' },
        })),
      }),
    ],
  ];

  it.each(STORED)('is found again where its caller has stored the answer %s', async (_, stored) => {
    const { isolate, bodies, says } = conversation();
    says.input = '{"a":1,"b":2}';
    const a = isolate();
    const sent: Message[] = [user('Find it.')];
    let report: Report | undefined;
    for (let step = 0; step < 4; step++) {
      // Only the newest answer is sent as it was given.
      const last = sent.findLastIndex(({ role }) => role === 'assistant');
      const messages = sent.map((one, at) => (one.role === 'assistant' && at < last ? stored(one) : one));
      const { message, memory } = await a.ask(messages);
      sent.push(...back(message));
      report = memory;
    }
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 3]);
    expect(report?.upstream_api).toMatchObject({ kept_answers: 3 });
    expect(report?.reasoning_dropped).toBeUndefined();
    await isolate().ask(sent.map((one) => (one.role === 'assistant' ? stored(one) : one)));
    expect(thoughtsIn(bodies.at(-1))).toHaveLength(4);
  });

  it('is asked for by no request that is not bridged', async () => {
    const { isolate } = conversation();
    const { ask, objects } = isolate();
    const messages: Message[] = [user('Find it.')];
    const { message } = await ask(messages);
    vi.mocked(globalThis.fetch).mockImplementation(async () =>
      Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }] }),
    );
    const before = objects.calls.length;
    await ask([...messages, ...back(message)], { memory_strategy: { mode: 'auto', upstream_api: 'chat' } });
    expect(objects.calls.slice(before).filter((call) => call.startsWith('keptAnswers'))).toEqual([]);
  });

  it('counts in the tokens of the view', async () => {
    const { isolate, bodies } = conversation();
    const { ask } = isolate();
    const messages: Message[] = [user('Find it.')];
    const report = await steps({ ask } as Isolate, messages, 4);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 3]);
    expect(report.tokens?.after).toBeGreaterThan(3 * 1_000);
    expect(report.tokens?.after).toBeLessThan(3 * 1_000 + 1_500);
  });

  it('leaves at a move that it is bound to, once, and the report says so', async () => {
    const { isolate, bodies, says } = conversation({ model: 'gpt-6.2-sol' });
    const a = isolate();
    const messages: Message[] = [user('Find it.')];
    says.length = 1_200;
    const memory_strategy = { mode: 'compact', token_budget: 1_500, min_reclaim_tokens: 0 };
    const losses: unknown[] = [];
    for (let step = 0; step < 12 && losses.length < 2; step++) {
      const known = thoughtsIn(bodies.at(-1));
      const { message, memory } = await a.ask(messages, { memory_strategy });
      const sent = thoughtsIn(bodies.at(-1));
      messages.push(...back(message));
      if (memory.reasoning_dropped) losses.push(memory.reasoning_dropped);
      // Between two moves it only grows, and after one none of it comes back.
      if (memory.frontier.moved) expect(sent).toEqual([]);
      else expect(sent.slice(0, known.length)).toEqual(known);
      const { cause } = memory.reasoning_dropped ?? {};
      expect(cause).toBe(memory.frontier.moved ? 'move' : undefined);
    }
    expect(losses).toHaveLength(2);
    // A second isolate makes the same of it.
    await isolate().ask(messages, { memory_strategy });
    const other = thoughtsIn(bodies.at(-1));
    await a.ask(messages, { memory_strategy });
    expect(thoughtsIn(bodies.at(-1))).toEqual(other);
  });

  it.each(['gpt-6-astra', 'gpt-6.2-sol'])(
    'is counted where the array of its caller is another one (%s)',
    async (model) => {
      const { isolate, bodies, id } = conversation({ model });
      const a = isolate();
      const messages: Message[] = [user('Find it.')];
      expect((await steps(a, messages, 5)).reasoning_dropped).toBeUndefined();
      // The result of the second call. The third and fourth thought were sent before.
      const edited = messages.map((message, at) => (at === 4 ? { ...message, content: 'Edited.' } : message));
      const lost = { blocks: 2, cause: 'message', message: 4, by: 'precis' };
      const asking = [...edited];
      expect((await steps(a, asking, 1)).reasoning_dropped).toEqual(lost);
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(2);
      await expect.poll(() => droppedIn(a, id)).toEqual(lost);
      expect((await steps(a, asking, 1)).reasoning_dropped).toBeUndefined();
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(3);

      const other = await a.ask(asking, { model: model.replace(/-\w+$/, '-luna') });
      expect(other.memory.reasoning_dropped).toEqual({ blocks: 3, cause: 'model', by: 'precis' });
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(0);
    },
  );

  it.each([
    ['gpt-6.2-sol', 'the question', 'auto'],
    ['gpt-6-astra', 'the question', 'auto'],
    ['gpt-6-astra', 'the arguments', { mode: 'none', upstream_api: 'responses' }],
  ])(
    'is counted where its caller changes what finds it, as the explanation says before (%s: %s, %j)',
    async (model, what, memory_strategy) => {
      const { isolate, bodies, id } = conversation({ model });
      const a = isolate();
      const messages: Message[] = [user('Find it.')];
      expect((await steps(a, messages, 4, { memory_strategy })).reasoning_dropped).toBeUndefined();
      const isQuestion = what === 'the question';
      const [, ...answers] = messages;
      const argued = JSON.parse(JSON.stringify(messages).replaceAll('"{}"', '"[]"')) as Message[];
      const changed = isQuestion ? [user('Find the other one.'), ...answers] : argued;
      const lost = { blocks: 3, cause: 'message', message: isQuestion ? 0 : 1, by: 'precis' };
      const fields = { model, tools: TOOLS, memory_strategy, conversation_id: id };
      for (const { app } of [isolate(), a]) {
        const explained = await app.request('/v1/explain', {
          method: 'POST',
          body: JSON.stringify({ ...fields, messages: changed }),
        });
        expect(((await explained.json()) as { memory: Report }).memory.reasoning_dropped).toEqual(lost);
      }
      expect((await a.ask(changed, { memory_strategy })).memory.reasoning_dropped).toEqual(lost);
      expect(thoughtsIn(bodies.at(-1))).toEqual([]);
      await expect.poll(() => droppedIn(a, id)).toEqual(lost);
    },
  );

  describe.each(['keptAnswers.find', 'keptAnswers.read'])(
    'where the storage does not answer (%s)',
    (hangs) => {
      it('stays with the isolate that knows it, and is named where it is missed', async () => {
        const { isolate, bodies } = conversation();
        const [a, b] = [isolate(), isolate()];
        const messages: Message[] = [user('Find it.')];
        await steps(a, messages, 3);
        for (const { objects } of [a, b]) objects.hanging.add(hangs);
        shorten({ keptRoundsMs: 50 });
        expect((await a.ask(messages)).memory.warnings).not.toContain('reasoning_absent');
        expect(thoughtsIn(bodies.at(-1))).toHaveLength(3);
        expect((await b.ask(messages)).memory.warnings).toContain('reasoning_absent');
        expect(thoughtsIn(bodies.at(-1))).toHaveLength(0);
      });

      it('does not come back before what was thought without it, where that is bound', async () => {
        const { isolate, bodies } = conversation({ model: 'gpt-6.2-sol' });
        const [a, b] = [isolate(), isolate()];
        const messages: Message[] = [user('Find it.')];
        await steps(a, messages, 3);
        b.objects.hanging.add(hangs);
        await shortened({ keptRoundsMs: 50 }, () => steps(b, messages, 1));
        b.objects.hanging.delete(hangs);
        const report = await steps(b, messages, 1);
        expect(report.warnings).toContain('thinking_dropped');
        const [only] = thoughtsIn(bodies.at(-1));
        await steps(b, messages, 1);
        expect(thoughtsIn(bodies.at(-1))[0]).toBe(only);
        expect(bodies.slice(3).map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2]);
      });
    },
  );

  it('is sent by no isolate after rounds that no view shows, and what is thought since by each', async () => {
    const { isolate, bodies, says } = conversation({ model: 'gpt-6.2-sol' });
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    const more = { memory_strategy: { mode: 'compact', compact_retrieval: 'tool', keep_rounds: false } };
    await steps(a, messages, 1, more);
    says.fetches = true;
    await steps(a, messages, 1, more);
    const reports = [];
    for (const one of [b, a, b]) reports.push(await steps(one, messages, 1, more));
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 0, 1, 2]);
    expect(reports[0]?.warnings).toEqual(expect.arrayContaining(['thinking_dropped', 'reasoning_absent']));
    expect(reports.map(({ dropped_thinking_blocks: blocks }) => blocks)).toEqual([3, 3, 3]);
  });

  it('is read again where an isolate has no room for all of it', async () => {
    const { isolate, bodies, says } = conversation();
    const { ask, objects } = isolate();
    const messages: Message[] = [user('Find it.')];
    says.length = 180_000;
    const memory_strategy = { mode: 'none', upstream_api: 'responses' };
    for (let step = 0; step < 9; step++)
      messages.push(...back((await ask(messages, { memory_strategy })).message));
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const count = (method: string) => objects.calls.filter((call) => call === `keptAnswers.${method}`).length;
    expect([count('find'), count('add')]).toEqual([0, 9]);
    expect(count('read')).toBeGreaterThan(0);
    expect(count('read')).toBeLessThan(8);
  });

  it('is no longer kept once its answer has ended, and the next report says so', async () => {
    shorten({ keepRoundsMs: 50 });
    const { isolate, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    a.objects.gates.set('keptAnswers.add', gate);
    const { message } = await a.ask(messages);
    open();
    a.objects.gates.delete('keptAnswers.add');
    messages.push(...back(message));
    const { memory } = await a.ask(messages);
    expect(memory.warnings).toContain('reasoning_absent');
    const upstream_api = { api: 'responses', because: 'model', plain_answers: 1 };
    expect(memory.upstream_api).toEqual(upstream_api);
    expect(thoughtsIn(bodies.at(-1))).toEqual([]);
    // The object knows that it was not kept, so each other isolate reports the same.
    const other = await b.ask(messages);
    expect(thoughtsIn(bodies.at(-1))).toEqual([]);
    expect(other.memory).toMatchObject({ upstream_api, warnings: memory.warnings });
  });

  it('is claimed by no other isolate where its answer could not be kept, nor is any that was kept lost', async () => {
    const { isolate, bodies } = conversation({ model: 'gpt-6.2-sol' });
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 1);
    a.objects.failing.add('keptAnswers.add');
    await steps(a, messages, 1);
    a.objects.failing.delete('keptAnswers.add');
    const own = await steps(a, messages, 1);
    expect(own.warnings).toContain('reasoning_absent');
    await steps(b, messages, 1);
    const { upstream_api } = await steps(b, messages, 1);
    expect(upstream_api).toMatchObject({ kept_answers: 3, plain_answers: 1 });
    const [first] = thoughtsIn(bodies[1]);
    for (const body of bodies.slice(2)) expect(thoughtsIn(body)[0]).toBe(first);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 1, 2, 3]);
  });

  it('is not kept of an answer that is too long, and each isolate reports that', async () => {
    const { isolate, says, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    says.length = LONGEST_KEPT;
    await steps(a, messages, 1);
    says.length = 4_000;
    for (const { ask } of [a, b]) expect((await ask(messages)).memory.warnings).toContain('reasoning_absent');
    expect(thoughtsIn(bodies.at(-1))).toEqual([]);
  });

  it('is of the first one of two equal answers to one array, in every isolate', async () => {
    const { isolate, says, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    says.words = 'It is there.';
    const [one] = await Promise.all([a.ask(messages), b.ask(messages)]);
    messages.push(...back(one.message), user('Where?'));
    await a.ask(messages);
    await b.ask(messages);
    const [first, second] = bodies.slice(-2).map(thoughtsIn);
    expect(first).toHaveLength(1);
    expect(second).toEqual(first);
  });

  it.each(['gpt-6-astra', 'gpt-6.2-sol'])(
    'is of its own branch where two isolates answer at once, and then change places (%s)',
    async (model) => {
      const { isolate, bodies } = conversation({ model });
      const [a, b] = [isolate(), isolate()];
      const messages: Message[] = [user('Find it.')];
      await steps(a, messages, 2);
      // Two answers to one array, and two arrays that go on from it.
      const ends = [[], [], [user('Here?')], [user('There?')]];
      const branches = ends.map((end) => [...messages, ...end]);
      for (const isolates of [
        [a, b, a, b],
        [b, a, b, a],
      ])
        await Promise.all(isolates.map((one, at) => steps(one, branches[at] ?? [], 1)));
      for (const branch of branches)
        for (const { ask } of [a, b, isolate()]) {
          await ask(branch);
          const called = branch.flatMap(({ tool_calls = [] }) => tool_calls as { id: string }[]);
          expect(called).toHaveLength(4);
          expect(thoughtsIn(bodies.at(-1))).toEqual(
            called.map(({ id }) => `thought ${id.replace('call_', '')} `.padEnd(4_000, '.')),
          );
        }
    },
  );

  it('is as old where it was refused as in every other isolate', async () => {
    const { isolate, says, bodies } = conversation({ model: 'gpt-6.2-sol' });
    const a = isolate();
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 1);
    const branch = [...messages, user('Here?')];
    await steps(a, messages, 1);
    await steps(a, branch, 1);
    says.refuses = true;
    await steps(a, messages, 1);
    says.refuses = false;
    for (const { ask } of [a, isolate()]) await ask(branch);
    expect(bodies.slice(-2).map(thoughtsIn)).toEqual([[], []]);
  });

  it.each([
    { message: "Unknown parameter: 'input[1].phase'.", param: 'input[1].phase' },
    { message: "Invalid value: 'a_call'. Supported values are: 'message'.", param: 'input[1]' },
    { message: 'Duplicate item found with id rs_1. Remove duplicate items from your input.' },
    {
      message: 'messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.',
    },
  ])('is left out and forgotten where an item of it is refused ($message)', async (error) => {
    const { isolate, says, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 2);
    says.refuses = true;
    says.error = error;
    expect((await a.ask(messages)).memory.warnings).toContain('reasoning_absent');
    expect(bodies.slice(-2).map((body) => thoughtsIn(body).length)).toEqual([2, 0]);
    says.refuses = false;
    const count = bodies.length;
    for (const { ask } of [a, b]) await ask(messages);
    expect(bodies.slice(count).map((body) => thoughtsIn(body).length)).toEqual([0, 0]);
  });

  it('stays where a refusal names an item, and nothing that is kept is at fault', async () => {
    const { isolate, says, bodies } = conversation();
    const a = isolate();
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 2);
    says.refuses = says.isOthers = true;
    says.error = { message: "Invalid 'input[0].content[0].image_url'.", param: 'input[0].content' };
    await a.ask(messages);
    says.refuses = says.isOthers = false;
    const { memory } = await a.ask(messages);
    expect(thoughtsIn(bodies.at(-1))).toHaveLength(2);
    expect(memory.warnings).not.toContain('reasoning_absent');
  });

  it('is asked for again where its storage did not learn that it was refused', async () => {
    const { isolate, says, bodies } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 2);
    says.refuses = true;
    a.objects.failing.add('keptAnswers.forget');
    await steps(a, messages, 1);
    says.refuses = false;
    for (const { ask } of [a, b]) await ask(messages);
    const [own, other] = bodies.slice(-2).map(thoughtsIn);
    expect(other).toHaveLength(3);
    expect(own).toEqual(other);
  });

  it('goes with its conversation', async () => {
    const { isolate, bodies, id } = conversation();
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 2);
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    expect((await a.app.request(path, { method: 'DELETE' })).status).toBeLessThan(300);
    for (const { ask } of [a, b]) await ask(messages);
    expect(bodies.slice(-2).map((body) => thoughtsIn(body).length)).toEqual([0, 0]);
  });

  it('is, in a body that comes again, what is kept by then', async () => {
    const { isolate, bodies, says, id } = conversation();
    const a = isolate();
    const messages: Message[] = [user(lines(300))];
    await steps(a, messages, 2);
    const sent = async (): Promise<number> => {
      await a.ask(messages);
      return thoughtsIn(bodies.at(-1)).length;
    };
    expect([await sent(), await sent()]).toEqual([2, 2]);
    says.refuses = true;
    expect(await sent()).toBe(0);
    says.refuses = false;
    await steps(a, messages, 1);
    expect([await sent(), await sent()]).toEqual([1, 1]);
    const path = `/v1/conversations/${encodeURIComponent(id)}/memory`;
    expect((await a.app.request(path, { method: 'DELETE' })).status).toBeLessThan(300);
    expect(await sent()).toBe(0);
  });

  it('is in a backup, and comes back with it', async () => {
    const { isolate, bodies, name, tenant } = conversation();
    const a = isolate();
    const messages: Message[] = [user('Find it.')];
    await steps(a, messages, 3);
    const admin = (path: string, body: BodyInit) =>
      a.app.request(`/v1/admin/${path}`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
    const records: Uint8Array[] = [];
    for (let asked: object | undefined = { caller: tenant }; asked; ) {
      const response = await admin('backup', JSON.stringify(asked));
      const read = recordsIn(new Uint8Array(await response.arrayBuffer())) ?? [];
      asked = undefined;
      for (const { kind, bytes } of read)
        if (kind === 'N') asked = { next: Buffer.from(bytes).toString('base64') };
        else records.push(bytes);
    }
    const stub = env.CONVERSATION_MEMORY.getByName(name);
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAll());
    await evictDurableObject(stub);
    let chain = NO_CHAIN;
    for (const bytes of records) {
      expect((await admin(`restore?after=${chain}`, bytes as Uint8Array<ArrayBuffer>)).status).toBe(200);
      chain = chainAfter(chain, bytes);
    }
    await isolate().ask(messages);
    expect(thoughtsIn(bodies.at(-1))).toHaveLength(3);
  });

  it('is kept of the first answer of a conversation without a name', async () => {
    const { isolate, bodies } = conversation({ named: false });
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user(`Find it, ${made}.`)];
    await steps(a, messages, 2);
    await steps(b, messages, 1);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2]);
  });

  it.each(['gpt-6.2-sol', 'gpt-6-astra'])(
    'is left out after a late message of the system, if bound (%s)',
    async (model) => {
      const { isolate, bodies } = conversation({ model });
      const a = isolate();
      const messages: Message[] = [user(`Find it, ${made}.`)];
      await steps(a, messages, 3);
      const [first, second] = thoughtsIn(bodies.at(-1));
      messages.splice(3, 0, { role: 'system', content: 'Be brief.' });
      await steps(a, messages, 2);
      const left = thoughtsIn(bodies.at(-1));
      expect(left.slice(0, 2)).toEqual(model === 'gpt-6-astra' ? [first, second] : [first, left[1]]);
      expect(left).toHaveLength(model === 'gpt-6-astra' ? 4 : 2);
      expect(left.includes(second ?? '')).toBe(model === 'gpt-6-astra');
    },
  );

  const reminder = (at: number): Message => user(`It is step ${at}. <environment>${made}</environment>`);

  it.each([
    ['gpt-6-astra', true, [0, 1, 2, 3]],
    ['gpt-6-astra', false, [0, 1, 2, 3]],
    ['gpt-6.2-sol', true, [0, 0, 0, 0]],
  ])(
    'is found, unless bound, though the client ends each request with another reminder (%s, named: %s)',
    async (model, named, thoughts) => {
      const { isolate, bodies } = conversation({ model, named });
      const messages: Message[] = [user(`Find it, ${made}.`)];
      for (let at = 0; at < 4; at++) {
        const { message } = await isolate().ask([...messages, reminder(at)]);
        messages.push(...back(message));
      }
      expect(bodies.map((body) => thoughtsIn(body).length)).toEqual(thoughts);
    },
  );

  it.each(['gpt-6-astra', 'gpt-6.2-sol'])(
    "is kept of an answer that calls Precis's tools and its caller's, without the calls left out (%s)",
    async (model) => {
      const { isolate, bodies, says } = conversation({ model });
      const a = isolate();
      const messages: Message[] = [user('Find it.')];
      const more = { memory_strategy: { mode: 'compact', compact_retrieval: 'tool' } };
      await steps(a, messages, 1, more);
      says.both = ['retrieve_ref', 'find'];
      await steps(a, messages, 1, more);
      const calledIn = (body?: Json): unknown[] =>
        ((body?.input ?? []) as Json[]).flatMap(({ type, name }) => (type === 'function_call' ? [name] : []));
      expect(calledIn(bodies.at(-1))).toEqual(['find', 'retrieve_ref']);
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(2);
      says.both = ['find', 'retrieve_ref'];
      await steps(isolate(), messages, 1, more);
      const { warnings, upstream_api } = await steps(isolate(), messages, 1, more);
      expect(calledIn(bodies.at(-1))).toEqual(['find', 'retrieve_ref', 'find', 'find']);
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(4);
      expect(warnings).not.toContain('reasoning_absent');
      expect(upstream_api).toMatchObject({ kept_answers: 4 });
      expect(upstream_api).not.toHaveProperty('plain_answers');
    },
  );

  it.each([[false], [true]])(
    'is of an answer whose round has all its words, also where the client divides it (%s)',
    async (divides) => {
      const { isolate, bodies, says } = conversation();
      const a = isolate();
      const messages: Message[] = [user('Find it.')];
      const more = { memory_strategy: { mode: 'compact', compact_retrieval: 'tool' } };
      await steps(a, messages, 1, more);
      says.both = ['retrieve_ref'];
      says.preamble = 'I look.';
      const { message } = await a.ask(messages, more);
      expect(message.content).toBe('I look.');
      const [answer, ...results] = back(message) as [Message, ...Message[]];
      const parts = [
        { role: 'assistant', content: answer.content },
        { ...answer, content: null },
      ];
      messages.push(...((divides ? parts : [answer]) as Message[]), ...results);
      const { memory } = await isolate().ask(messages, more);
      expect(thoughtsIn(bodies.at(-1))).toHaveLength(3);
      expect(JSON.stringify(bodies.at(-1)).split('I look.')).toHaveLength(2);
      expect(memory.upstream_api).not.toHaveProperty('plain_answers');
    },
  );

  it('is of a model by its name with a date and without', async () => {
    const { isolate, bodies } = conversation();
    const messages: Message[] = [user('Find it.')];
    const names = ['gpt-6-astra', 'gpt-6-astra-2026-09-15', 'gpt-6-astra', 'gpt-6-sol'];
    for (const model of names) await steps(isolate(), messages, 1, { model });
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 0]);
  });

  it.each<[string, (at: number) => { instructions?: string; more?: Json }]>([
    ['instructions', (at) => ({ instructions: at % 2 === 0 ? 'Be kind.' : 'Be brief.' })],
    ['tools', (at) => (at % 2 === 0 ? {} : { more: { tools: [...TOOLS, ...OTHER_TOOLS] } })],
  ])('is of the %s that it is bound to, and comes back with them', async (_, of) => {
    const { isolate, bodies } = conversation({ model: 'gpt-6.2-sol' });
    const messages: Message[] = [user('Find it.')];
    for (let at = 0; at < 5; at++) {
      const { instructions = 'Be kind.', more } = of(at);
      const { message } = await isolate().ask([system(instructions), ...messages], more);
      messages.push(...back(message));
    }
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 0, 1, 1, 2]);
  });

  it('is of each of several calls with equal ids and arguments', async () => {
    const { isolate, bodies, says } = conversation();
    says.id = 'call_0';
    const messages: Message[] = [user('Find it.')];
    for (let at = 0; at < 4; at++) await steps(isolate(), messages, 1);
    const last = thoughtsIn(bodies.at(-1));
    expect(last).toHaveLength(3);
    expect(new Set(last).size).toBe(3);
  });

  it('is kept of the first answer to a key, though the upstream lists no models', async () => {
    const { isolate, bodies } = conversation({ modelsStatus: 404, verifies: true });
    const messages: Message[] = [user(`Find it, ${made}.`)];
    await steps(isolate(), messages, 2);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1]);
  });

  it('is kept of a first answer from which the client cuts white space', async () => {
    const { isolate, bodies, says } = conversation({ named: false });
    const a = isolate();
    says.words = ' I have it.\n';
    const messages: Message[] = [user(`Find it, ${made}.`)];
    const { message } = await a.ask(messages);
    const back = { ...message, content: String(message.content).trim() };
    for (const { ask } of [a, isolate()]) await ask([...messages, back, user('Thanks.')]);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 1]);
  });

  it('is there for a second isolate after the first answer of a conversation without a name', async () => {
    const { isolate, bodies } = conversation({ named: false });
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user(`Find it, ${made}.`)];
    await steps(a, messages, 1);
    // The conversation has no name yet, so it is the only object.
    const [place, ...others] = a.objects.stubs;
    if (!place) throw new Error('the answer is nowhere');
    expect(others).toEqual([]);
    const left = () =>
      runInDurableObject(place, (_, { storage }) =>
        storage.sql.exec('SELECT count(*) AS n FROM kept_answers WHERE sealed IS NOT NULL').one(),
      );
    expect(await left()).toEqual({ n: 1 });
    const reports = [
      await steps(b, messages, 1),
      await steps(a, messages, 1),
      await steps(isolate(), messages, 1),
    ];
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 2, 3]);
    for (const { warnings, upstream_api } of reports) {
      expect(warnings).not.toContain('reasoning_absent');
      expect(upstream_api?.plain_answers).toBeUndefined();
    }
    // It is deleted with its conversation, so nothing of it may be left elsewhere.
    await vi.waitFor(async () => expect(await left()).toEqual({ n: 0 }));
    const list = await a.app.request('/v1/conversations');
    expect(((await list.json()) as { data: Json[] }).data).toHaveLength(1);
  });

  it('is kept of a refusal that begins a conversation without a name', async () => {
    const { isolate, bodies, says } = conversation({ named: false });
    const [a, b] = [isolate(), isolate()];
    says.words = says.refusal = 'I will not.';
    const messages: Message[] = [user(`Break it, ${made}.`)];
    const { message } = await a.ask(messages);
    const { content, refusal } = message;
    expect([content, refusal]).toEqual([null, 'I will not.']);
    messages.push({ role: 'assistant', refusal }, user('Please.'));
    for (const { ask } of [a, b]) await ask(messages);
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 1]);
  });

  it('is there for each of two isolates that continue such a conversation at once', async () => {
    const { isolate, bodies } = conversation({ named: false });
    const messages: Message[] = [user(`Find it, ${made}.`)];
    await steps(isolate(), messages, 1);
    await Promise.all([isolate(), isolate(), isolate()].map(({ ask }) => ask(messages)));
    expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 1, 1, 1]);
  });

  it('is not kept of such a first answer that is too long, and each isolate reports that', async () => {
    const { isolate, says } = conversation({ named: false });
    const [a, b] = [isolate(), isolate()];
    const messages: Message[] = [user(`Find it, ${made}.`)];
    says.length = LONGEST_KEPT;
    await steps(a, messages, 1);
    for (const { ask } of [a, b, a])
      expect((await ask(messages)).memory.warnings).toContain('reasoning_absent');
  });

  describe('of a first answer that could not be kept at once', () => {
    /** The storage fails until the model is asked. */
    const failOnce = ({ objects }: Isolate, once: { asked?: (() => void) | undefined }) => {
      objects.failing.add('keptAnswers.add');
      once.asked = () => objects.failing.delete('keptAnswers.add');
    };

    it('is missed in one report, and kept with the next request', async () => {
      const { isolate, bodies, once } = conversation({ named: false });
      const a = isolate();
      const warned = vi.spyOn(console, 'warn');
      const messages: Message[] = [user(`Find it, ${made}.`)];
      await steps(a, messages, 1);
      failOnce(a, once);
      const reports = [await steps(a, messages, 1), await steps(a, messages, 1)];
      expect(reports.map(({ warnings }) => warnings.includes('reasoning_absent'))).toEqual([true, false]);
      await steps(isolate(), messages, 1);
      expect(bodies.map((body) => thoughtsIn(body).length)).toEqual([0, 0, 2, 3]);
      const logged = JSON.stringify(warned.mock.calls);
      expect(logged).toContain('the first answer could not be kept');
      expect(logged).not.toContain('kept answers could not be found');
    });

    it('costs no other reasoning, and does not come back before it, where that is bound', async () => {
      const { isolate, bodies, once } = conversation({ model: 'gpt-6.2-sol', named: false });
      const [a, b] = [isolate(), isolate()];
      const messages: Message[] = [user(`Find it, ${made}.`)];
      await steps(a, messages, 1);
      failOnce(b, once);
      await steps(b, messages, 1);
      await steps(a, messages, 1);
      const [second, ...more] = thoughtsIn(bodies.at(-1));
      expect([second, more]).toEqual([expect.stringContaining('thought'), []]);
      await steps(a, messages, 1);
      for (const { ask } of [a, isolate()]) await ask(messages);
      for (const body of bodies.slice(-3)) expect(thoughtsIn(body)[0]).toBe(second);
    });
  });
});

describe('the bounds of what is kept', () => {
  const row = (at: number, bytes: number) => ({
    key: `key ${at}`,
    sealed: new Uint8Array(bytes).buffer as ArrayBuffer,
    tokens: 10,
    bytes: 40,
    blocks: 1,
    since: Date.now(),
    until: Number.MAX_SAFE_INTEGER,
  });

  it.each([
    ['answers', MOST_ANSWERS, 10],
    ['bytes', 64, LONGEST_KEPT],
  ])('leave the newer half at once where there are too many %s', async (_, most, bytes) => {
    const { name } = conversation();
    const memory = remoteConversation(name);
    const keys = Array.from({ length: most + 1 }, (_, at) => `key ${at}`);
    const stub = env.CONVERSATION_MEMORY.getByName(name) as DurableObjectStub<ConversationMemory>;
    await runInDurableObject(stub, async ({ keptAnswers }) => {
      for (let at = 0; at < most; at++) await keptAnswers.add(row(at, bytes));
    });
    const before = await memory((stub) => stub.keptAnswers.find(keys));
    expect(before.filter((found) => found?.goneWith === null)).toHaveLength(most);

    const { kept } = await memory((stub) => stub.keptAnswers.add(row(most, bytes)));
    const found = await memory((stub) => stub.keptAnswers.find(keys));
    expect(found.every((one) => one?.tokens === 10)).toBe(true);
    const gone = found.flatMap((one, at) => (one?.goneWith === null ? [] : [at]));
    expect(gone).toEqual(keys.slice(0, most / 2 + 1).map((_, at) => at));
    expect(found[0]?.goneWith).toBe(kept?.id);
    const read = await memory((stub) => stub.keptAnswers.read(['key 0', `key ${most}`]));
    expect(read.map((sealed) => sealed?.byteLength ?? 0)).toEqual([0, bytes]);
  });
});
