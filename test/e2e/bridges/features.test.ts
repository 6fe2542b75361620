/** What Precis does for conversations, also over the bridges and where they change between APIs. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { type Behaviour, behave, respond } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { mapped } from '../../support/clients/mapped-answers.ts';
import { assistant, lines, user } from '../../support/conversations/chat.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';
import {
  SUMMARIZER_KEY,
  SUMMARIZER_MODEL,
  startSummarizer,
  tokensIn,
} from '../../support/deployment/summarizer.ts';

type Json = Record<string, unknown>;
type Message = { role: string } & Json;

const summarizer = await startSummarizer();
afterAll(() => summarizer.close());

const deployment = deployMessages({
  refuses: true,
  vars: {
    SUMMARIZER_BASE_URL: summarizer.url,
    SUMMARIZER_MODEL,
    SUMMARIZER_API_KEY: SUMMARIZER_KEY,
  },
});

const FILE = lines(600, 'const line');
const WANTED = FILE.split('\n')[299] ?? '';
const TOOLS = ['read_file', 'edit_file'].map((name) => ({
  ...{ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } },
}));
const OPENAI_KEY = 'sk-the-key-of-a-test-caller';
const AUTO = { mode: 'auto', token_budget: 64_000, offload_fresh_tokens: 1_000 };
const REF = /ref_[a-z2-7]{26}/g;

let made = 0;

/** Edits a line when it sees it; otherwise it fetches it. */
function edits(body: Json) {
  const text = JSON.stringify(body.input ?? body.messages);
  const id = `call_${++made}`;
  const call = (name: string, args: object) => ({ id, name, arguments: JSON.stringify(args) });
  if (text.includes(WANTED)) return { toolCalls: [call('edit_file', { n: made })] };
  const [ref = ''] = text.match(REF) ?? [];
  return { content: 'I look.', toolCalls: [call('retrieve_ref', { ref, lines: '295-305' })] };
}

const ofOpenAi: Behaviour = (request, response, recorded) => {
  const { body } = recorded;
  const said = edits(body);
  if (body.messages) return void behave({ type: 'answer', ...said }, request, response, recorded);
  respond(response, body, { id: `${++made}`, ...said, reasoning: { encrypted: `thought-${made}` } });
};

beforeEach(() => {
  deployment.openai.become({ responses: ofOpenAi, chat: ofOpenAi });
  deployment.upstream.become({ thinks: true, messages: { type: 'model', answer: edits } });
  summarizer.reset();
});

/** As a client of OpenAI's API, which names no version of Anthropic's. */
const post = (path: string, body: object, key: string): Promise<Response> =>
  fetch(`${deployment.url}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

/** The requests for answers, to whichever upstream. */
const asked = (): RecordedRequest[] =>
  [...deployment.openai.requests, ...deployment.upstream.requests].filter(({ method }) => method === 'POST');
const elementsOf = ({ body }: RecordedRequest): Json[] => (body.input ?? body.messages) as Json[];
/** Without the marks of the cache, which move with the end. */
const unmarked = (request: RecordedRequest): Json[] =>
  JSON.parse(
    JSON.stringify(elementsOf(request), (name, value) => (name === 'cache_control' ? undefined : value)),
  );
const thoughtsIn = (request?: RecordedRequest): number =>
  (JSON.stringify(request && elementsOf(request)).match(/"type":"(?:reasoning|thinking)"/g) ?? []).length;

/** What a client appends of an answer. */
function back({ content, tool_calls = [] }: Json): Message[] {
  const calls = tool_calls as { id: string }[];
  const said = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls } : {}) };
  return [said, ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Edited.' }))];
}

/** A file has been read. @param name makes it another conversation */
function opening(name: string): Message[] {
  const id = `call_${++made}`;
  const read = { id, type: 'function', function: { name: 'read_file', arguments: `{"path":"${name}.ts"}` } };
  return [
    user(`Change line 300 of ${name}.ts.`),
    { role: 'assistant', content: null, tool_calls: [read] },
    { role: 'tool', tool_call_id: id, content: FILE },
  ];
}

const APIS = [
  { api: 'responses', model: 'gpt-6-astra', caller: OPENAI_KEY },
  { api: 'messages', model: 'claude-sonnet-5-5', caller: MESSAGES_KEY },
] as const;

inTurn(
  APIS.flatMap((one) => [false, true].map((stream) => ({ ...one, stream }))),
  ({ api, stream }) => `a conversation over ${api} (stream: ${stream})`,
  ({ api, model, stream, caller }) => {
    const strategy = { ...AUTO, upstream_api: api };
    const fields = (id: string) => ({
      ...{ model, tools: TOOLS, stream, memory_report: true, memory_strategy: strategy, conversation_id: id },
    });

    it('fetches within an answer, keeps its rounds, and is explained, signed and billed', async () => {
      const id = `fetching ${api} ${stream}`;
      const messages = opening(id);
      const stated: number[] = [];
      for (let step = 0; step < 3; step++) {
        const body = { ...fields(id), messages };
        const { choice, head } = await mapped(await post('/chat/completions', body, caller));
        const explained = (await (await post('/explain', body, caller)).json()) as { memory: Json };
        const { memory } = head as { memory: Json & { receipt: object; upstream_api: Json } };
        const said = choice.message as Json & { tool_calls: { function: Json }[] };
        expect(said.tool_calls.map((call) => call.function.name)).toEqual(['edit_file']);
        expect(said.content).toBe(step === 0 ? 'I look.' : null);
        expect(explained.memory.refs).toEqual(memory.refs);
        stated.push(Number(memory.upstream_api.kept_answers ?? 0));
        const { stream: _, memory_report: __, ...verified } = body;
        const verdict = await post('/verify', { ...verified, receipt: memory.receipt }, caller);
        expect(await verdict.json()).toMatchObject({ valid: true, complete: true });
        messages.push(...back(said));
      }
      const bodies = asked();
      expect(bodies.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => `/v1/${api}`));
      // The first answer had one round more.
      expect(bodies.map(thoughtsIn)).toEqual([0, 1, 2, 3]);
      expect(stated).toEqual([0, 2, 3]);
      for (const [at, body] of bodies.entries()) {
        const before = at === 0 ? [] : unmarked(bodies[at - 1] as RecordedRequest);
        expect(unmarked(body).slice(0, before.length)).toEqual(before);
      }
      const of = `/v1/conversations/${encodeURIComponent(id)}`;
      const headers = { authorization: `Bearer ${caller}` };
      await deployment.fetch(`${of}/memory/flush`, { method: 'POST', headers });
      const page = await deployment.fetch(`${of}/requests`, { headers });
      const { data } = (await page.json()) as { data: RunEvent[] };
      expect(data).toHaveLength(3);
      for (const event of data)
        expect(event).toMatchObject({
          usage: { input: expect.any(Number) },
          bill: { sent: expect.anything() },
        });
    });

    it('has the same refs and summaries over chat, and its thoughts when it comes back', async () => {
      const id = `changing ${api} ${stream}`;
      const messages = opening(id);
      const over = async (upstream_api: string, more: Json = {}) => {
        const memory_strategy = { ...strategy, upstream_api };
        const { choice } = await mapped(
          await post('/chat/completions', { ...fields(id), memory_strategy, ...more, messages }, caller),
        );
        messages.push(...back(choice.message as Json));
        const { requests } = upstream_api === 'messages' ? deployment.upstream : deployment.openai;
        return requests.at(-1) as RecordedRequest;
      };
      const sent = [await over(api), await over('chat'), await over(api)];
      const refs = sent.map(({ rawBody }) => [...new Set(rawBody.toString().match(REF))]);
      expect(refs[0]).toHaveLength(1);
      expect(refs).toEqual([refs[0], refs[0], refs[0]]);
      expect(sent.map(thoughtsIn)).toEqual([1, 0, 2]);

      const summarize = { mode: 'summarize', context_limit: 3, keep_last_n_turns: 1 };
      for (let turn = 0; turn < 4; turn++) messages.push(user(`And ${turn}?`), assistant(`Yes, ${turn}.`));
      messages.push(user('So?'));
      const summaries = [];
      for (const upstream_api of [api, 'chat', api]) {
        const { rawBody } = await over(upstream_api, { memory_strategy: { ...summarize, upstream_api } });
        messages.length -= 2;
        summaries.push(tokensIn(rawBody.toString()));
      }
      expect(summaries[0]).toHaveLength(1);
      expect(summaries).toEqual([summaries[0], summaries[0], summaries[0]]);
    });

    it('is asked again with less where it is too long, and is refused where nothing helps', async () => {
      const read = lines(400, 'let word');
      const messages: Message[] = [0, 1, 2, 3, 4, 5].flatMap((turn) => {
        const id = `call_${++made}`;
        const call = { id, type: 'function', function: { name: 'read_file', arguments: '{}' } };
        return [
          user(`Read ${turn} of ${api} ${stream}.`),
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: id, content: `${turn} ${read}` },
          assistant('I have read it.'),
        ];
      });
      messages.push(user('So?'));
      const window = { type: 'window', tokens: 9_000 } as const;
      deployment.openai.become({ responses: window, chat: window });
      deployment.upstream.become({ messages: window });
      const { offload_fresh_tokens: _, ...whole } = strategy;
      const long = { ...fields(`long ${api} ${stream}`), memory_strategy: whole };
      const body = { ...long, messages, max_tokens: 500 };
      // What one case teaches Precis is not known to the other.
      const key = `${caller}-${stream}`;
      const { status, head } = await mapped(await post('/chat/completions', body, key));
      expect({ status, memory: head.memory }).toMatchObject({
        status: 200,
        memory: { upstream_api: { api } },
      });
      expect(asked().length).toBeGreaterThan(1);

      const none = { ...fields('too long'), messages, memory_strategy: { mode: 'none', upstream_api: api } };
      const { status: refused, error } = await mapped(await post('/chat/completions', none, key));
      expect(refused).toBe(400);
      expect(error).toMatchObject({
        type: 'invalid_request_error',
        message: expect.stringMatching(/9000|too long/),
      });
    });

    it('is sent over chat, unchanged, where it is only observed', async () => {
      const { memory_report: _, ...body } = { ...fields('observed'), messages: opening('observed') };
      const observed = { ...body, memory_strategy: { ...strategy, observe: true } };
      await (await post('/chat/completions', observed, caller)).text();
      expect(asked().map(({ path }) => path)).toEqual(['/v1/chat/completions']);
      expect(asked()[0]?.body.messages).toEqual(body.messages);
    });
  },
);

const sse = (events: readonly Json[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

describe.each(APIS)('a stream over $api that fails before its first word', ({ api, model, caller }) => {
  const ofOpenai = api === 'responses';
  /** The next stream opens, and then has an error. */
  function fails(error: Json): void {
    const events = ofOpenai
      ? [
          { type: 'response.created', response: { id: 'resp_1' } },
          { type: 'response.failed', response: { error } },
        ]
      : [
          { type: 'message_start', message: { id: 'msg_1' } },
          { type: 'error', error },
        ];
    const send = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(sse(events));
    };
    deployment.openai.next(send);
    deployment.upstream.next(send);
  }

  const askWith = (messages: readonly Message[], name: string) =>
    post(
      '/chat/completions',
      {
        ...{ model, tools: TOOLS, stream: true, messages, conversation_id: `failing ${name} ${api}` },
        memory_strategy: { mode: 'auto', upstream_api: api },
      },
      `${caller}-failing-${name}`,
    );

  it('is asked for again with less where it is too long', async () => {
    const window = { type: 'window', tokens: 1e6 } as const;
    deployment.openai.become({ responses: window });
    deployment.upstream.become({ messages: window });
    fails({ code: 'context_length_exceeded', type: 'invalid_request_error', message: 'prompt is too long' });
    const files = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((name) => [
      ...opening(name),
      assistant('I have read it.'),
    ]);
    const given = await mapped(await askWith([...files, user('So?')], 'long'));
    expect(given).toMatchObject({ status: 200, isWhole: true });
    const [whole = 0, less = 0, ...more] = asked().map(({ rawBody }) => rawBody.length);
    expect(more).toEqual([]);
    expect(less).toBeLessThan(whole);
  });

  it('is asked for again without the thoughts that are refused', async () => {
    const messages = opening(`thoughts ${api}`);
    const { choice } = await mapped(await askWith(messages, 'thoughts'));
    messages.push(...back(choice.message as Json));
    const words = 'messages.1.content.0: Invalid `signature` in `thinking` block';
    fails(
      ofOpenai
        ? { code: 'invalid_encrypted_content', message: 'The encrypted content could not be verified.' }
        : { type: 'invalid_request_error', message: words },
    );
    expect(await mapped(await askWith(messages, 'thoughts'))).toMatchObject({ status: 200, isWhole: true });
    expect(asked().map(thoughtsIn).slice(-2)).toEqual([1, 0]);
  });

  it('is a 429 in its words where a rate is exceeded', async () => {
    fails({ code: 'rate_limit_exceeded', type: 'rate_limit_error', message: 'Slow down.' });
    const given = await mapped(await askWith(opening(`fast ${api}`), 'fast'));
    expect(given).toMatchObject({ status: 429, error: { message: 'Slow down.', type: 'rate_limit_error' } });
    expect(asked()).toHaveLength(1);
  });
});

it('a conversation has the same refs in native Responses as over the bridge', async () => {
  const messages = opening('native');
  const [asks, said, result] = messages as [Message, Message & { tool_calls: Json[] }, Message];
  const strategy = { ...AUTO, upstream_api: 'responses' };
  const fields = { model: 'gpt-6-astra', conversation_id: 'native', memory_strategy: strategy };
  await (await post('/chat/completions', { ...fields, tools: TOOLS, messages }, OPENAI_KEY)).text();
  const [{ id, function: called } = { id: '', function: {} }] = said.tool_calls as {
    id: string;
    function: Json;
  }[];
  const input = [
    asks,
    { type: 'function_call', call_id: id, ...called },
    { type: 'function_call_output', call_id: id, output: result.content },
  ];
  const tools = TOOLS.map(({ type, function: fn }) => ({ type, ...fn, strict: false }));
  await (await post('/responses', { ...fields, memory_strategy: AUTO, tools, input }, OPENAI_KEY)).text();
  const refs = asked().map(({ rawBody }) => [...new Set(rawBody.toString().match(REF))]);
  expect(refs.length).toBeGreaterThan(1);
  expect(refs[0]).toHaveLength(1);
  for (const each of refs) expect(each).toEqual(refs[0]);
});
