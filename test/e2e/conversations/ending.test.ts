import { beforeEach, describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { question, startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
const deployment = deploy({ vars: summarizer.vars });
beforeEach(() => summarizer.work());

const OTHER_KEY = 'sk-the-key-of-another-test-caller';

let users = 0;
const newUser = () => `user-${++users}`;

type Message = Record<string, unknown>;
const hello: Message[] = [
  { role: 'system', content: 'You help.' },
  { role: 'user', content: 'My order 4711 has not come.' },
  { role: 'assistant', content: 'It was sent on Monday.' },
];

/** The block that a new conversation of a user is given; empty if there is none. */
async function blockOf(user: string, headers: Record<string, string> = {}): Promise<string> {
  const named = { user, conversation_id: `new ${Math.random()}`, memory_injection: true };
  const messages = [{ role: 'user', content: 'Hello' }];
  await deployment.chat({ model: 'gpt-4.1-mini', ...named, messages }, headers);
  const view: Message[] = deployment.lastChat().body.messages;
  const block = view.find(({ content }) => String(content).startsWith('Cross-session memory'));
  return String(block?.content ?? '');
}

overProtocols('POST /v1/conversations/{id}/end', deployment, (protocol) => {
  async function end(id: string, messages: readonly Message[], more: Message = {}, query = '', headers = {}) {
    const response = await deployment.fetch(`/v1/conversations/${encodeURIComponent(id)}/end${query}`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4.1-mini', [protocol.field]: protocol.elements(messages), ...more }),
      headers,
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
    return { status: response.status, closed: (await response.json()) as any };
  }

  it('summarizes a short session, and publishes it to the next one', async () => {
    const user = newUser();
    summarizer.say('The order 4711 was sent on Monday.');

    const { status, closed } = await end('short', hello, { user });

    expect(status).toBe(200);
    expect(closed).toEqual({
      id: 'short',
      object: 'memory.conversation.ended',
      summary: {
        text: expect.stringContaining('The order 4711 was sent on Monday.'),
        covers: [1, 2],
        prefix_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        status: 'completed',
        memory_id: 1,
        base_memory_id: null,
        usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, cost: 18_000 },
      },
      published: true,
      warnings: [],
    });
    const block = await blockOf(user);
    expect(block).toContain('## User Intent\nThe order 4711 was sent on Monday.\n</cross_session_memory>');
    expect(block).not.toContain('(none)');
  });

  it('is found by the user of the query too, and by ids in any script', async () => {
    const user = `änne ${newUser()}`;

    const { closed } = await end('ünïcödé', hello, {}, `?user=${encodeURIComponent(user)}`);

    expect(closed).toMatchObject({ published: true, warnings: [] });
    expect(await blockOf(user)).toContain('This is summary number');
  });

  it('makes a summary once, and publishes it again', async () => {
    const user = newUser();
    const first = await end('twice', hello, { user });
    const calls = summarizer.requests.length;

    const second = await end('twice', hello, { user });

    expect(summarizer.requests).toHaveLength(calls);
    expect(second.closed.summary.text).toBe(first.closed.summary.text);
    expect(second.closed.summary.usage.total_tokens).toBe(0);
  });

  it('continues the summary of an earlier end', async () => {
    const user = newUser();
    const first = await end('goes on', hello, { user });
    const longer = [...hello, { role: 'user', content: 'Thanks.' }, { role: 'assistant', content: 'Bye.' }];

    const { closed } = await end('goes on', longer, { user });

    expect(closed.summary).toMatchObject({ covers: [1, 4], base_memory_id: first.closed.summary.memory_id });
    expect(summarizer.prompts().at(-1)).not.toContain('4711 has not come');
    expect(summarizer.prompts().at(-1)).toContain('Thanks.');
  });

  it('shows its summary in no view, since a view needs a shorter one', async () => {
    const user = newUser();
    const memory_strategy = {
      mode: 'summarize',
      context_limit: 2,
      keep_last_n_turns: 1,
      keep_first_user: false,
    };
    const asked = [{ role: 'user', content: question(1) }, hello[2] ?? {}];
    summarizer.say('Said at the end.');
    await end('viewed', asked, { user, memory_strategy });
    summarizer.say('Said for the view.');

    const named = { user, conversation_id: 'viewed', memory_strategy };
    const messages = [...asked, { role: 'user', content: question(2) }];
    await deployment.chat({ model: 'gpt-4.1-mini', ...named, messages });

    const view = JSON.stringify(deployment.lastChat().body.messages);
    expect(view).toContain('Said for the view.');
    expect(view).not.toContain('Said at the end.');
  });

  it('says when the summarizer fails, and publishes nothing', async () => {
    const user = newUser();
    summarizer.fail(400);

    const { status, closed } = await end('failing', hello, { user });

    expect(status).toBe(200);
    expect(closed).toMatchObject({ summary: null, published: false, warnings: ['summary_degraded'] });
    expect(await blockOf(user)).toBe('');
  });

  it('makes the summary without a user, and says that nobody is given it', async () => {
    const { status, closed } = await end(`nobody's ${protocol.name}`, hello);

    expect(status).toBe(200);
    expect(closed).toMatchObject({
      summary: { status: 'completed' },
      published: false,
      warnings: ['no_user'],
    });
  });

  it('is of one key alone', async () => {
    const user = newUser();
    await end('private', hello, { user });

    expect(await blockOf(user, { authorization: `Bearer ${OTHER_KEY}` })).toBe('');
  });

  it.each<[string, Message, string, string]>([
    ['no conversation', { [protocol.field]: undefined }, '', 'invalid_messages'],
    ['both arrays', { messages: hello, input: 'Hello' }, '', 'invalid_messages'],
    ['another conversation', { conversation_id: 'another' }, '', 'invalid_value'],
    ['another user', { user: 'ann' }, '?user=bob', 'invalid_value'],
    ['a bad strategy', { memory_strategy: 'nothing' }, '', 'invalid_memory_strategy'],
    ['a bad injection', { memory_injection: { publish: 'now' } }, '', 'invalid_memory_strategy'],
  ])('is refused with %s', async (_, more, query, code) => {
    const { status, closed } = await end('refused', hello, more, query);

    expect(status).toBe(400);
    expect(closed.error.code).toBe(code);
  });

  it('is refused with a key that stores nothing', async () => {
    const short = { authorization: 'Bearer nineteen-characters' };

    expect((await end('short key', hello, {}, '', short)).status).toBe(401);
  });

  it.each(['{}', '{"messages": null}'])('says that %s has neither messages nor input', async (body) => {
    const response = await deployment.fetch('/v1/conversations/nothing/end', { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'invalid_messages',
        param: 'messages',
        message: expect.stringContaining('The body has neither messages nor input'),
      },
    });
  });

  it.each<[what: string, messages: Message[]]>([
    ['instructions alone', hello.slice(0, 1)],
    ['an empty question', [{ role: 'user', content: '' }]],
    ['a blank one behind instructions', [...hello.slice(0, 1), { role: 'user', content: ' \n' }]],
  ])('is refused with %s, and stores nothing', async (_, messages) => {
    const { status, closed } = await end('instructed', messages, { user: newUser() });

    expect(status).toBe(400);
    expect(closed.error).toMatchObject({ code: 'invalid_messages', param: protocol.field });
    const stored = await deployment.fetch('/v1/conversations/instructed/memory');
    expect(stored.status).toBe(404);
  });

  it('takes POST alone', async () => {
    const response = await deployment.fetch('/v1/conversations/any/end');

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });
});

describe.each(['compact', 'explain', 'verify', 'conversations/empty/end'])('POST /v1/%s', (route) => {
  it.each([
    ['{"input": []}', 'input'],
    ['{"input": [ ], "instructions": "You help."}', 'input'],
    ['{"input": ""}', 'input'],
    ['{"messages": []}', 'messages'],
    ['{}', 'messages'],
  ])('refuses %s, and names the field', async (body, param) => {
    const response = await deployment.fetch(`/v1/${route}`, { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_messages', param } });
  });
});

overProtocols('memory_injection.publish', deployment, (protocol) => {
  /** A user's conversation of some rounds. */
  async function talk(user: string, id: string, fields: Message, rounds = 2) {
    const to = new Talk(deployment, { conversation_id: id, user, ...fields });
    for (let n = 1; n <= rounds; n++) await to.ask(question(n));
    return to;
  }

  it.each([
    ['', {}],
    [' of a stream', { stream: true }],
    [' in a mode with summaries of its own', { memory_strategy: 'rolling_summary' }],
  ])('each_round: publishes after each answered round%s', async (_, fields) => {
    const user = newUser();
    summarizer.say('After the first round.');
    const to = await talk(user, 'each', { memory_injection: { publish: 'each_round' }, ...fields }, 1);
    await until('the first round is published', async () =>
      (await blockOf(user)).includes('After the first'),
    );
    summarizer.say('After the second round.');

    await to.ask(question(2));

    await until('the second round is published', async () =>
      (await blockOf(user)).includes('After the second'),
    );
    const prompt = summarizer.prompts().at(-1) ?? '';
    expect(prompt).toContain('After the first round.');
    expect(prompt).toContain('Question 2:');
    expect(prompt).not.toContain('The 3th line of question 1 weighs');
  });

  it('each_round: the agent support does so', async () => {
    const user = newUser();
    await talk(user, 'case', { agent_type: 'support' }, 1);

    await until('the case is published', async () =>
      (await blockOf(user)).includes('This is summary number'),
    );
  });

  it('each_round: waits for the end of a round', async () => {
    const user = newUser();
    const calls = summarizer.requests.length;
    const search = { id: 'call_1', name: 'search', arguments: '{}' };
    deployment.upstream.next({ type: 'answer', toolCalls: [search] });
    const to = new Talk(deployment, {
      conversation_id: 'open',
      user,
      memory_injection: { publish: 'each_round' },
    });
    await to.send([{ role: 'user', content: 'Search.' }]);

    expect(await blockOf(user)).toBe('');
    expect(summarizer.requests).toHaveLength(calls);
  });

  it('on_end: publishes at the end alone', async () => {
    const user = newUser();
    const memory_strategy = { mode: 'rolling_summary', full_zone_turns: 0 };
    const to = await talk(user, 'ended', { memory_strategy, memory_injection: { publish: 'on_end' } }, 3);
    await to.remembered(1);
    expect(await blockOf(user)).toBe('');

    await deployment.postTo('/v1/conversations/ended/end', {
      model: 'gpt-4.1-mini',
      user,
      [protocol.field]: protocol.elements(to.messages),
    });

    expect(await blockOf(user)).toContain('This is summary number');
  });

  it('on_move, the default: a session below its trigger publishes nothing', async () => {
    const user = newUser();
    const calls = summarizer.requests.length;
    await talk(user, 'short', { memory_strategy: 'summarize', memory_injection: true });

    expect(await blockOf(user)).toBe('');
    expect(summarizer.requests).toHaveLength(calls);
  });
});
