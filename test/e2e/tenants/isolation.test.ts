import { describe, expect, it } from 'vitest';
import { agents } from '../../../src/agents.ts';
import { assistant, calls, result, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const TRIM = { mode: 'trim', max_turns: 1, keep_last_n_turns: 1 };
const messages = [user('One'), assistant('Yes'), user('Two')];

const explicit = deploy({
  vars: {
    DEFAULT_MEMORY_STRATEGY: JSON.stringify(TRIM),
    ISOLATION: JSON.stringify({
      user_key: 'metadata.user_id',
      session_key: 'metadata.session.id',
      require_explicit_key: true,
    }),
  },
});
const invalid = deploy({ vars: { ISOLATION: '{"user_key":"a..b"}' } });
const deployment = deploy({ vars: summarizer.vars });

overProtocols('a deployment that says where user and conversation are', explicit, (protocol) => {
  // OpenAI's metadata may only have strings; other upstreams accept any value.
  const metadata = (user_id?: string, id?: string) => ({ metadata: { user_id, session: { id } } });
  const ask = (fields: object, headers = {}) =>
    explicit.chat({ model: 'gpt-4.1-mini', messages, ...fields }, headers);
  const modeOf = ({ headers }: Response) =>
    ['mode', 'source', 'applied', 'warning'].map((name) => headers.get(`x-memory-${name}`));

  it('has memory for a call that names both', async () => {
    const response = await ask(metadata('ann', 'c1'));

    expect(modeOf(response)).toEqual(['trim', 'default', 'trim', null]);
    expect(explicit.lastChat().body).toMatchObject(metadata('ann', 'c1'));
  });

  it.each<[string, object, string]>([
    ['no conversation', metadata('ann'), 'no_conversation'],
    ['no user', metadata(undefined, 'c1'), 'no_user'],
    ['neither', {}, 'no_conversation,no_user'],
    ['values that are no names', { metadata: { user_id: {}, session: 'x' } }, 'no_conversation,no_user'],
  ])('has none for a call that names %s: the body is sent unchanged', async (_, fields, warning) => {
    const body = `{"model": "gpt-4.1-mini",  "messages":${JSON.stringify(messages)},"temperature":1.00${
      Object.keys(fields).length > 0 ? `,${JSON.stringify(fields).slice(1, -1)}` : ''
    }}`;

    const response = await explicit.chat(body);

    expect(modeOf(response)).toEqual(['trim', 'default', 'none', warning]);
    expect(explicit.lastChat().rawBody.toString()).toBe(protocol.text(body));
  });

  it('still takes the usual places of a conversation, but no other one for a user', async () => {
    const named = await ask({ conversation_id: 'c2', ...metadata('ann') });
    expect(modeOf(named)).toEqual(['trim', 'default', 'trim', null]);

    const unnamed = await ask({ conversation_id: 'c2', user: 'ann' });
    expect(modeOf(unnamed)).toEqual(['trim', 'default', 'none', 'no_user']);
  });

  it('F9: binds a compaction to the user and the conversation that are there', async () => {
    const compacted = await explicit.postTo('/v1/compact', {
      model: 'gpt-4.1-mini',
      memory_strategy: 'trim',
      format: 'opaque',
      ...metadata('ann', 'c1'),
      messages,
    });
    const sealed = (await compacted.json()) as { messages: object[] };
    const statusFor = async (...named: Parameters<typeof metadata>) =>
      (await ask({ memory_strategy: 'none', ...metadata(...named), messages: sealed.messages })).status;

    expect(await statusFor('ann', 'c1')).toBe(200);
    expect(JSON.stringify(explicit.lastChat().body)).not.toContain('precis1_');
    expect(await statusFor('bob', 'c1')).toBe(400);
    expect(await statusFor('ann', 'c2')).toBe(400);
    expect(await statusFor()).toBe(400);
  });

  it('takes its own places first', async () => {
    const named = { 'x-memory-user': 'ann' };
    const patched = await explicit.fetch('/v1/conversations/c3/memory', {
      method: 'PATCH',
      headers: named,
      body: '{"mode":"none"}',
    });

    const response = await ask({ ...metadata('ann', 'c3'), user: 'bob', conversation_id: 'c4' });

    expect(patched.status).toBe(200);
    expect(modeOf(response)).toEqual(['none', 'conversation', 'none', null]);
  });

  it.each<[string, string, string]>([
    ['a user of over 256 characters', `{"user_id":"${'u'.repeat(257)}"}`, 'metadata.user_id'],
    [
      'a conversation of over 256 characters',
      `{"session":{"id":"${'c'.repeat(257)}"}}`,
      'metadata.session.id',
    ],
    ['a user by a number that JSON cannot hold', '{"user_id":12345678901234567001}', 'metadata.user_id'],
    ['a conversation by a fraction', '{"session":{"id":0.5}}', 'metadata.session.id'],
  ])('refuses %s, naming the place', async (_, named, param) => {
    const before = explicit.chats().length;

    const response = await explicit.chat(
      `{"model":"gpt-4.1-mini","metadata":${named},"messages":${JSON.stringify(messages)}}`,
    );

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
    expect(explicit.chats()).toHaveLength(before);
  });

  it('takes a whole number for its digits', async () => {
    const patched = await explicit.fetch('/v1/conversations/4711/memory', {
      method: 'PATCH',
      headers: { 'x-memory-user': '12' },
      body: '{"mode":"none"}',
    });

    const response = await ask({ metadata: { user_id: 12, session: { id: 4711 } } });

    expect(patched.status).toBe(200);
    expect(modeOf(response).slice(0, 2)).toEqual(['none', 'conversation']);
  });
});

overProtocols('a deployment whose ISOLATION is not valid', invalid, () => {
  it('says so on every request', async () => {
    const response = await invalid.chat({ model: 'gpt-4.1-mini', messages });

    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { code: 'misconfigured', message: expect.stringContaining('ISOLATION') },
    });
  });
});

describe.each(ofTurn(1, PROTOCOLS))('an agent of src/agents.ts, over $name', (protocol) => {
  deployment.over(protocol);
  /** Selects an agent by its base URL alone. */
  function talkTo(agent: string, fields: object = {}, headers = {}): Talk {
    return new Talk(deployment, { agent_type: agent, ...fields }, headers);
  }

  it('named chat rolls: its last ten rounds stay, and the ten before them are remembered', async () => {
    const to = talkTo('chat', { conversation_id: 'agent-chat' });
    await to.rounds(1, 12, 99);
    await to.remembered(1);

    const { response, memory, view } = await to.ask(question(13));

    expect(response.headers.get('x-memory-mode')).toBe('rolling_summary');
    expect(response.headers.get('x-memory-source')).toBe('agent');
    expect(memory.summary?.covers[0]).toBe(1);
    expect(view.at(-1)).toEqual(to.messages.at(-2));
    // `total_max_tokens` leaves only some of the ten rounds.
    expect(memory.tokens?.after).toBeLessThanOrEqual(memory.tokens?.budget ?? 0);
    await to.remembered(2);
  });

  it('named support summarizes all but the last four turns once there are sixteen', async () => {
    const to = talkTo('support', { conversation_id: 'agent-support', user: 'ann' });
    const before = await to.rounds(1, 15, 99);

    const { response, memory, view } = await to.ask(question(16));

    expect(before.map(({ response: { headers } }) => headers.get('x-memory-applied'))).toEqual(
      Array(15).fill('none'),
    );
    expect(response.headers.get('x-memory-applied')).toBe('summarize');
    expect(response.headers.get('x-memory-trigger')).toBe('turns');
    expect(memory.summary).toMatchObject({ covers: [1, 24], status: 'completed' });
    expect(view.slice(3)).toEqual(to.messages.slice(25, -1));
    expect(summarizer.prompts().at(-1)).toContain('Order and ticket numbers');
  });

  it("named support says what the customer's earlier cases came to", async () => {
    const to = talkTo('support', { conversation_id: 'agent-support-2', user: 'ann' });

    const { view, memory } = await to.ask('Hello again.');

    expect(view[1]?.content).toContain('Cross-session memory');
    expect(memory.injection?.tokens).toBeLessThanOrEqual(400);
  });

  it('named coding compacts old outputs at its token budget', async () => {
    const output = (n: number) => Array.from({ length: 450 }, (_, at) => `${n} line ${at * 7919}`).join('\n');
    const steps = Array.from({ length: 26 }, (_, n) => [
      calls([`call_${n}`, 'read', `{"n":${n}}`]),
      result(`call_${n}`, output(n)),
    ]).flat();
    const to = talkTo('coding');

    const { response, view } = await to.send([user('Fix it.'), ...steps]);

    expect(response.headers.get('x-memory-applied')).toBe('compact');
    expect(response.headers.get('x-memory-trigger')).toBe('token_budget');
    expect(view[3]?.content).toMatch(/^⟦removed: tool output for read \(call_id=call_0\)/);
    expect(view.slice(-20)).toEqual(to.messages.slice(-20));
  });

  it('is one of the three that are described', () => {
    expect(agents.map(({ key }) => key)).toEqual(['coding', 'chat', 'support']);
  });
});
