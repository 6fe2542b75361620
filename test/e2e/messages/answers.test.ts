/**
 * Answers of Anthropic's API through Precis: rounds with calls of Precis's tools, their bills, and
 * how streams end.
 */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { definitionOf } from '../../../src/retrieval/tool.ts';
import { messageEvents } from '../../../tools/upstream/message.ts';
import { startMessagesUpstream } from '../../../tools/upstream/messages-upstream.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { rows, searchTurns } from '../../support/clients/agent-run.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { eventsIn, messageFrom } from '../../support/conversations/message-stream.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { onceSeen } from '../../support/deployment/event-stream.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';

type Json = Record<string, unknown>;
type Sent = Readonly<Record<'fresh' | 'cached' | 'written' | 'output' | 'amount', number>>;

const anthropic = await startMessagesUpstream({ thinks: true });
const deployment = deploy({ vars: { ANTHROPIC_BASE_URL: anthropic.url }, limits: { keepaliveMs: 150 } });

beforeEach(() => anthropic.become({ thinks: true }));
afterAll(() => anthropic.close());

const FETCH = definitionOf('retrieve_ref').function.name;
/** Over its budget once. What is fetched has room in later views. */
const STRATEGY = { mode: 'compact', token_budget: 3_000, compact_keep: 0, compact_retrieval: 'tool' };
const APPLES = rows('apples', 300);
const MODEL = 'claude-opus-5-5';

const tools = [{ name: 'search', description: 'Searches.', input_schema: { type: 'object' } }];
const CONVERSATION = [
  user('What do apples weigh?'),
  assistant([{ type: 'tool_use', id: 'toolu_a', name: 'search', input: { of: 'apples' } }]),
  user([{ type: 'tool_result', tool_use_id: 'toolu_a', content: APPLES }]),
  assistant('A lot.'),
  user([{ type: 'text', text: 'And the seventh?', cache_control: { type: 'ephemeral' } }]),
];

const NOTHING: Sent = { fresh: 0, cached: 0, written: 0, output: 0, amount: 0 };

let conversations = 0;
const fieldsOf = (more: Json = {}): Json => ({
  model: MODEL,
  max_tokens: 1_000,
  tools,
  memory_report: true,
  memory_strategy: STRATEGY,
  conversation_id: `answers-${++conversations}`,
  ...more,
});

async function post(body: Json, more: Record<string, string> = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...more };
  return deployment.fetch('/v1/messages', { method: 'POST', headers, body: JSON.stringify(body) });
}

interface Answered {
  readonly message: Json & { content: Json[]; usage: Json };
  readonly memory: Report;
  readonly events: readonly Json[];
}

/** An answer as its caller has it, streamed or not. */
async function ask(body: Json, headers?: Record<string, string>): Promise<Answered> {
  const response = await post(body, headers);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  if (body.stream !== true) {
    const { memory, ...message } = JSON.parse(text);
    return { message, memory, events: [] };
  }
  const events = eventsIn(text);
  const reports = events.filter((event) => event.memory);
  expect(reports.map(({ type }) => type)).toEqual(['message_delta']);
  return {
    message: messageFrom(events) as Answered['message'],
    memory: reports[0]?.memory as Report,
    events,
  };
}

/** The ref in the view of a conversation. */
async function refOf(fields: Json): Promise<string> {
  await ask({ ...fields, messages: CONVERSATION });
  const [ref = ''] = refsIn(anthropic.messages().at(-1)?.body.messages);
  expect(ref).not.toBe('');
  anthropic.requests.length = 0;
  return ref;
}

const bodyAt = (index: number): Json & { messages: Json[]; tools: Json[] } =>
  anthropic.messages()[index]?.body as never;
const kinds = (content: unknown): unknown[] => (content as Json[]).map(({ type }) => type);

inBothForms('a call of Precis’s tool in an answer of Messages', (stream) => {
  const call = (ref: string) => ({
    id: 'toolu_ours',
    name: FETCH,
    arguments: JSON.stringify({ ref, lines: '7-8' }),
  });

  it('is answered within it, after thinking that stays valid in the requests after it', async () => {
    const fields = fieldsOf({ stream });
    const ref = await refOf(fields);
    anthropic.next({ type: 'answer', content: 'Let me look.', toolCalls: [call(ref)] });
    const { message, memory } = await ask({ ...fields, messages: CONVERSATION });

    expect(kinds(message.content)).toEqual(['thinking', 'text', 'thinking', 'text']);
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 40 } });
    expect(memory.retrieval).toMatchObject({ rounds: 1, refs: [ref], usage: { completion_tokens: 40 } });
    const [first, second] = [bodyAt(0), bodyAt(1)];
    expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
    expect(second.messages.slice(first.messages.length)).toEqual([
      assistant([
        ...message.content.slice(0, 2),
        { type: 'tool_use', id: 'toolu_ours', name: FETCH, input: { ref, lines: '7-8' } },
      ]),
      user([{ type: 'tool_result', tool_use_id: 'toolu_ours', content: expect.any(String) }]),
    ]);
    expect(JSON.stringify(second.messages.at(-1))).toContain('row 6 of apples');

    const next = user('And the eighth?');
    const answer = assistant(message.content);
    await ask({ ...fields, messages: [...CONVERSATION, answer, next] });
    const third = bodyAt(2);
    expect(third.messages.slice(0, second.messages.length)).toEqual(second.messages);
    expect(third.messages.slice(second.messages.length)).toEqual([assistant(message.content.slice(2)), next]);
    expect(anthropic.refusals).toEqual([]);
  });

  it('is answered without a trace where it was all that was said, and beside calls of the same turn', async () => {
    const fields = fieldsOf({ stream });
    const ref = await refOf(fields);
    const calls = [call(ref), { ...call(ref), id: 'toolu_second' }];
    const search = { id: 'toolu_b', name: 'search', arguments: '{"of":"pears"}' };
    anthropic.next({ type: 'answer', toolCalls: [...calls, search] });
    anthropic.next({ type: 'answer', toolCalls: [search] });
    const { message } = await ask({ ...fields, messages: CONVERSATION });
    expect(kinds(message.content)).toEqual(['thinking', 'thinking', 'tool_use']);
    expect(message.stop_reason).toBe('tool_use');
    const results = bodyAt(1).messages.at(-1)?.content as Json[];
    expect(results.map(({ tool_use_id }) => tool_use_id)).toEqual(['toolu_ours', 'toolu_second']);

    const result = { type: 'tool_result', tool_use_id: 'toolu_b', content: 'None.' };
    const more = [assistant(message.content), user([result])];
    await ask({ ...fields, messages: [...CONVERSATION, ...more] });
    expect(anthropic.refusals).toEqual([]);
  });

  it('is billed by what the upstream has counted, reads and writes of the cache beside the input', async () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const system = [{ type: 'text', text: rows('rules', 200), ...mark }];
    const fields = fieldsOf({ stream, system });
    const ref = await refOf(fields);
    anthropic.become({ thinks: true });
    anthropic.next({ type: 'answer', toolCalls: [call(ref)] });
    await ask({ ...fields, messages: CONVERSATION });
    let sent: Sent | undefined;
    await until('the request is billed', async () => {
      const listed = await deployment.fetch(`/v1/conversations/${fields.conversation_id}/requests`);
      const { data } = (await listed.json()) as { data: { n: number; bill: { sent: Sent } | null }[] };
      sent = data.find(({ n }) => n === 2)?.bill?.sent;
      return sent !== undefined;
    });
    const { fresh, cached, written, output, amount } = sent ?? NOTHING;
    expect(output).toBe(40);
    expect(cached).toBeGreaterThan(1_000);
    expect(written).toBeGreaterThan(1_000);
    const usual = fresh * 4_000 + cached * 200 + output * 20_000;
    // Between the prices of a write for five minutes and of one for an hour.
    expect(amount).toBeGreaterThan(usual + written * 5_000);
    expect(amount).toBeLessThanOrEqual(usual + written * 8_000);
  });
});

describe('a round by Precis that the API refuses', () => {
  const errorOf = (type: string, message: string) => ({
    type: 'error',
    error: { type, message },
    request_id: 'req_of_the_round',
  });
  const OVERLOADED = errorOf('overloaded_error', 'Overloaded');
  const TOO_LONG = errorOf('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum');
  const inStream = (error: object) => (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write([...messageEvents({ model: MODEL }, { content: 'One two.' })].slice(0, 4).join(''));
    response.end(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
  };

  it.each([
    ['overloaded', 529, OVERLOADED],
    ['too long', 400, TOO_LONG],
  ])(
    'ends the stream with its words after what has come, by status or inside: %s',
    async (_, status, error) => {
      for (const isInside of [true, false]) {
        const fields = fieldsOf({ stream: true });
        const ref = await refOf(fields);
        const call = (id: string) => ({ id, name: FETCH, arguments: JSON.stringify({ ref, lines: '7-8' }) });
        anthropic.next(
          { type: 'answer', content: 'Let me look.', toolCalls: [call('toolu_1')] },
          { type: 'answer', content: 'And again.', toolCalls: [call('toolu_2')] },
          isInside ? inStream(error) : { type: 'error', status, body: error },
        );
        const response = await post({ ...fields, messages: CONVERSATION });
        expect(response.headers.get('request-id')).toMatch(/^req_/);
        const events = eventsIn(await response.text());
        const texts = events.flatMap(({ delta }) => (delta as Json)?.text ?? []).join('');
        expect(texts).toContain('Let me look.And again.');
        expect(events.at(-1)).toMatchObject({ type: 'error', error: error.error });
        expect(events.filter(({ type }) => type === 'error' || type === 'message_stop')).toHaveLength(1);
        expect(anthropic.messages()).toHaveLength(3);
      }
    },
  );

  it('ends an answer that is no stream as that refusal', async () => {
    const fields = fieldsOf({});
    const ref = await refOf(fields);
    const call = { id: 'toolu_1', name: FETCH, arguments: JSON.stringify({ ref }) };
    anthropic.next(
      { type: 'answer', toolCalls: [call] },
      {
        type: 'error',
        status: 529,
        body: OVERLOADED,
        headers: { 'retry-after': '4', 'x-should-retry': 'true' },
      },
    );
    const response = await post({ ...fields, messages: CONVERSATION });
    expect([response.status, await response.json()]).toEqual([529, OVERLOADED]);
    expect(response.headers.get('retry-after')).toBe('4');
    expect(response.headers.get('x-should-retry')).toBe('true');
    expect(response.headers.get('request-id')).toMatch(/^req_/);
  });
});

describe('a stream of Messages', () => {
  const asked = (): Json => ({ ...fieldsOf({ stream: true }), messages: CONVERSATION });
  const frames = [...messageEvents({ model: MODEL }, { content: 'One two three four.' })];
  const begin = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const frame of frames.slice(0, 5)) response.write(frame);
  };

  it('that breaks off ends with an error as the API has them, and not as a complete one', async () => {
    anthropic.next((_, response) => {
      begin(response);
      setTimeout(() => response.destroy(), 50);
    });
    const events = eventsIn(await (await post(asked())).text());
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'api_error', message: expect.stringContaining('broke off') },
    });
    expect(events.some(({ type }) => type === 'message_stop' || type === 'message_delta')).toBe(false);
  });

  it('that falls silent is kept alive by pings', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    anthropic.next(async (_, response) => {
      begin(response);
      await promise;
      for (const frame of frames.slice(5)) response.write(frame);
      response.end();
    });
    const answer = onceSeen(await post(asked()), /^event: ping$/, 3, resolve);
    const events = eventsIn(await answer.text());
    expect(events.filter(({ type }) => type === 'ping').length).toBeGreaterThan(2);
    expect(messageFrom(events)).toMatchObject({ content: [{ text: 'One two three four.' }] });
  });

  it.each([true, undefined])(
    'is asked again with a smaller view if the prompt is too long (in it: %s)',
    async (streamed) => {
      const messages = [...searchTurns('pears', 12), user('And now?')];
      anthropic.next(
        streamed ? { type: 'window', tokens: 8_000, streamed } : { type: 'window', tokens: 8_000 },
      );
      const fields = fieldsOf({ stream: true, memory_strategy: { mode: 'auto' } });
      // A limit is learned of a tenant.
      const authorization = `Bearer sk-the-key-of-a-long-conversation-${streamed}`;
      const { memory, message } = await ask({ ...fields, messages }, { authorization });
      expect(memory.trigger).toBe('upstream_limit');
      expect(message.stop_reason).toBe('end_turn');
      expect(anthropic.messages()).toHaveLength(2);
      expect(anthropic.refusals).toEqual([]);
    },
  );
});
