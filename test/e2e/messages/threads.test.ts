/** Message threads, with the clients that make them by themselves. */
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { THREADS_BETA } from '../../../tools/upstream/threads.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import {
  deployMessages,
  MESSAGES_KEY,
  MESSAGES_MODEL,
} from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const own = deployMessages({ refuses: true });
const ACCESS_KEY = 'access-key-of-alice-000001';
const shared = deployMessages({
  vars: { ACCESS_KEYS: `alice=${ACCESS_KEY}`, ANTHROPIC_API_KEY: 'sk-ant-the-account' },
});

const BETA = { 'anthropic-beta': THREADS_BETA };
const STRATEGY = { mode: 'compact', token_budget: 3_000, compact_keep: 1 };
const SHORT = { mode: 'compact', token_budget: 6_000 };
const OUTPUT = rows('apples', 150);
const HI = [{ role: 'user', content: 'Hi.' }];
const create = { type: 'create' };
const goOn = { type: 'continue', previous_message_id: 'msg_of_somebody' };

interface Refused {
  readonly type: string;
  readonly error: Json;
}

const posted = async (deployment: typeof own, body: object, headers: Record<string, string> = {}) => {
  const response = await deployment.post({ messages: HI, ...body }, { ...BETA, ...headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
};

/** An agent of the client's own loop, which reads ten files. */
async function agent(client: Anthropic, stream: boolean, more: Json): Promise<Anthropic.Beta.BetaMessage> {
  let read = 0;
  const runner = client.beta.messages.toolRunner({
    model: MESSAGES_MODEL,
    max_tokens: 1_000,
    stream,
    messages: [{ role: 'user', content: 'Read all files.' }],
    tools: [
      {
        name: 'read_file',
        description: 'Reads a file.',
        input_schema: { type: 'object' },
        parse: (input: unknown) => input,
        run: () => `${++read}: ${OUTPUT}`,
      },
    ],
    ...more,
  } as Anthropic.Beta.Messages.BetaToolRunnerParams);
  return runner.runUntilDone();
}

const STEPS = 10;
/** A model that reads a file after the other. */
function reader() {
  let asked = 0;
  const answer = () =>
    asked++ < STEPS
      ? { toolCalls: [{ id: `toolu_${asked}`, name: 'read_file', arguments: '{}' }] }
      : { content: 'All are read.' };
  return { messages: { type: 'model' as const, answer } };
}

describe('a message thread', () => {
  it.each([
    ['created', create],
    ['continued', goOn],
  ])('that is %s is refused where the strategy edits, in the words of the API', async (_, thread) => {
    const { status, body } = await posted(own, { thread, memory_strategy: STRATEGY });
    expect(status).toBe(400);
    const { type, error } = body as unknown as Refused;
    expect(type).toBe('error');
    expect(error).toMatchObject({
      type: 'invalid_request_error',
      code: 'thread_unsupported_request',
      param: 'thread',
      details: { error_code: 'thread_unsupported_request' },
    });
    expect(error.message).toContain('mode compact');
    expect(own.upstream.requests).toEqual([]);
  });

  it('is refused likewise without messages, in a stream, by a header and for a count', async () => {
    const refused = { error: { details: { error_code: 'thread_unsupported_request' } } };
    const ways = [
      posted(own, { thread: goOn, messages: [], memory_strategy: STRATEGY }),
      posted(own, { thread: goOn, stream: true, memory_strategy: STRATEGY }),
      posted(own, { thread: create }, { 'x-memory-strategy': JSON.stringify(STRATEGY) }),
    ];
    for (const { status, body } of await Promise.all(ways)) {
      expect(status).toBe(400);
      expect(body).toMatchObject(refused);
    }
    const counted = await own.postTo(
      '/v1/messages/count_tokens',
      {
        model: MESSAGES_MODEL,
        messages: HI,
        thread: goOn,
        memory_strategy: STRATEGY,
      },
      BETA,
    );
    expect(counted.status).toBe(400);
    expect(await counted.json()).toMatchObject(refused);
    expect(own.upstream.requests).toEqual([]);
  });

  it('is in the stream for callers who look for errors there', async () => {
    const response = await own.post(
      { thread: goOn, stream: true, messages: HI, memory_strategy: STRATEGY },
      { ...BETA, 'x-memory-stream-errors': 'events' },
    );
    expect(await response.text()).toContain('"details":{"error_code":"thread_unsupported_request"}');
  });

  it.each([
    ['without a strategy', {}],
    ['by a mode in the body', { memory_strategy: { mode: 'none' } }],
  ])('is sent unchanged %s, and the answer says so', async (_, more) => {
    const first = await posted(own, { thread: create, ...more });
    expect(first.status).toBe(200);
    const thread = { type: 'continue', previous_message_id: first.body.id };
    const next = { thread, messages: [{ role: 'user', content: 'And now?' }], ...more };
    const second = await posted(own, next);
    expect(second.status).toBe(200);
    for (const { headers: answered } of [first, second])
      expect(answered.get('x-memory-warning')).toBe('upstream_state');
    const sent = own.upstream.messages().map(({ body }) => body);
    expect(sent).toMatchObject([
      { thread: create, messages: HI },
      { thread, messages: [{ role: 'user', content: 'And now?' }] },
    ]);
  });

  it('is sent unchanged where it is only observed, and the potential says so', async () => {
    const observed = { ...STRATEGY, observe: true };
    const { status, body } = await posted(own, {
      thread: create,
      memory_strategy: observed,
      memory_report: true,
    });
    expect(status).toBe(200);
    expect(body.memory).toMatchObject({ potential: { warnings: ['upstream_state'] } });
    expect(own.upstream.messages()[0]?.body).toMatchObject({ thread: create, messages: HI });
  });

  it('goes on without new messages, and without a thread there must be some', async () => {
    own.upstream.next({ type: 'answer', stopReason: 'pause_turn' });
    const none = { memory_strategy: { mode: 'none' } };
    const first = await posted(own, { thread: create, ...none });
    const thread = { type: 'continue', previous_message_id: first.body.id };
    const { status } = await posted(own, { thread, messages: [], ...none });
    expect(status).toBe(200);
    const { status: refused, body } = await posted(own, { messages: [], thread: null, ...none });
    expect(refused).toBe(400);
    expect(body).toMatchObject({ error: { code: 'invalid_messages' } });
  });

  it.each([
    ['a thread of its own', { thread: create }],
    ['the thread of another caller', { thread: goOn }],
    ['no new messages', { thread: goOn, messages: [] }],
    ['a request beside its conversation', { thread: goOn, compaction: { type: 'summarize' } }],
  ])('is refused to callers who share an account: %s', async (_, body) => {
    const headers = { 'x-api-key': ACCESS_KEY };
    const { status, body: answered } = await posted(shared, body, headers);
    expect(status).toBe(400);
    expect(answered).toMatchObject({
      error: { details: { error_code: 'thread_unsupported_request' }, param: 'thread' },
    });
    expect(shared.upstream.requests).toEqual([]);
  });

  it.each(ofTurn(0, [false, true]))(
    'is given up by the loop of the client, whose views are as short as ever (stream: %s)',
    async (stream) => {
      const client = new Anthropic({ baseURL: own.url, apiKey: MESSAGES_KEY, maxRetries: 0 });
      const sent: Json[][] = [];
      for (const more of [{}, { thread: false }]) {
        own.upstream.become(reader());
        const said = await agent(client, stream, { ...more, memory_strategy: SHORT });
        expect(said.content).toMatchObject([{ type: 'text', text: 'All are read.' }]);
        sent.push(own.upstream.messages().map(({ body }) => body));
      }
      const [threaded = [], whole = []] = sent;
      expect(threaded).toHaveLength(STEPS + 1);
      for (const body of threaded) expect(body).not.toHaveProperty('thread');
      expect(threaded.map(({ messages }) => messages)).toEqual(whole.map(({ messages }) => messages));
      expect(JSON.stringify(threaded.at(-1)).length).toBeLessThan((STEPS / 2) * OUTPUT.length);
    },
  );

  it('carries the loop of the client in mode none', async () => {
    own.upstream.become(reader());
    const client = new Anthropic({ baseURL: own.url, apiKey: MESSAGES_KEY, maxRetries: 0 });
    const said = await agent(client, false, { memory_strategy: { mode: 'none' } });
    expect(said.content).toMatchObject([{ type: 'text', text: 'All are read.' }]);
    const sent = own.upstream.messages().map(({ body }) => body);
    expect(sent.map(({ messages }) => (messages as Json[]).length)).toEqual(Array(STEPS + 1).fill(1));
  });
});
