/** Kept rounds over real storage: who sees them, what they cost, and what happens when it fails. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConversationMemory } from '../../../src/index.ts';
import { conversationName } from '../../../src/storage/conversation/names.ts';
import { collectUnused } from '../../../src/storage/tenant/sweep.ts';
import { TRUST_MS } from '../../../src/storage/upkeep.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import { lines, type Message, step, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten, shortened } from '../../support/time-limits.ts';
import { CONVERSATIONS, refsIn, startApp, TENANTS, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

const FILE = lines(600, 'const line');
const WANTED = FILE.split('\n')[299] ?? '';
const STRATEGY = { mode: 'auto', token_budget: 64_000, offload_fresh_tokens: 1_000 };
const TOOLS = [{ type: 'function', function: { name: 'edit_file', parameters: { type: 'object' } } }];

let made = 0;

/** One conversation of one tenant. */
function conversation() {
  const own = ++made;
  const key = `sk-a-caller-whose-rounds-are-kept-${own}`;
  const id = `edits ${own}`;
  const messages: Message[] = [user('Change line 300.'), ...step(`read_${own}`, 'read_file', FILE)];
  return { own, key, id, messages, tenant: new Tenants(env.PRECIS_SECRET).ofToken(key).id };
}

type Conversation = ReturnType<typeof conversation>;
/** A call of the model that edits the line where it sees it, and fetches it otherwise, once. */
function editor(body: string): object {
  const sees = body.includes(JSON.stringify(WANTED).slice(1, -1));
  const last = viewOf(body).at(-1)?.tool_call_id;
  const edits = sees || String(last).startsWith('fetch_');
  const [ref = `ref_${'a'.repeat(26)}`] = refsIn(body);
  const [name, args] = edits ? ['edit_file', { line: 300 }] : ['retrieve_ref', { ref, lines: '290-310' }];
  const id = `${edits ? 'call' : 'fetch'}_${++made}`;
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

/** A call of a model that fetches nothing. */
const edits = (): object => ({
  id: `call_${++made}`,
  type: 'function',
  function: { name: 'edit_file', arguments: '{}' },
});

/** Stops the clock. @returns moves it on, by milliseconds */
function clock(): (more: number) => void {
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  return (more) => {
    now += more;
  };
}

/** The app in an isolate of its own, whose upstream is the editor. */
function isolate({ key }: Pick<Conversation, 'key'>) {
  const watched = watchedBucket();
  const objects = watchedObjects(env.CONVERSATION_MEMORY);
  const app = startApp(watched.bucket, { CONVERSATION_MEMORY: objects.namespace }, key);
  const counted = () => [...watched.operations.map(({ name }) => `R2.${name}`), ...objects.calls];
  /** Asks and appends the answer with its result. */
  const ask = async (id: string | undefined, messages: Message[], more: Message = {}, model = editor) => {
    const start = counted().length;
    const bodies: string[] = [];
    let before: string[] | undefined;
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      before ??= counted();
      const body = await new Request(input, init).text();
      bodies.push(body);
      const message = { role: 'assistant', content: null, tool_calls: [model(body)] };
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
      return Response.json({ id: 'chatcmpl-1', object: 'chat.completion', choices });
    });
    const named = id === undefined ? {} : { conversation_id: id };
    const fields = { model: 'gpt-4.1', tools: TOOLS, memory_strategy: STRATEGY, ...named, ...more };
    const response = await app.chat({ ...fields, messages });
    const { choices } = (await response.json()) as { choices: { message: Message }[] };
    const message = choices[0]?.message ?? {};
    const [call] = message.tool_calls as { id: string }[];
    messages.push(message, { role: 'tool', tool_call_id: call?.id, content: 'edited' });
    return {
      calls: (before ?? []).slice(start),
      bodies,
      frontier: response.headers.get('x-memory-frontier'),
      warning: response.headers.get('x-memory-warning'),
    };
  };
  return { app, ask, watched, objects };
}

const viewOf = (body: string | undefined): Message[] => JSON.parse(body ?? '{"messages":[]}').messages;

/** The calls of Precis's tools in a body; undefined if none was sent. */
const keptIn = (body: string | undefined): number | undefined =>
  body === undefined ? undefined : body.split('"name":"retrieve_ref","arguments"').length - 1;

/** The objects with rounds in the bucket. */
async function roundsIn({ tenant }: Conversation): Promise<string[]> {
  const { objects } = await env.REFS.list({ prefix: `${tenant}/rounds_` });
  return objects.map(({ key }) => key);
}

describe('kept rounds', () => {
  it.each([
    ['a named conversation', true],
    ['one without a name', false],
  ])(
    'are asked for once by an isolate, and then nobody is asked before the body of %s is sent',
    async (_, isNamed) => {
      const talk = conversation();
      const { ask } = isolate(talk);
      const asked = [];
      for (let n = 0; n < 5; n++) asked.push(await ask(isNamed ? talk.id : undefined, talk.messages));

      expect(asked.map(({ bodies }) => bodies.length)).toEqual([2, 1, 1, 1, 1]);
      const storage = asked.map(({ calls }) => calls.filter((call) => call !== 'state.settings'));
      expect(storage[0]).toContain('keptRounds.find');
      expect(storage.slice(1)).toEqual([[], [], [], []]);
      expect(await roundsIn(talk)).toHaveLength(1);
    },
  );

  it.each([
    ['a named conversation', true],
    ['one without a name', false],
  ])('are in every view of %s whose client moves its cache mark', async (_, isNamed) => {
    const talk = conversation();
    const { ask } = isolate(talk);
    const plain = user('Change line 300.');
    const part = { type: 'text', text: plain.content };
    const marked = [{ ...part, cache_control: { type: 'ephemeral' } }];
    const kept = [];
    for (const content of [marked, plain.content, [part], marked]) {
      talk.messages[0] = { ...plain, content };
      const { bodies } = await ask(isNamed ? talk.id : undefined, talk.messages);
      kept.push(keptIn(bodies.at(-1)));
    }
    expect(kept).toEqual([1, 1, 1, 1]);
  });

  it('give the same view in another isolate, with one call and one read', async () => {
    const talk = conversation();
    const first = isolate(talk);
    await first.ask(talk.id, talk.messages);
    const again = [...talk.messages];
    const here = await first.ask(talk.id, talk.messages);
    const there = await isolate(talk).ask(talk.id, again);

    expect(keptIn(here.bodies[0])).toBe(1);
    expect(there.bodies[0]).toBe(here.bodies[0]);
    expect(there.calls.filter((call) => /keptRounds|R2\.get/.test(call))).toEqual([
      'R2.get',
      'keptRounds.find',
    ]);
  });

  it.each([
    ['of a named conversation', true],
    ['of a conversation without a name', false],
  ])('%s show in an isolate that has answered the same array without any', async (_, isNamed) => {
    const talk = conversation();
    const id = isNamed ? talk.id : undefined;
    const [here, there] = [isolate(talk), isolate(talk)];
    expect((await here.ask(id, [...talk.messages], {}, edits)).bodies).toHaveLength(1);
    expect((await there.ask(id, talk.messages)).bodies).toHaveLength(2);

    const bodies = [];
    for (const { ask } of [here, there])
      bodies.push((await ask(id, [...talk.messages], {}, edits)).bodies[0]);
    expect(keptIn(bodies[0])).toBe(1);
    expect(bodies[1]).toBe(bodies[0]);
  });

  it.each([
    ['a minute', 61_000],
    ['a pause beyond its trust', TRUST_MS + 1],
  ])('come with a move to an isolate whose own answer had the same key, after %s', async (_, pause) => {
    const talk = conversation();
    const pass = clock();
    const same = (made: object) => ({ ...made, id: 'call_same' });
    const editsAs = () => same(edits());
    const editorAs = (body: string) =>
      viewOf(body).at(-1)?.tool_call_id === 'fetch_it'
        ? same(editor(body))
        : { ...editor(body), id: 'fetch_it' };
    const [here, there] = [isolate(talk), isolate(talk)];
    await here.ask(talk.id, [...talk.messages], {}, editsAs);
    expect((await there.ask(talk.id, talk.messages, {}, editorAs)).bodies).toHaveLength(2);

    const views = [];
    for (const more of [0, pause, 0, 0]) {
      pass(more);
      const { bodies, frontier } = await here.ask(talk.id, [...talk.messages], {}, edits);
      views.push([keptIn(bodies[0]), frontier]);
    }
    // Within the trust it asks after an answer.
    const without = Array(pause < TRUST_MS ? 2 : 1).fill([0, 'none']);
    expect(views).toEqual([...without, [1, 'moved'], [1, 'none'], [1, 'none']].slice(0, 4));
  });

  it('of the first request of a conversation without a name have a place', async () => {
    const talk = conversation();
    const messages = [user(`What is in ${talk.own}?`)];
    // The model looks for a content that is not there.
    const first = await isolate(talk).ask(undefined, messages);
    const { bodies } = await isolate(talk).ask(undefined, messages);
    expect(first.bodies).toHaveLength(2);
    expect(keptIn(bodies[0])).toBe(1);
  });

  it.each<[who: string, more: Message, change: (messages: Message[]) => Message[]]>([
    ['another user', { user: 'somebody else' }, (messages) => messages],
    ['an array that was edited before the answer', {}, ([, ...rest]) => [user('Change it.'), ...rest]],
    [
      'an array with another answer',
      {},
      (messages) =>
        JSON.parse(JSON.stringify(messages).replaceAll(/"call_\d+"/g, '"call_other"')) as Message[],
    ],
    ['an array without the answer', {}, (messages) => [...messages.slice(0, 3), user('And now?')]],
    ['a strategy that keeps none', { memory_strategy: { ...STRATEGY, keep_rounds: false } }, (all) => all],
    [
      'a strategy that gives the model no tools',
      { memory_strategy: { ...STRATEGY, compact_retrieval: 'off' } },
      (all) => all,
    ],
    ['a request without tools', { tools: undefined }, (all) => all],
    ['a request that can have no tools of ours', { n: 2 }, (all) => all],
    ['a mode that edits nothing', { memory_strategy: 'none' }, (all) => all],
  ])('are not shown to %s', async (_who, more, change) => {
    const talk = conversation();
    const { ask } = isolate(talk);
    await ask(talk.id, talk.messages);
    expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(1);

    const { bodies } = await ask(talk.id, change([...talk.messages]), more);
    expect(keptIn(bodies[0])).toBe(0);
  });

  it('that nobody keeps cost no earlier thinking: what is thought after them reaches no caller', async () => {
    const one = conversation();
    const { ask } = isolate(one);
    Object.assign(one.messages[1] ?? {}, {
      thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'signed' }],
    });
    const memory_strategy = { ...STRATEGY, keep_rounds: false };
    const more = { model: 'claude-opus-5-5', memory_strategy };
    expect((await ask(one.id, one.messages, more)).bodies).toHaveLength(2);
    const next = await ask(one.id, one.messages, more);
    expect(next.bodies[0]).toContain('"signature":"signed"');
    expect(next.warning ?? '').not.toContain('thinking_dropped');
  });

  it('are not shown to another tenant', async () => {
    const talk = conversation();
    await isolate(talk).ask(talk.id, talk.messages);
    const { bodies } = await isolate(conversation()).ask(talk.id, [...talk.messages]);
    expect(keptIn(bodies[0])).toBe(0);
  });

  it('go with their conversation, also from the isolate that has seen them', async () => {
    const talk = conversation();
    const { ask, app } = isolate(talk);
    await ask(talk.id, talk.messages);
    const path = `/v1/conversations/${encodeURIComponent(talk.id)}/memory`;
    expect((await app.request(path, { method: 'DELETE' })).status).toBe(200);

    expect(await roundsIn(talk)).toEqual([]);
    expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(0);
  });

  it('go with their tenant', async () => {
    const talk = conversation();
    const { ask, app } = isolate(talk);
    await ask(talk.id, talk.messages);
    await app.request('/v1/memory', { method: 'DELETE' });
    await vi.waitUntil(async () => (await roundsIn(talk)).length === 0, { timeout: 20_000 });
    expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(0);
  });

  it('go with their conversation when it is no longer used, and not before', async () => {
    const talk = conversation();
    const { ask } = isolate(talk);
    await ask(talk.id, talk.messages);
    const sweepAfter = async (days: number) => {
      const keeping = { ...env, TENANT_MEMORY: TENANTS, RETENTION_DAYS: '30' };
      // A run does a part of the bucket, which all files share.
      const place = async () => (await (await env.REFS.get('sweep'))?.text()) ?? '';
      await env.REFS.delete('sweep');
      do await collectUnused(keeping, Date.now() + days * 86_400_000);
      while ((await place()) !== '');
    };
    await sweepAfter(29);
    expect(await roundsIn(talk)).toHaveLength(1);
    await sweepAfter(31);
    expect(await roundsIn(talk)).toEqual([]);
    const later = await isolate(talk).ask(talk.id, [...talk.messages]);
    expect([keptIn(later.bodies[0]), later.warning]).toEqual([0, null]);
  });

  it('are no part of the memory that a conversation gives and takes', async () => {
    const talk = conversation();
    const { ask, app } = isolate(talk);
    await ask(talk.id, talk.messages);
    const path = `/v1/conversations/${encodeURIComponent(talk.id)}/memory`;
    await app.request(path, { method: 'PATCH', body: JSON.stringify(STRATEGY) });
    const memory = await (await app.request(path)).text();
    expect(memory).not.toContain('rounds_');
    expect(memory).not.toContain('retrieve_ref');

    const put = async (to: string) =>
      app.request(to, { method: 'PUT', body: JSON.stringify({ ...JSON.parse(memory), id: undefined }) });
    expect((await put('/v1/conversations/moved-here/memory')).status).toBe(200);
    expect(keptIn((await ask('moved-here', [...talk.messages])).bodies[0])).toBe(0);
    expect((await put(path)).status).toBe(200);
    expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(1);
  });
});

describe('rounds that cannot be kept', () => {
  let late = Promise.withResolvers<void>();
  beforeEach(() => {
    late = Promise.withResolvers();
  });

  it.each<[what: string, fails: (all: ReturnType<typeof isolate>) => void]>([
    ['the object fails', ({ objects }) => objects.failing.add('keptRounds.add')],
    ['the object hangs', ({ objects }) => objects.hanging.add('keptRounds.add')],
    ['the bucket fails', ({ watched }) => watched.failing.add('put')],
    ['the bucket is late', ({ watched }) => watched.gates.set('put', late.promise)],
  ])('are given up for good if %s, and the answer comes', async (_what, fails) => {
    shorten({ keepRoundsMs: 50, dropRoundsMs: 50 });
    const talk = conversation();
    const first = isolate(talk);
    // The file's content must be there before the bucket fails.
    await first.app.chat({
      model: 'gpt-4.1',
      tools: TOOLS,
      memory_strategy: STRATEGY,
      messages: talk.messages,
    });
    fails(first);
    const { bodies } = await first.ask(talk.id, talk.messages);
    expect(bodies).toHaveLength(2);
    first.objects.failing.clear();
    first.objects.hanging.clear();
    first.watched.failing.clear();
    late.resolve();
    first.watched.gates.clear();

    for (const { ask } of [first, isolate(talk), first])
      expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(0);
  });

  it('since they are larger than a conversation keeps are dropped', async () => {
    const talk = conversation();
    const { ask } = isolate(talk);
    const wordy = (body: string) => {
      const made = editor(body) as { function: { name: string; arguments: string } };
      if (made.function.name === 'edit_file') return made;
      const args = { ...JSON.parse(made.function.arguments), reason: ' reason'.repeat(1.2 * 1024 * 1024) };
      return { ...made, function: { ...made.function, arguments: JSON.stringify(args) } };
    };
    const { bodies } = await ask(talk.id, talk.messages, {}, wordy);
    expect(bodies).toHaveLength(2);
    expect(await roundsIn(talk)).toEqual([]);
    expect(keptIn((await ask(talk.id, [...talk.messages])).bodies[0])).toBe(0);
  });

  it('since storage did not answer the model are not kept', async () => {
    shorten({ toolStorageMs: 50 });
    const talk = conversation();
    const { ask, watched } = isolate(talk);
    watched.failing.add('get');
    const { bodies } = await ask(talk.id, talk.messages);
    watched.failing.clear();
    expect(bodies.at(-1)).toContain('Storage does not answer at the moment.');
    expect(await roundsIn(talk)).toEqual([]);
  });
});

describe('a call of the model', () => {
  /** Fetches lines once, and edits then. */
  const fetchesLines =
    (lines: string) =>
    (body: string): object => {
      const isGiven = viewOf(body).at(-1)?.tool_call_id === 'fetch_lines';
      const [name, args] = isGiven ? ['edit_file', {}] : ['retrieve_ref', { ref: refsIn(body)[0], lines }];
      const id = isGiven ? `call_${++made}` : 'fetch_lines';
      return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    };

  it.each([
    ['is answered from kept rounds that hold what it asks for', '298-302', WANTED],
    ['is answered from storage where they hold less', '298-312', 'Storage does not answer'],
  ])('%s', async (_sentence, lines, result) => {
    const talk = conversation();
    const { ask, watched } = isolate(talk);
    await ask(talk.id, talk.messages);
    watched.failing.add('get');
    shorten({ toolStorageMs: 50 });
    const { bodies } = await ask(talk.id, talk.messages, {}, fetchesLines(lines));
    expect(keptIn(bodies[0])).toBe(1);
    expect(viewOf(bodies[1]).at(-1)?.content).toContain(result);
  });
});

describe('rounds that cannot be read', () => {
  it.each<[what: string, fails: (all: ReturnType<typeof isolate>) => void]>([
    ['the object fails', ({ objects }) => objects.failing.add('keptRounds.find')],
    ['the object hangs', ({ objects }) => objects.hanging.add('keptRounds.find')],
    ['the bucket fails', ({ watched }) => watched.failing.add('get')],
  ])('leave the view with a warning if %s, and come back with a move', async (_what, fails) => {
    const talk = conversation();
    await isolate(talk).ask(talk.id, talk.messages);
    const second = isolate(talk);
    fails(second);
    const limits = { keptRoundsMs: 50, toolStorageMs: 50 };
    const absent = await shortened(limits, () => second.ask(talk.id, [...talk.messages]));
    expect(keptIn(absent.bodies[0])).toBe(0);
    expect(absent.warning).toContain('rounds_absent');
    expect(absent.frontier).toBe('moved');

    second.objects.failing.clear();
    second.objects.hanging.clear();
    second.watched.failing.clear();
    const back = await second.ask(talk.id, [...talk.messages]);
    expect(keptIn(back.bodies[0])).toBe(1);
    expect(back.warning).toBeNull();
    expect(back.frontier).toBe('moved');
    expect((await second.ask(talk.id, [...talk.messages])).frontier).not.toBe('moved');
  });

  it('come back with a move to the array that lacked them, and to no other one', async () => {
    const talk = conversation();
    await isolate(talk).ask(talk.id, talk.messages);
    const { ask, objects } = isolate(talk);
    const seen = [];
    for (const [messages, ...fails] of [
      [[...talk.messages], 'keptRounds.find'],
      [[user(`A sub-agent of ${talk.own}.`)]],
      [[...talk.messages]],
      [[...talk.messages]],
    ] as [Message[], ...string[]][]) {
      for (const method of fails) objects.failing.add(method);
      const { bodies, frontier, warning } = await ask(talk.id, messages, {}, edits);
      objects.failing.clear();
      seen.push([keptIn(bodies[0]), frontier, warning]);
    }
    expect(seen).toEqual([
      [0, 'moved', 'rounds_absent'],
      [0, 'none', null],
      [1, 'moved', null],
      [1, 'none', null],
    ]);
  });

  it('come back without a move after an explanation, which sends no view', async () => {
    const talk = conversation();
    await isolate(talk).ask(talk.id, talk.messages);
    const { ask, app, objects } = isolate(talk);
    objects.failing.add('keptRounds.find');
    const fields = { model: 'gpt-4.1', tools: TOOLS, memory_strategy: STRATEGY, conversation_id: talk.id };
    const body = JSON.stringify({ ...fields, messages: talk.messages });
    const explained = await app.request('/v1/explain', { method: 'POST', body });
    objects.failing.clear();
    expect(await explained.text()).toContain('rounds_absent');

    const { bodies, frontier } = await ask(talk.id, [...talk.messages], {}, edits);
    expect([keptIn(bodies[0]), frontier]).toEqual([1, 'none']);
  });

  it('since they are lost leave once, and for good', async () => {
    const talk = conversation();
    await isolate(talk).ask(talk.id, talk.messages);
    await env.REFS.delete(await roundsIn(talk));
    const { ask } = isolate(talk);
    const first = await ask(talk.id, [...talk.messages]);
    expect(first.warning).toContain('rounds_absent');
    const later = await ask(talk.id, [...talk.messages]);
    expect([later.warning, keptIn(later.bodies[0])]).toEqual([null, 0]);
  });
});

describe('rounds that others under the same name drive out', () => {
  it('are reported once, also after pauses beyond the trust of an isolate', async () => {
    const talk = conversation();
    const pass = clock();
    const { ask } = isolate(talk);
    await ask(talk.id, talk.messages);
    const name = conversationName(talk.tenant, undefined, { id: talk.id });
    const stub = CONVERSATIONS.getByName(name) as DurableObjectStub<ConversationMemory>;
    const keep = (key: string) => {
      const others = { key, names: [`of ${key}`], rounds: 50, tokens: 10, bytes: 100 };
      return stub.keptRounds.add({ ...others, since: Date.now(), until: Date.now() + 1_000 });
    };
    await keep('a fork');
    const seen = [];
    for (let pauses = 0; pauses < 4; pauses++) {
      for (const more of [TRUST_MS + 60_000, 0]) {
        pass(more);
        const { bodies, frontier, warning } = await ask(talk.id, [...talk.messages], {}, edits);
        seen.push([keptIn(bodies[0]), frontier, warning]);
      }
      // Their objects are no longer named from here on.
      if (pauses === 1) expect((await keep('another fork')).gone).toHaveLength(1);
    }
    expect(seen).toEqual([[0, 'moved', 'rounds_absent'], ...Array(7).fill([0, 'none', null])]);
  });

  it('leave the views of all isolates at the same moment, and each says so once', async () => {
    const talk = conversation();
    const pass = clock();
    const first = isolate(talk);
    await first.ask(talk.id, talk.messages);
    pass(0.6 * TRUST_MS);
    const name = conversationName(talk.tenant, undefined, { id: talk.id });
    const stub = CONVERSATIONS.getByName(name) as DurableObjectStub<ConversationMemory>;
    const others = { names: ['of a fork'], rounds: 50, tokens: 10, bytes: 100 };
    const times = { since: Date.now(), until: Date.now() + 1_000 };
    expect(await stub.keptRounds.add({ key: 'an answer to a fork', ...others, ...times })).toMatchObject({
      kept: others,
      gone: [],
    });

    const second = isolate(talk);
    const views = async () => {
      const seen = [];
      for (const { ask } of [first, second]) {
        const { bodies, frontier, warning } = await ask(talk.id, [...talk.messages], {}, edits);
        seen.push([keptIn(bodies[0]), frontier, warning]);
      }
      return seen;
    };
    const both = (...seen: unknown[]) => [seen, seen];
    for (const more of [0, 0.6 * TRUST_MS, 0.4 * TRUST_MS - 1]) {
      pass(more);
      expect(await views()).toEqual(both(1, 'none', null));
    }
    pass(1);
    expect(await views()).toEqual(both(0, 'moved', 'rounds_absent'));
    expect(await views()).toEqual(both(0, 'none', null));
  });
});

describe('the object of a conversation', () => {
  const rounds = (key: string, more: object = {}) => ({
    key,
    names: [`rounds_of_${key}`],
    rounds: 1,
    tokens: 10,
    bytes: 100,
    since: Date.now() + 1_000,
    until: Date.now() + 60_000,
    ...more,
  });
  const stubOf = (name: string) =>
    CONVERSATIONS.getByName(`${'0'.repeat(32)}::${name}-${++made}`) as DurableObjectStub<ConversationMemory>;

  it('refuses rounds that come too late, or from before a deletion', async () => {
    const stub = stubOf('late');
    expect(await stub.keptRounds.add(rounds('a', { until: Date.now() - 1 }))).toEqual({
      kept: null,
      gone: ['rounds_of_a'],
    });
    await stub.keptRounds.add(rounds('b'));
    await stub.leave();
    expect((await stub.keptRounds.add(rounds('c', { since: Date.now() - 60_000 }))).kept).toBeNull();
    expect(await stub.keptRounds.find(['a', 'b', 'c'])).toEqual([null, null, null]);
  });

  it('keeps the first rounds of an answer, and a repeated call changes nothing', async () => {
    const stub = stubOf('twice');
    const first = await stub.keptRounds.add(rounds('a'));
    expect(first).toMatchObject({ kept: { names: ['rounds_of_a'] }, gone: [] });
    expect(await stub.keptRounds.add(rounds('a'))).toEqual(first);
    const other = await stub.keptRounds.add(rounds('a', { names: ['of another request'] }));
    expect(other).toMatchObject({ kept: { names: ['rounds_of_a'] }, gone: ['of another request'] });
  });

  it('keeps the contents of fifty rounds, and the size of those before', async () => {
    const stub = stubOf('many');
    const pass = clock();
    const keep = async (n: number) => (await stub.keptRounds.add(rounds(`${n}`, { rounds: 10 }))).gone;
    for (let n = 0; n < 6; n++) expect(await keep(n)).toEqual([]);
    const goneAt = Date.now() + TRUST_MS;
    expect(await stub.keptRounds.find(['0', '1'])).toMatchObject([
      { names: ['rounds_of_0'], goneAt },
      { names: ['rounds_of_1'], goneAt: null },
    ]);

    pass(TRUST_MS);
    expect(await keep(6)).toEqual([]);
    pass(60_000);
    expect(await keep(7)).toEqual(['rounds_of_0']);
    expect(await stub.keptRounds.find(['0'])).toMatchObject([{ names: [], tokens: 10, goneAt }]);
  });

  it('keeps eight MiB of contents, the newest ones', async () => {
    const stub = stubOf('large');
    const bytes = 3 * 1024 * 1024;
    for (let n = 0; n < 4; n++) await stub.keptRounds.add(rounds(`${n}`, { bytes }));
    const kept = await stub.keptRounds.find(['0', '1', '2', '3']);
    expect(kept.map((one) => one?.goneAt === null)).toEqual([false, false, true, true]);
  });
});

it('is a view whose messages are where they were sent', async () => {
  const talk = conversation();
  const { ask } = isolate(talk);
  const { bodies } = await ask(talk.id, talk.messages);
  const next = await ask(talk.id, talk.messages);
  const [, last] = bodies.map(viewOf);
  expect(viewOf(next.bodies[0]).slice(0, last?.length)).toEqual(last);
});
