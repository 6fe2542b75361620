/**
 * Calls that wait for their results, and results that the model has not seen, through compactions
 * and in every mode.
 */
import { describe, expect, it } from 'vitest';
import { asResponses } from '../../../tools/upstream/items.ts';
import { assistant, calls, step, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { type Message, question, turn } from '../../support/deployment/summarizer.ts';

// Results that do not follow their calls are refused by some upstreams, and are ordinary where
// tools are asynchronous.
const deployment = deploy({ summarizer: true, upstream: { strict: false } });

type Json = Record<string, unknown>;

const conversation = (topic: string, turns: number): Message[] =>
  Array.from({ length: turns }, (_, at) => turn(topic, at + 1)).flat();

function itemsOf(messages: Message[]): Json[] {
  const body = new TextEncoder().encode(JSON.stringify({ messages }));
  return JSON.parse(new TextDecoder().decode(asResponses(body))).input;
}

async function post(path: string, body: object): Promise<{ status: number; body: Json }> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const response = await deployment.fetch(path, { ...init, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Json };
}

const compact = async (input: Json[]): Promise<Json[]> =>
  (await post('/v1/responses/compact', { model: 'gpt-5', input })).body.output as Json[];

async function respond(input: Json[], more: object = {}): Promise<Json[]> {
  const { status } = await post('/v1/responses', { model: 'gpt-5', input, ...more });
  expect(status).toBe(200);
  return deployment.upstream.requests.findLast(({ path }) => path.endsWith('/responses'))?.body.input;
}

const thought = (of: number): Json => ({
  type: 'reasoning',
  id: `rs_${of}`,
  summary: [],
  encrypted_content: `gAAAA${of}`,
});
const call = (of: number, more: object = {}): Json => ({
  type: 'function_call',
  id: `fc_${of}`,
  call_id: `call_${of}`,
  name: 'search',
  arguments: '{}',
  ...more,
});
const output = (of: number): Json => ({
  type: 'function_call_output',
  call_id: `call_${of}`,
  output: `out ${of}`,
});

describe('a compaction', () => {
  it('F18: keeps all calls that wait, each with its reasoning', async () => {
    const open = [thought(1), call(1), thought(2), call(2)];
    const compacted = await compact([...itemsOf([...conversation('figs', 4), question('figs', 5)]), ...open]);

    const sent = await respond([...compacted, output(1), output(2)]);

    expect(sent.slice(-6)).toEqual([...open, output(1), output(2)]);
  });

  it('F18: keeps an asynchronous call that the model has long gone on from', async () => {
    const slow = [thought(1), call(1, { async: true })];
    const later = itemsOf(conversation('pears', 4));
    const compacted = await compact([user('Begin.'), ...slow, ...later]);

    const sent = await respond([...compacted, user('And?'), output(1)]);

    expect(sent.slice(-4)).toEqual([...slow, user('And?'), output(1)]);
    expect(sent.filter(({ content }) => String(content).includes('<session_summary'))).toHaveLength(1);
    expect(sent.length).toBeLessThan(later.length + 5);
  });

  it('F18: keeps a call of which one result is there and another is not', async () => {
    const half = [thought(1), call(1), call(2), output(1)];
    const later = itemsOf(conversation('plums', 4));

    const sent = await respond([...(await compact([user('Go.'), ...half, ...later])), output(2)]);

    expect(sent.slice(-5)).toEqual([...half, output(2)]);
  });

  it.each([
    ['without an id', { type: 'function_call_output', output: 'The scale is broken.' }],
    ['of a call that is not there', { type: 'function_call_output', call_id: 'call_9', output: 'Broken.' }],
  ])('F26: keeps a result %s that the model has not seen', async (_, result) => {
    const compacted = await compact([...itemsOf(conversation('limes', 4)), result]);
    expect((await respond(compacted)).at(-1)).toEqual(result);
  });

  it.each(['trim', 'summarize', 'auto'])('F26: likewise the view of mode %s', async (mode) => {
    const result = { type: 'function_call_output', output: 'The scale is broken.' };
    const input = [...itemsOf(conversation('dates', 6)), result, user('And now?')];
    const memory_strategy = {
      mode,
      token_budget: 300,
      keep_last_n_turns: 1,
      min_reclaim_tokens: mode === 'auto' ? 0 : undefined,
    };
    const sent = await respond(input, { memory_strategy });
    expect(sent.length).toBeLessThan(input.length);
    expect(sent.slice(-2)).toEqual(input.slice(-2));
  });
});

overProtocols('a result that comes late', deployment, () => {
  it.each(ofTurn(1, [false, true]))(
    'F25: brings nothing back that was trimmed (streamed: %s)',
    async (stream) => {
      const asked: Message = calls(['slow', 'search']);
      const early = [question('kiwis', 0), asked, ...conversation('kiwis', 9), question('kiwis', 10)];
      const late: Message[] = [
        ...early,
        assistant('Wait.'),
        { role: 'tool', tool_call_id: 'slow', content: 'At last.' },
      ];
      const ask = async (messages: Message[]) => {
        const memory_strategy = { mode: 'trim', max_turns: 6, keep_last_n_turns: 2 };
        const response = await deployment.chat({ model: 'gpt-4.1', stream, memory_strategy, messages });
        await response.text();
        const seen = deployment.lastChat().body.messages as Message[];
        return { seen, frontier: response.headers.get('x-memory-frontier') };
      };

      const before = await ask(early);
      const after = await ask(late);

      expect(before.seen.length).toBeLessThan(12);
      expect(after.seen).toEqual([...before.seen, ...late.slice(-2)]);
      expect(after.frontier).toBe('kept');
    },
  );
});

describe('a sealed item', () => {
  const tools: Message[] = step('c', 'search', 'Found.');
  const sealChat = async (messages: Message[]): Promise<Message[]> =>
    (await post('/v1/compact', { model: 'gpt-4.1', format: 'opaque', messages })).body.messages as Message[];

  it.each(ofTurn(0, [false, true]))(
    'F28: of chat with tool calls is refused among items (streamed: %s)',
    async (stream) => {
      const input = await sealChat([question('nuts', 1), ...tools]);
      const { status, body } = await post('/v1/responses', { model: 'gpt-5', stream, input });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        code: 'invalid_encrypted_content',
        param: 'input[0].content',
        message: expect.stringContaining('chat completions'),
      });
    },
  );

  it.each(ofTurn(1, [false, true]))(
    'F28: of items with tool calls is refused in chat (streamed: %s)',
    async (stream) => {
      const [item] = (await compact([user('Hi.'), call(1)])).slice(-1);
      const messages = [user(JSON.stringify({ type: 'compaction', content: item?.encrypted_content }))];
      const { status, body } = await post('/v1/chat/completions', { model: 'gpt-4.1', stream, messages });
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        code: 'invalid_encrypted_content',
        param: 'messages[0].content',
        message: expect.stringContaining('Responses API'),
      });
    },
  );

  it('F28: of plain messages opens in both', async () => {
    const messages = conversation('beans', 2);
    const sent = await respond((await sealChat(messages)) as Json[]);
    expect(sent).toEqual(messages);
  });
});
