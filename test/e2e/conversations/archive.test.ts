import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { DEFAULT_ANSWER } from '../../../tools/upstream/behaviours.ts';
import { assistant, calls, system, user } from '../../support/conversations/chat.ts';
import { callTool } from '../../support/deployment/call-tool.ts';
import { settingsOf } from '../../support/deployment/conversation-settings.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';

type Params = OpenAI.Chat.ChatCompletionMessageParam;

const deployment = deploy();
const memory = settingsOf(deployment);
const ANSWER = assistant(DEFAULT_ANSWER.content);
const strategy = { mode: 'compact', archive: true };

interface Page {
  data: {
    object: string;
    position: number;
    created_at: number;
    message: { content: unknown };
    snippet?: string;
  }[];
  has_more: boolean;
  cursor: string | null;
}

let named = 0;

function conversation() {
  const id = `an archived / conversation ${++named}`;
  const path = `/v1/conversations/${encodeURIComponent(id)}/messages`;
  const get = (query: Record<string, string> = {}, init: RequestInit = {}) =>
    deployment.fetch(`${path}?${new URLSearchParams(query)}`, init);
  const page = async (query: Record<string, string> = {}): Promise<Page> => (await get(query)).json();
  const messages = async () => ((await page()).data ?? []).map(({ message }) => message);
  /** The archive is written after the answer was sent. */
  const archived = async (count: number) => {
    await until(`${count} messages are archived`, async () => (await messages()).length === count);
    return messages();
  };
  const fields = { model: 'gpt-4.1-mini', conversation_id: id, memory_strategy: strategy };
  const ask = async (sent: object[], stream: boolean): Promise<string> => {
    const client = deployment.client();
    const body = { ...fields, messages: sent as Params[] };
    if (!stream) return (await client.chat.completions.create(body)).choices[0]?.message.content ?? '';
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    return text;
  };
  return { id, path, fields, get, page, messages, archived, ask };
}

inBothForms('a conversation with an archive', (stream) => {
  it('is kept as it was sent and answered, each message once', async () => {
    const { ask, archived } = conversation();
    const first = [system('Be brief.'), user('One')];

    const answer = await ask(first, stream);
    const between = await archived(3);
    const returned = { ...ANSWER, refusal: null };
    await ask([...first, returned, user('Two')], stream);

    expect(answer).toBe(DEFAULT_ANSWER.content);
    expect(between).toEqual([...first, ANSWER]);
    expect(await archived(5)).toEqual([...first, returned, user('Two'), ANSWER]);
  });

  it('keeps the calls of an answer when they come back with their results', async () => {
    const { ask, archived } = conversation();
    const call = { id: 'call_1', name: 'look', arguments: '{"at":"the harbour"}' };
    deployment.upstream.next({ type: 'answer', toolCalls: [call] });

    await ask([user('One')], stream);
    await archived(1);
    const talk = [user('One'), calls(['call_1', 'look', call.arguments])];
    const result = { role: 'tool', tool_call_id: 'call_1', content: 'A ship' };
    await ask([...talk, result], stream);

    expect(await archived(4)).toEqual([...talk, result, ANSWER]);
  });

  it('is searched', async () => {
    const { ask, archived, page } = conversation();
    await ask([user('Where is the white whale?'), ANSWER, user('And the ship?')], stream);
    await archived(4);

    const { data } = await page({ q: 'WHALE' });

    expect(data).toEqual([
      {
        object: 'conversation.message',
        position: 0,
        created_at: expect.any(Number),
        message: user('Where is the white whale?'),
        snippet: 'Where is the white whale?',
      },
    ]);
  });
});

describe('a search for a word that a message repeats', () => {
  const words = `needle ${'z '.repeat(120_000)}`;

  it.each([
    ['once', 'z'],
    ['120 times', 'z '.repeat(120).trim()],
    ['in longer and longer runs', Array.from({ length: 14 }, (_, at) => `z${'/Z'.repeat(at)}`).join(' ')],
  ])('finds it, where the query has it %s', async (_, q) => {
    const { id, ask, archived, page } = conversation();
    await ask([user(words), user('Another message')], false);
    await archived(3);

    expect(await page({ q })).toMatchObject({
      data: [{ position: 0, message: user(words), snippet: `needle ${'z '.repeat(30)}z…` }],
      has_more: false,
    });
    const response = await callTool(deployment, 'search_memory', { query: q, conversation_id: id });
    expect(await response.text()).toContain('[0 user] needle z z z');
  });
});

describe('the turns of an archived conversation', () => {
  it.each(['messages', 'input'])('have the times of their questions, in %s', async (field) => {
    const { ask, fields, archived, page } = conversation();
    const asked = [user('One'), ANSWER, user('Two')];
    await ask(asked, false);
    await archived(4);
    const turnsOf = async (more: object) => {
      const body = JSON.stringify({ ...fields, [field]: asked, format: 'conversation_memory', ...more });
      const response = await deployment.fetch('/v1/compact', { method: 'POST', body });
      return ((await response.json()) as { recent_turns: { ts?: number }[] }).recent_turns;
    };

    const times = (await page()).data.map(({ created_at }) => created_at);
    const [first, second] = (await turnsOf({})).map(({ ts }) => ts);
    expect(first).toBe(times[0]);
    // The request came before its messages were archived, as its event says.
    expect(second).toBeLessThanOrEqual(times[2] ?? 0);
    const unknown = await turnsOf({ conversation_id: `no archive of ${field}` });
    expect(unknown.map(({ ts }) => ts)).toEqual([undefined, undefined]);
    const off = await turnsOf({ memory_strategy: { mode: 'compact' } });
    expect(off.map(({ ts }) => ts)).toEqual([undefined, second]);
  });
});

describe('the archive of a stream', () => {
  it.each(['die-mid-stream', 'end-without-done'] as const)(
    'has the question, and no half of an answer, after %s',
    async (type) => {
      const { fields, archived } = conversation();
      deployment.upstream.next({ type });
      const response = await deployment.chat({ ...fields, stream: true, messages: [user('One')] });
      expect(await response.text()).toContain('"error"');

      expect(await archived(1)).toEqual([user('One')]);
    },
  );

  it('has the question when its client leaves', async () => {
    const { fields, archived } = conversation();
    deployment.upstream.next({ type: 'slow-stream', chunks: 1_000, intervalMs: 20 });
    const response = await deployment.chat({ ...fields, stream: true, messages: [user('One')] });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();

    expect(await archived(1)).toEqual([user('One')]);
  });
});

describe('GET /v1/conversations/{id}/messages', () => {
  it('goes through the archive in pages', async () => {
    const { ask, archived, page } = conversation();
    const talk = [user('One'), ANSWER, user('Two')];
    await ask(talk, false);
    await archived(4);

    const first = await page({ limit: '3' });
    const second = await page({ limit: '3', cursor: first.cursor ?? '' });

    expect([first.has_more, second.has_more, second.cursor]).toEqual([true, false, null]);
    expect([first, second].map(({ data }) => data.map(({ message }) => message))).toEqual([talk, [ANSWER]]);
  });

  it.each<[Record<string, string>, string]>([
    [{ limit: '0' }, 'limit'],
    [{ limit: '101' }, 'limit'],
    [{ limit: 'all' }, 'limit'],
    [{ cursor: '-1' }, 'cursor'],
    [{ cursor: '' }, 'cursor'],
    [{ cursor: '1-1' }, 'cursor'],
    [{ q: 'One', cursor: '1' }, 'cursor'],
    [{ q: 'One', cursor: '1-' }, 'cursor'],
    [{ q: 'One', cursor: '1-1-1' }, 'cursor'],
    [{ q: '' }, 'q'],
    [{ q: '  ' }, 'q'],
    [{ q: 'x'.repeat(257) }, 'q'],
    [{ user: 'x'.repeat(257) }, 'x-memory-user'],
  ])('refuses %j', async (query, param) => {
    const response = await conversation().get(query);

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code: 'invalid_value' },
    });
  });

  it('knows no conversation of which nothing is kept, and none of another key', async () => {
    const { ask, archived, get } = conversation();
    const before = await get();
    await ask([user('One')], false);
    await archived(2);
    const authorization = 'Bearer sk-another-key-of-the-end-to-end-tests';
    const others = await get({}, { headers: { authorization } });

    for (const response of [before, others]) {
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'conversation_not_found', param: 'id' } });
    }
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('does not take %s', async (method) => {
    const response = await conversation().get({}, { method });

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it('has nothing left of a conversation that was deleted', async () => {
    const { id, ask, archived, get } = conversation();
    await ask([user('One')], false);
    await archived(2);

    expect((await memory(id, { method: 'DELETE' })).status).toBe(200);
    expect((await get()).status).toBe(404);
    expect((await get({ q: 'One' })).status).toBe(404);
  });

  it('belongs to a conversation whose settings ask for it', async () => {
    const { id, fields, archived } = conversation();
    await memory(id, { method: 'PATCH', body: strategy });
    const { memory_strategy: _, ...unset } = fields;
    await deployment.chat({ ...unset, messages: [user('One')] });

    expect(await archived(2)).toEqual([user('One'), ANSWER]);
  });
});
