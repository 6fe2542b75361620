import { beforeAll, expect, it } from 'vitest';
import { system, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { startRollingSummarizer, Talk } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
const deployment = deploy({ vars: summarizer.vars });

type Message = Record<string, unknown>;
const messages: Message[] = [system('You help.'), user('Hello')];

let conversations = 0;

/** The first request of a conversation, by a user who has memory. */
async function ask(fields: object = {}, headers: Record<string, string> = {}) {
  const named = { user: 'ann', conversation_id: `later ${++conversations}` };
  const response = await deployment.chat({ model: 'gpt-4.1-mini', ...named, messages, ...fields }, headers);
  if (response.status !== 200) throw new Error(await response.text());
  const view: Message[] = deployment.lastChat().body.messages;
  return { response, view, isShown: view.some(({ content }) => String(content).startsWith('Cross-session')) };
}

/** Makes a memory for the user. */
async function remember(): Promise<void> {
  const memory_strategy = { mode: 'rolling_summary', full_zone_turns: 0 };
  await new Talk(deployment, { conversation_id: 'earlier', user: 'ann', memory_strategy }).rounds(1, 3);
  await until('the user is shown it', async () => (await ask({ memory_injection: true })).isShown);
}

overProtocols('the header x-memory-injection', deployment, () => {
  beforeAll(remember);
  it.each(['on', 'true', 'On', ' TRUE '])('puts it in as %j', async (header) => {
    const { isShown } = await ask({}, { 'x-memory-injection': header });

    expect(isShown).toBe(true);
  });

  it.each(['off', 'false', 'Off', ' FALSE '])(
    'leaves it out as %j, where the agent would have it',
    async (header) => {
      const { isShown, view } = await ask({ agent_type: 'support' }, { 'x-memory-injection': header });

      expect(isShown).toBe(false);
      expect(view).toEqual(messages);
    },
  );

  it('says nothing when it is empty', async () => {
    const { isShown } = await ask({ agent_type: 'support' }, { 'x-memory-injection': '' });

    expect(isShown).toBe(true);
  });

  it('goes before what the conversation is set to', async () => {
    await deployment.fetch('/v1/conversations/silent/memory', {
      method: 'PATCH',
      headers: { 'x-memory-user': 'ann' },
      body: '{"memory_injection":false}',
    });
    const named = { conversation_id: 'silent' };

    expect((await ask(named)).isShown).toBe(false);
    expect((await ask(named, { 'x-memory-injection': 'on' })).isShown).toBe(true);
  });
});

overProtocols('memory blocks beside cross-session memory', deployment, () => {
  beforeAll(remember);

  it('precede it, both after the preamble', async () => {
    const { view } = await ask({ memory_injection: true, memory_blocks: ['team'] });

    expect(view.map(({ content }) => String(content).split(':')[0])).toEqual([
      'You help.',
      'Memory blocks',
      'Cross-session memory',
      'Hello',
    ]);
  });

  it('are left out of an array of too many messages, with the same warning', async () => {
    const many = Array.from({ length: 20_001 }, () => user('Hello'));
    const memory_blocks = { labels: ['team'], writable: true };

    const { response, view } = await ask({ memory_blocks, messages: many });

    expect(response.headers.get('x-memory-warning')).toBe('too_many_messages');
    expect(view).toEqual(many);
    expect(deployment.lastChat().body).not.toHaveProperty('tools');
  });
});

overProtocols('an array of too many messages', deployment, () => {
  const many = Array.from({ length: 20_001 }, () => user('Hello'));

  it.each([
    ['compact', 'too_many_messages'],
    ['summarize', 'too_many_messages'],
    ['rolling_summary', 'too_many_messages'],
    ['none', 'too_many_messages'],
  ])('is sent unchanged with memory_injection too, in mode %s', async (memory_strategy, warning) => {
    const { response, view } = await ask({ memory_strategy, memory_injection: true, messages: many });

    expect(response.headers.get('x-memory-warning')).toBe(warning);
    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(view).toEqual(many);
  });
});
