import { expect, it } from 'vitest';
import { type Call, choiceOf, settingsOf, statuses } from '../../support/deployment/conversation-settings.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const deployment = deploy({
  vars: { ...summarizer.vars, DEFAULT_MEMORY_STRATEGY: '{"mode":"trim","max_turns":50}' },
});

const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0 };
const OTHER_KEY = 'sk-the-key-of-another-test-caller';

let named = 0;
const newId = () => `conversation-${++named}`;

const settings = settingsOf(deployment);
const set = (id: string, body: unknown, call: Call = {}) => settings(id, { method: 'PATCH', body, ...call });

const ask = choiceOf(deployment);

overProtocols('the strategy of a conversation', deployment, () => {
  it('comes after the request’s, and before the agent’s and the deployment’s', async () => {
    const id = newId();
    await set(id, { mode: 'compact' });
    const ofRequest = { memory_strategy: { mode: 'summarize', context_limit: 99 }, conversation_id: id };

    const chosen = [
      await ask({ path: '/agents/chat/v1', body: ofRequest }),
      await ask({ path: '/agents/chat/v1', body: { conversation_id: id } }),
      await ask({ path: '/agents/chat/v1' }),
      await ask({}),
    ];

    expect(chosen).toEqual([
      ['summarize', 'request'],
      ['compact', 'conversation'],
      ['rolling_summary', 'agent'],
      ['trim', 'default'],
    ]);
  });

  it('is none, if that is what it is set to', async () => {
    const id = newId();
    await set(id, { mode: 'none' });

    expect(await ask({ path: '/agents/coding/v1', body: { conversation_id: id } })).toEqual([
      'none',
      'conversation',
    ]);
  });

  it('is chosen by conversation_id and x-conversation-id, and by nothing that clients send of themselves', async () => {
    const id = newId();
    await set(id, { mode: 'none' });
    const ofDefault = ['trim', 'default'];
    const ofConversation = ['none', 'conversation'];

    expect(await ask({ body: { conversation_id: id } })).toEqual(ofConversation);
    expect(await ask({ headers: { 'x-conversation-id': id } })).toEqual(ofConversation);
    expect(await ask({ headers: { 'x-session-id': id } })).toEqual(ofDefault);
    expect(await ask({ headers: { 'session-id': id } })).toEqual(ofDefault);
    expect(await ask({ body: { prompt_cache_key: id } })).toEqual(ofDefault);
    expect(await ask({ body: { conversation_id: newId() }, headers: { 'x-conversation-id': id } })).toEqual(
      ofDefault,
    );
  });

  it('holds in /v1/compact too', async () => {
    const id = newId();
    await set(id, { mode: 'trim', max_turns: 1, keep_last_n_turns: 1 });
    const messages = ['one', 'two'].map((content) => ({ role: 'user', content }));

    const response = await deployment.postTo('/v1/compact', { messages, conversation_id: id });

    expect(await response.json()).toMatchObject({
      messages: [{ content: 'two' }],
      memory: { source: 'conversation' },
    });
  });

  it('may be set under an agent, whose routes are the same', async () => {
    const id = newId();

    const response = await set(id, { mode: 'none' }, { path: '/agents/chat/v1' });

    expect(response.status).toBe(200);
    expect((await settings(id, { path: '/agents/coding/v1' })).status).toBe(200);
    expect((await settings(id, { path: '/agents/nobody/v1' })).status).toBe(404);
    expect((await settings(id, { path: '/some/prefix' })).status).toBe(200);
  });
});

overProtocols('a conversation belongs to', deployment, () => {
  it.each<[string, Call]>([
    ['x-memory-user', { headers: { 'x-memory-user': 'ann' } }],
    ['user', { body: { user: 'ann' } }],
    ['safety_identifier', { body: { safety_identifier: 'ann' } }],
    ['safety_identifier before user', { body: { safety_identifier: 'ann', user: 'bob' } }],
    ['user before x-memory-user', { body: { user: 'ann' }, headers: { 'x-memory-user': 'bob' } }],
  ])('the user that %s names', async (_, { body = {}, headers = {} }) => {
    const id = newId();
    await set(id, { mode: 'none' }, { headers: { 'x-memory-user': 'ann' } });
    const named = { conversation_id: id };

    expect(await ask({ body: { ...(body as object), ...named }, headers })).toEqual(['none', 'conversation']);
    expect(await ask({ body: named })).toEqual(['trim', 'default']);
    expect(await ask({ body: { ...named, user: 'bob' } })).toEqual(['trim', 'default']);
  });

  it("one user: the same id is not found under another, nor under nobody's", async () => {
    const id = newId();
    const ann = { headers: { 'x-memory-user': 'ann' } };
    await set(id, { mode: 'none' }, ann);

    const found = [
      await settings(id, ann),
      await settings(id, { headers: { 'x-memory-user': 'bob' } }),
      await settings(id),
      await deployment.fetch(`/v1/conversations/${id}/memory?user=ann`),
    ];

    expect(statuses(...found)).toEqual([200, 404, 404, 200]);
  });

  it('one user, whatever is in the names', async () => {
    await set('b:c', { mode: 'none' }, { headers: { 'x-memory-user': 'a' } });

    expect((await settings('c', { headers: { 'x-memory-user': 'a:b' } })).status).toBe(404);
    expect(await ask({ body: { conversation_id: 'c', user: 'a:b' } })).toEqual(['trim', 'default']);
    expect(await ask({ body: { conversation_id: 'b:c', user: 'a' } })).toEqual(['none', 'conversation']);
  });

  it('one tenant: another one does not find it, and can neither set nor delete it', async () => {
    const id = newId();
    const other = { headers: { authorization: `Bearer ${OTHER_KEY}` } };
    await set(id, { mode: 'none' });

    expect(statuses(await settings(id, other), await settings(id, { ...other, method: 'DELETE' }))).toEqual([
      404, 404,
    ]);
    await set(id, { mode: 'compact' }, other);
    expect(await ask({ body: { conversation_id: id } })).toEqual(['none', 'conversation']);
  });

  it('one user, also in what is summarized', async () => {
    const id = newId();
    const ann = new Talk(deployment, { conversation_id: id, user: 'ann', memory_strategy: ROLLING });
    await ann.rounds(1, 3);
    const bob = new Talk(deployment, { conversation_id: id, user: 'bob', memory_strategy: ROLLING });
    bob.messages.splice(0, 1, ...ann.messages);

    const { view } = await bob.ask(question(4));

    expect(view).toEqual(bob.messages.slice(0, -1));
    await bob.remembered(1);
  });
});

overProtocols('the name of a user or a conversation', deployment, () => {
  const long = 'x'.repeat(257);
  const messages = [{ role: 'user', content: 'Hello' }];

  it.each<[string, object, Record<string, string>]>([
    ['user', { user: long }, {}],
    ['safety_identifier', { safety_identifier: long }, {}],
    ['x-memory-user', {}, { 'x-memory-user': long }],
  ])('is refused when it has over 256 characters, naming %s', async (param, fields, headers) => {
    const response = await deployment.chat({ model: 'gpt-4.1-mini', messages, ...fields }, headers);

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', param, message: expect.stringContaining('256') },
    });
    expect(deployment.chats()).toEqual([]);
  });

  it('of a user is refused by the routes of conversations too', async () => {
    const response = await set(newId(), { mode: 'none' }, { headers: { 'x-memory-user': long } });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'x-memory-user' } });
  });

  it('may have 256 characters', async () => {
    const [id, user] = [`${newId()}-`.padEnd(256, 'c'), 'u'.repeat(256)];
    await set(id, { mode: 'none' }, { headers: { 'x-memory-user': user } });

    expect(await ask({ body: { conversation_id: id, user } })).toEqual(['none', 'conversation']);
  });

  it('may be an integer, which is its digits', async () => {
    await set('9007199254740991', { mode: 'none' });

    expect(await ask({ body: { conversation_id: 9007199254740991 } })).toEqual(['none', 'conversation']);
    expect(await ask({ body: { conversation_id: 9007199254740990 } })).toEqual(['trim', 'default']);
  });

  it.each(['12345678901234567001', '-9007199254740993', '1.5', '1e400', '""', 'true', '["c"]'])(
    'is refused as %s, which names nobody for certain',
    async (id) => {
      const response = await deployment.chat(
        `{"model":"gpt-4.1-mini","conversation_id":${id},"messages":${JSON.stringify(messages)}}`,
      );

      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: 'conversation_id' } });
      expect(deployment.chats()).toEqual([]);
    },
  );
});

overProtocols('what is meant for Precis', deployment, () => {
  it('never reaches the upstream, while user and safety_identifier do', async () => {
    await ask({
      body: {
        conversation_id: newId(),
        agent_type: 'coding',
        memory_injection: true,
        memory_report: true,
        user: 'ann',
        safety_identifier: 'ann-1',
        metadata: { a: 'b' },
      },
      headers: {
        'x-conversation-id': 'c',
        'x-memory-user': 'ann',
        'x-memory-injection': 'true',
        'x-agent-type': 'chat',
      },
    });

    const { body, headers } = deployment.lastChat();
    expect(Object.keys(body).toSorted()).toEqual([
      'messages',
      'metadata',
      'model',
      // Of the conversation, in its place.
      'prompt_cache_key',
      'safety_identifier',
      'user',
    ]);
    expect(Object.keys(headers).filter((name) => /^x-(memory|conversation|agent)/.test(name))).toEqual([]);
    expect(headers.authorization).toBe(`Bearer ${KEY}`);
  });
});
