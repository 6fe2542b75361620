import { describe, expect, it } from 'vitest';
import { type Call, choiceOf, settingsOf, statuses } from '../../support/deployment/conversation-settings.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const deployment = deploy({
  vars: { ...summarizer.vars, DEFAULT_MEMORY_STRATEGY: '{"mode":"trim","max_turns":50}' },
});

const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0 };

let named = 0;
const newId = () => `conversation-${++named}`;

const settings = settingsOf(deployment);
const set = (id: string, body: unknown, call: Call = {}) => settings(id, { method: 'PATCH', body, ...call });

async function errorOf(response: Response): Promise<Record<string, unknown>> {
  return ((await response.json()) as { error: Record<string, unknown> }).error;
}

const ask = choiceOf(deployment);

describe.each(ofTurn(0, PROTOCOLS))('GET /v1/conversations/{id}/memory, over $name', (protocol) => {
  deployment.over(protocol);
  it('says what is kept of a conversation', async () => {
    const id = newId();
    const to = new Talk(deployment, { conversation_id: id, memory_strategy: ROLLING });
    await to.rounds(1, 4);

    const response = await settings(id);

    const memory = {
      memory_id: 2,
      base_memory_id: 1,
      start_sequence: 0,
      end_sequence: 7,
      base_end_seq: 5,
      window_size: 8,
      status: 'completed',
      memory_text: expect.stringContaining('## User Intent'),
      ref: expect.stringMatching(/^ref_[a-z2-7]{26}$/),
      tokens: expect.any(Number),
      model: 'gpt-4.1-nano',
      attempts: 1,
      error: null,
      prefix_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      strategy_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      generation_time_ms: expect.any(Number),
    };
    expect(response.status).toBe(200);
    const described = (await response.json()) as {
      conversation_memory: string;
      memories: { memory_text: string }[];
    };
    expect(described).toMatchObject({
      memory_strategy: null,
      memory_injection: null,
      health: 'healthy',
      memories: [memory, { memory_id: 1, base_memory_id: null }],
      rounds: [
        { round_hash: expect.stringMatching(/^[0-9a-f]{64}$/), memory_id: 1, digest_hash: null },
        { memory_id: null },
      ],
      stats: { avg_ms: expect.any(Number), max_ms: expect.any(Number), total_summaries: 2 },
      stuck: false,
    });
    expect(described.conversation_memory).toBe(described.memories[0]?.memory_text);
    expect(JSON.stringify(described)).not.toMatch(/lease/);
  });

  it.each(['GET', 'DELETE'])('%s of one that nobody knows is 404', async (method) => {
    const response = await settings('nobody-knows-this-one', { method });

    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({
      type: 'invalid_request_error',
      code: 'conversation_not_found',
    });
    expect(deployment.upstream.requests).toEqual([]);
  });

  it('is not made by a request that only names it', async () => {
    const id = newId();
    await ask({ body: { conversation_id: id } });

    expect((await settings(id)).status).toBe(404);
  });

  it('answers HEAD, and other methods with 405 and the ones that it takes', async () => {
    const id = newId();
    await set(id, { mode: 'none' });

    const head = await settings(id, { method: 'HEAD' });
    const posted = await settings(id, { method: 'POST', body: {} });
    const asked = await settings(id, { method: 'OPTIONS' });

    expect(statuses(head, posted, asked)).toEqual([200, 405, 405]);
    expect(posted.headers.get('allow')).toBe('GET, HEAD, PUT, PATCH, DELETE');
    expect(deployment.upstream.requests.filter(({ path }) => path.includes('conversations'))).toEqual([]);
  });

  it.each(['with spaces and ünïcödé', 'a/b', 'x'.repeat(256), '#hash', '100%', 'a:b:c'])(
    'takes an id like %j',
    async (id) => {
      await set(id, { mode: 'none' });

      expect((await settings(id)).status).toBe(200);
      expect(await ask({ body: { conversation_id: id } })).toEqual(['none', 'conversation']);
    },
  );

  it('refuses an id that is too long, by path, body and header', async () => {
    const id = 'x'.repeat(257);
    const messages = [{ role: 'user', content: 'Hello' }];
    const inPath = await settings(id);
    const inBody = await deployment.chat({ model: 'gpt-4.1-mini', messages, conversation_id: id });
    const inHeader = await deployment.chat({ model: 'gpt-4.1-mini', messages }, { 'x-conversation-id': id });

    expect(statuses(inPath, inBody, inHeader)).toEqual([400, 400, 400]);
    const params = await Promise.all(
      [inPath, inBody, inHeader].map(async (one) => (await errorOf(one)).param),
    );
    expect(params).toEqual(['id', 'conversation_id', 'x-conversation-id']);
  });

  it('needs a key of at least 20 characters, as every route about stored things does', async () => {
    const short = { authorization: 'Bearer nineteen-characters' };

    const responses = [
      await settings('any', { headers: short }),
      await set('any', { mode: 'none' }, { headers: short }),
      await settings('any', { method: 'DELETE', headers: short }),
    ];

    expect(statuses(...responses)).toEqual([401, 401, 401]);
    expect((await errorOf(responses[0] as Response)).code).toBe('invalid_api_key');
    expect(await ask({ body: { conversation_id: 'any' }, headers: short })).toEqual(['trim', 'default']);
  });
});

overProtocols('PATCH /v1/conversations/{id}/memory', deployment, () => {
  it('takes the strategy itself, with memory_injection beside its fields, and answers what is kept', async () => {
    const response = await set(newId(), {
      mode: 'trim',
      max_turns: 9,
      memory_injection: { max_tokens: 100 },
    });

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      memory_strategy: { mode: 'trim', max_turns: 9 },
      memory_injection: { max_tokens: 100 },
      health: 'healthy',
      conversation_memory: null,
      memories: [],
      stats: { avg_ms: null, max_ms: null, total_summaries: 0 },
      stuck: false,
    });
  });

  it('has the members of GET, and changes those that it names', async () => {
    const id = newId();
    const strategy = { mode: 'trim', max_turns: 9 };
    await set(id, { memory_strategy: strategy, memory_injection: true });

    const injection = await (await set(id, { memory_injection: false })).json();
    const nothing = await (await set(id, {})).json();
    const replaced = await (await set(id, { memory_strategy: { mode: 'compact' } })).json();
    const bare = await (await set(id, strategy)).json();
    const erased = await (await set(id, { memory_strategy: null, memory_injection: null })).json();

    expect(injection).toMatchObject({ memory_strategy: strategy, memory_injection: false });
    expect(nothing).toEqual(injection);
    expect(replaced).toMatchObject({ memory_strategy: { mode: 'compact' }, memory_injection: false });
    expect(replaced).toMatchObject({ memory_strategy: expect.not.objectContaining({ max_turns: 9 }) });
    expect(bare).toEqual(injection);
    expect(erased).toMatchObject({ memory_strategy: null, memory_injection: null });
    expect(await (await settings(id)).json()).toEqual(erased);
    expect(await ask({ body: { conversation_id: id } })).toEqual(['trim', 'default']);
  });

  it('makes nothing if it names nothing', async () => {
    const id = newId();

    expect((await set(id, {})).status).toBe(404);
    expect((await set(id, { memory_strategy: null })).status).toBe(200);
    expect((await settings(id)).status).toBe(404);
  });

  it.each<[string, object, string]>([
    ['a member that no caller sets', { memory_strategy: { mode: 'trim' }, health: 'healthy' }, 'health'],
    ['a field beside the strategy', { memory_strategy: { mode: 'trim' }, max_turns: 3 }, 'max_turns'],
    ['its own answer', { id: 'x', memory_injection: true }, 'id'],
  ])('refuses %s by its name', async (_, body, param) => {
    const response = await set(newId(), body);

    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_value', param });
  });

  it('is for the conversation of one user, whom a 404 names', async () => {
    const id = newId();
    const body = { memory_strategy: { mode: 'compact' } };
    const at = (query: string, method = 'GET', of = id) =>
      deployment.fetch(`/v1/conversations/${of}/memory${query}`, { method, body: null });
    await deployment.fetch(`/v1/conversations/${id}/memory?user=ann`, {
      method: 'PATCH',
      body: JSON.stringify(body),
    });

    expect(await ask({ body: { conversation_id: id, user: 'ann' } })).toEqual(['compact', 'conversation']);
    expect(await ask({ body: { conversation_id: id } })).toEqual(['trim', 'default']);
    expect(await (await at('?user=ann')).json()).toMatchObject(body);
    for (const method of ['GET', 'DELETE']) {
      // A request without a user has left its event under the first id.
      const unknown = await at('', method, method === 'GET' ? id : `${id}x`);
      expect((await errorOf(unknown)).message).toContain('as user or by the header x-memory-user');
      expect((await errorOf(await at('?user=bob', method))).message).toContain("the user 'bob'");
    }
    const messages = await deployment.fetch(`/v1/conversations/${id}x/messages?user=bob`);
    expect((await errorOf(messages)).message).toContain("the user 'bob'");
  });

  it.each<[string, unknown, RegExp]>([
    ['an unknown mode', { mode: 'sumarize' }, /mode/],
    ['no mode', { max_turns: 3 }, /mode/],
    ['an unknown field', { mode: 'trim', max_turn: 3 }, /max_turn/],
    ['a contradiction', { mode: 'trim', max_turns: 2, keep_last_n_turns: 3 }, /keep_last_n_turns/],
    ['a negative', { mode: 'rolling_summary', full_zone_turns: -1 }, /full_zone_turns/],
    ['an injection that is none', { mode: 'none', memory_injection: 'yes' }, /memory_injection/],
    ['an injection with a field too many', { memory_injection: { tokens: 3 } }, /memory_injection/],
  ])('refuses %s, naming the field, and keeps what was there', async (_, body, field) => {
    const id = newId();
    await set(id, { mode: 'trim', max_turns: 9 });

    const response = await set(id, body);

    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'invalid_memory_strategy' });
    expect(error.param).toMatch(field);
    expect(await (await settings(id)).json()).toMatchObject({
      memory_strategy: { mode: 'trim', max_turns: 9 },
    });
  });

  it('no longer has a strategy after one that names no mode', async () => {
    const id = newId();
    await set(id, { mode: 'trim', max_turns: 9 });

    const response = await set(id, { memory_strategy: { mode: null } });

    expect(await response.json()).toMatchObject({ memory_strategy: null });
    expect(await (await settings(id)).json()).toMatchObject({ memory_strategy: null });
  });

  it('refuses a summarizer_model that the deployment does not offer', async () => {
    const response = await set(newId(), { mode: 'rolling_summary', summarizer_model: 'gpt-9' });

    expect(response.status).toBe(400);
    expect((await errorOf(response)).param).toMatch(/summarizer_model/);
  });

  it.each(['', 'not json', '[]', 'null', '"trim"', '{"mode":"trim"'])('refuses the body %j', async (body) => {
    const response = await set(newId(), body);

    expect(response.status).toBe(400);
    expect((await errorOf(response)).code).toBe('invalid_json');
  });

  it('stores nothing for a key that the upstream refuses', async () => {
    const headers = { authorization: 'Bearer sk-invalid-key-that-was-invented' };
    const id = newId();

    const response = await set(id, { mode: 'none' }, { headers });

    expect(response.status).toBe(401);
    expect((await settings(id, { headers })).status).toBe(401);
  });
});

overProtocols('DELETE /v1/conversations/{id}/memory', deployment, () => {
  it('forgets summaries and settings', async () => {
    const id = newId();
    await set(id, ROLLING);
    const to = new Talk(deployment, { conversation_id: id });
    await to.rounds(1, 3);

    const deleted = await settings(id, { method: 'DELETE' });

    expect(deleted.status).toBe(200);
    expect(await deleted.json()).toMatchObject({ id, deleted: true });
    expect((await settings(id)).status).toBe(404);
    expect((await settings(id, { method: 'DELETE' })).status).toBe(404);
    const { response, view } = await to.ask(question(4), { memory_strategy: ROLLING });
    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(view).toEqual(to.messages.slice(0, -1));
    // The caller keeps its array, so the memory is made again.
    await to.remembered(1);
    expect(summarizer.prompts().at(-1)).toContain('Question 1:');
  });

  it('leaves none of its transcripts, nor what the user gets of it', async () => {
    const id = newId();
    const user = { headers: { 'x-memory-user': 'ann' } };
    const to = new Talk(deployment, { conversation_id: id, user: 'ann', memory_strategy: ROLLING });
    // Questions that no other test asks, since content that another conversation refers to stays.
    await to.rounds(301, 304, 303);
    const refs = (await to.memories()).map(({ ref }) => ref);
    const kept = () => Promise.all(refs.map((ref) => deployment.fetch(`/v1/refs/${ref}`)));
    const described = async () => {
      const more = { conversation_id: newId(), user: 'ann', memory_injection: true };
      await deployment.chat({
        model: 'gpt-4.1-mini',
        ...more,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      return JSON.stringify(deployment.lastChat().body.messages).includes('Cross-session memory');
    };
    await until('the transcripts are kept', async () => (await kept()).every(({ ok }) => ok));
    await until('the user is shown it', described);

    const deleted = await settings(id, { method: 'DELETE', ...user });

    expect(deleted.status).toBe(200);
    expect(refs).toHaveLength(2);
    expect(statuses(...(await kept()))).toEqual([404, 404]);
    expect(await described()).toBe(false);
    expect((await settings(id, { method: 'DELETE', ...user })).status).toBe(404);
  });
});
