import fc from 'fast-check';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../../../../src/protocol/answers/sse.ts';
import type { BridgedStream, KeptOutput } from '../../../../../src/protocol/bridges/bridge.ts';
import { chatFormat } from '../../../../../src/protocol/chat/format.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../../../tools/upstream/message.ts';
import { forAllAsync, runs } from '../../../../support/laws/runs.ts';
import { bytesOf, type Json, parsed, readerOf } from './bridged.ts';

const SHOWN = { showsReasoning: true, now: () => 1_800_000_000 };
const REQUEST = { model: 'claude-opus-5-5' };
const USAGE_ASKED = { stream: true, stream_options: { include_usage: true } };

/** An answer of the API in JSON, as chat has it. */
function whole(message: Json, options = {}): Json {
  return parsed(readerOf({}, options).answer(bytesOf(message)).body);
}

const messageIn = ({ choices }: Json): Json => (choices as { message: Json }[])[0]?.message ?? {};
const finishIn = ({ choices }: Json): unknown => (choices as { finish_reason: unknown }[])[0]?.finish_reason;

/** A stream in pieces, as chat has it. */
function streamed(
  bytes: Uint8Array,
  sizes: readonly number[],
  options = {},
): { sse: string; stream: BridgedStream } {
  const stream = readerOf(USAGE_ASKED, options).stream();
  const splitter = new FrameSplitter();
  let sse = '';
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    for (const frame of splitter.push(bytes.subarray(at, at + size))) sse += stream.push(frame);
    at += size;
  }
  return { sse, stream };
}

const sseOf = (...events: Json[]): Uint8Array =>
  bytesOf(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));

const chunksIn = (sse: string): Json[] =>
  [...sse.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '{}']) => JSON.parse(json) as Json);

/** What the stream helper of the official client makes of a stream. */
async function assembled(sse: string): Promise<Json> {
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = () => Promise.resolve(new Response(sse, { headers }));
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: 'http://127.0.0.1/v1', fetch, maxRetries: 0 });
  const body = { model: 'm', messages: [], stream_options: { include_usage: true } };
  return (await client.chat.completions.stream(body).finalChatCompletion()) as unknown as Json;
}

const CALL = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.ts', n: 1 } };
const THOUGHT = { type: 'thinking', thinking: 'First, look.', signature: 'sig1' };
const said = (content: Json[], more: Json = {}): Json => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  ...more,
});
const text = (words: string): Json => ({ type: 'text', text: words });

describe('an answer of Messages in chat', () => {
  it('has the head of the message', () => {
    const usage = { input_tokens: 1, output_tokens: 2, service_tier: 'standard' };

    expect(whole(said([text('Hi.')], { usage }), SHOWN)).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_800_000_000,
      model: 'claude-opus-5-5',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
  });

  it.each<[reason: string, finish: string, isKept: boolean]>([
    ['end_turn', 'stop', true],
    ['stop_sequence', 'stop', true],
    ['tool_use', 'tool_calls', true],
    ['max_tokens', 'length', true],
    ['model_context_window_exceeded', 'length', true],
    ['refusal', 'content_filter', false],
  ])('that ends with %s ends with %s', (stop_reason, finish, isKept) => {
    const content = [text('Hi.')];
    const answer = readerOf().answer(bytesOf(said(content, { stop_reason })));

    expect(finishIn(parsed(answer.body))).toBe(finish);
    expect(answer.kept && JSON.parse(answer.kept.json)).toEqual(isKept ? content : undefined);
  });

  it('that comes as events, though a whole one was asked for, is read from them', () => {
    const answer = { content: 'Hi.', toolCalls: [{ id: 'toolu_1', name: 'read', arguments: '{"n":1}' }] };
    const events = [...messageEvents(REQUEST, answer)].join('');
    const { body, kept, status } = readerOf().answer(bytesOf(events));
    const whole = readerOf().answer(bytesOf(messageOf(REQUEST, answer)));
    expect({ status, body: parsed(body) }).toEqual({ status: 200, body: parsed(whole.body) });
    expect(JSON.parse(kept?.json ?? '')).toEqual(JSON.parse(whole.kept?.json ?? ''));
    const torn = readerOf().answer(bytesOf(events.slice(0, events.indexOf('event: message_stop'))));
    expect(torn).toMatchObject({ status: 502, kept: undefined });
  });

  it('that is no answer at all has few of its words', () => {
    const { body, status } = readerOf().answer(bytesOf(`<html>${'x'.repeat(100_000)}`));
    expect(status).toBe(502);
    expect((parsed(body).error as Json).message).toMatch(/^<html>x{400,600}$/);
  });

  it('that is paused is an error, since no reason of chat has it continued', () => {
    const { body, status, kept } = readerOf().answer(
      bytesOf(said([text('Hi.')], { stop_reason: 'pause_turn' })),
    );
    expect(status).toBe(502);
    expect(kept).toBeUndefined();
    expect(parsed(body)).toMatchObject({
      error: { type: 'server_error', message: expect.stringContaining('paused') },
    });
  });

  it('has the words of a refusal', () => {
    const refused = (stop_details?: Json) =>
      messageIn(whole(said([], { stop_reason: 'refusal', stop_details })));

    expect(refused({ type: 'refusal', explanation: 'It may do harm.' })).toMatchObject({
      content: null,
      refusal: 'It may do harm.',
    });
    expect(refused().refusal).toBe('The API refused to answer this request.');
  });

  it('has one text: citations divide it, and what comes between texts sets them apart', () => {
    const content = [text('I look'), text(' at it.'), CALL, text('Done.')];

    expect(messageIn(whole(said(content))).content).toBe('I look at it.\n\nDone.');
    expect(messageIn(whole(said([CALL]))).content).toBeNull();
  });

  it('has calls with each digit of their input', () => {
    const json = JSON.stringify(said([CALL])).replace('"n":1', '"n": 12345678901234567890');
    const { body, kept } = readerOf().answer(bytesOf(json));

    expect(messageIn(parsed(body)).tool_calls).toEqual([
      {
        id: 'toolu_1',
        type: 'function',
        function: { name: 'read', arguments: '{"path":"a.ts","n": 12345678901234567890}' },
      },
    ]);
    expect(kept?.json).toContain('"n": 12345678901234567890');
  });

  it.each([
    ['max_tokens', 0],
    ['model_context_window_exceeded', 0],
    ['tool_use', 1],
  ])('that ends with %s within a call has %i of it', (stop_reason, count) => {
    const { tool_calls = [] } = messageIn(whole(said([text('Hi.'), CALL], { stop_reason })));
    expect(tool_calls).toHaveLength(count);
    const before = messageIn(whole(said([CALL, text('Hi.')], { stop_reason })));
    expect(before.tool_calls).toHaveLength(1);
  });

  it('shows reasoning, and what the caller has to echo, on request', () => {
    const content = [
      THOUGHT,
      { type: 'redacted_thinking', data: 'd' },
      text('Hi.'),
      { ...THOUGHT, thinking: 'Then.' },
    ];

    expect(messageIn(whole(said(content), SHOWN))).toEqual({
      role: 'assistant',
      content: 'Hi.',
      refusal: null,
      reasoning_content: 'First, look.\n\nThen.',
      reasoning_details: [
        {
          type: 'reasoning.text',
          text: 'First, look.',
          signature: 'sig1',
          format: 'anthropic-claude-v1',
          index: 0,
        },
        { type: 'reasoning.encrypted', data: 'd', format: 'anthropic-claude-v1', index: 1 },
        { type: 'reasoning.text', text: 'Then.', signature: 'sig1', format: 'anthropic-claude-v1', index: 2 },
      ],
    });
    expect(messageIn(whole(said(content)))).toEqual({ role: 'assistant', content: 'Hi.', refusal: null });
  });

  it.each<[usage: Json, counted: Json | undefined]>([
    [
      {
        input_tokens: 10,
        cache_read_input_tokens: 200,
        cache_creation_input_tokens: 30,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 4 },
      },
      {
        prompt_tokens: 240,
        completion_tokens: 7,
        total_tokens: 247,
        prompt_tokens_details: { cached_tokens: 200, cache_write_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 4 },
      },
    ],
    [
      { input_tokens: 10, cache_read_input_tokens: 0, output_tokens: 7 },
      {
        prompt_tokens: 10,
        completion_tokens: 7,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    ],
    [{ output_tokens: 7 }, undefined],
    [{ input_tokens: 10 }, { prompt_tokens: 10 }],
  ])('has the whole prompt in its usage, and nothing that is absent: %j', (usage, counted) => {
    expect(whole(said([], { usage })).usage).toEqual(counted);
  });

  it.each<[type: string, status: number]>([
    ['overloaded_error', 529],
    ['invalid_request_error', 400],
    ['rate_limit_error', 429],
    ['api_error', 500],
  ])('that is an error of the type %s has the status %i', (type, status) => {
    const { body, kept, ...answer } = readerOf().answer(
      bytesOf({ type: 'error', error: { type, message: 'No.' } }),
    );

    expect([answer.status, kept]).toEqual([status, undefined]);
    expect(parsed(body)).toEqual({ error: { type, message: 'No.', param: null, code: null } });
  });

  it.each(['{"id":"msg_1"}', 'not JSON', '[]'])('that is none is an error: %s', (body) => {
    const answer = readerOf().answer(bytesOf(body));

    expect(answer.status).toBe(502);
    expect(parsed(answer.body).error).toMatchObject({ type: 'server_error' });
  });
});

describe('an error of Messages in chat', () => {
  const errorOf = (body: unknown, status: number): unknown =>
    parsed(readerOf().error(bytesOf(body), status)).error;

  it('keeps the words and the type of the API', () => {
    const message = 'prompt is too long: 3 tokens > 2 maximum';
    const error = { type: 'invalid_request_error', message, details: { error_code: 'x' } };

    expect(errorOf({ type: 'error', error, request_id: 'req_1' }, 400)).toEqual({
      ...error,
      param: 'messages',
      code: 'context_length_exceeded',
    });
  });

  it.each<[message: string, param: string | null]>([
    ['max_tokens: 9 > 8, which is the maximum allowed number of output tokens', 'max_tokens'],
    ['messages.1.content.0.text: Field required', 'messages'],
    ['system.0.text: Field required', 'messages'],
    ['tools.2.custom.input_schema: JSON schema is invalid', 'tools[2]'],
    ['output_config.format.schema: No.', 'response_format'],
    ['Your credit balance is too low: buy more.', null],
  ])('has the name of chat for what it is about: %s', (message, param) => {
    const error = { type: 'invalid_request_error', message };
    expect(errorOf({ type: 'error', error }, 400)).toEqual({ ...error, param, code: null });
  });

  it.each<[body: string, words: string]>([
    ['upstream connect error', 'upstream connect error'],
    ['', 'The upstream answered with status 503.'],
    ['{"message":"Not here."}', 'Not here.'],
  ])('has words in any case: %j', (body, message) => {
    expect(errorOf(body, 503)).toMatchObject({ message, param: null, code: null });
  });
});

const START = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'm', content: [], usage: { input_tokens: 3, output_tokens: 1 } },
};
const STOP = { type: 'message_stop' };
const begun = (index: number, content_block: Json): Json => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, fields: Json): Json => ({ type: 'content_block_delta', index, delta: fields });
const closed = (index: number): Json => ({ type: 'content_block_stop', index });
const ended = (stop_reason: string, more: Json = {}): Json => ({
  type: 'message_delta',
  delta: { stop_reason, ...more },
  usage: { output_tokens: 9 },
});

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const anyAnswer: fc.Arbitrary<MessageAnswer> = fc.record(
  {
    content: words,
    thinking: fc.record(
      { signature: fc.string({ minLength: 1 }), text: words },
      { requiredKeys: ['signature'] },
    ),
    toolCalls: fc.array(
      fc.record({
        id: fc.uuid(),
        name: fc.constantFrom('read', 'run'),
        arguments: fc.dictionary(fc.string(), fc.jsonValue()).map((input) => JSON.stringify(input)),
      }),
      { maxLength: 3 },
    ),
    stopReason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal'),
    usage: fc.constantFrom<Json>(
      { input_tokens: 3, output_tokens: 9 },
      { input_tokens: 3, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 9 },
    ),
  },
  { requiredKeys: ['stopReason', 'usage'] },
);

describe('a stream of Messages in chat', () => {
  it('says what the whole answer says, however it is cut, to the client of OpenAI', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 8 });
    await forAllAsync(runs(15, 400), anyAnswer, sizes, fc.boolean(), async (answer, cuts, showsReasoning) => {
      const options = { ...SHOWN, showsReasoning };
      const { kept, body } = readerOf(USAGE_ASKED, options).answer(bytesOf(messageOf(REQUEST, answer)));
      const { sse, stream } = streamed(bytesOf([...messageEvents(REQUEST, answer)].join('')), cuts, options);
      const client = messageIn(await assembled(sse));
      const completion = parsed(body);
      const { reasoning_content, reasoning_details, tool_calls: whole, ...message } = messageIn(completion);
      // Of a stream, a call that is cut short has been given out.
      const { tool_calls: given } = client as { tool_calls?: Json[] };
      const isCut = answer.stopReason === 'max_tokens' && given !== undefined;
      const calls = isCut ? given.slice(0, -1) : given;
      expect(whole ?? []).toMatchObject(
        calls?.map(({ id, type, function: called }) => ({ id, type, function: called })) ?? [],
      );

      expect(client).toMatchObject({ ...message, content: message.content || null });
      expect(joined(sse, 'reasoning_content')).toBe(reasoning_content ?? '');
      expect(detailsIn(sse)).toEqual(reasoning_details ?? []);
      expect(chunksIn(sse).at(-1)?.usage).toEqual(completion.usage);
      expect(kept?.message).toEqual(kept && messageIn(completion));
      if (isCut) expect(usesIn(stream.kept)).toEqual(given.map(({ id }) => id));
      else {
        expect(stream.kept && JSON.parse(stream.kept.json)).toEqual(kept && JSON.parse(kept.json));
        expect(stream.kept?.message).toEqual(kept?.message);
      }
      expect(sse.endsWith('data: [DONE]\n\n')).toBe(true);
    });
  });

  const usesIn = (kept: KeptOutput | undefined): unknown[] =>
    (JSON.parse(kept?.json ?? '[]') as Json[]).flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []));
  const joined = (sse: string, field: string): string =>
    deltasIn(sse)
      .map((piece) => piece[field] ?? '')
      .join('');
  const detailsIn = (sse: string): unknown[] =>
    deltasIn(sse).flatMap((piece) => piece.reasoning_details ?? []);
  const deltasIn = (sse: string): Json[] =>
    chunksIn(sse).flatMap(({ choices }) => (choices as { delta: Json }[]).map((choice) => choice.delta));

  const read = (...events: Json[]) => streamed(sseOf(...events), [1_000], SHOWN);

  it('has interleaved calls, by their index', async () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} });
    const piece = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
    const { sse, stream } = read(
      START,
      begun(1, call('a')),
      begun(2, call('b')),
      delta(2, piece('{"n":')),
      delta(1, piece('{"n":1')),
      delta(2, piece('2}')),
      delta(1, piece('}')),
      closed(2),
      closed(1),
      ended('tool_use'),
      STOP,
    );

    expect(messageIn(await assembled(sse)).tool_calls).toMatchObject([
      { id: 'a', function: { arguments: '{"n":1}' } },
      { id: 'b', function: { arguments: '{"n":2}' } },
    ]);
    expect(JSON.parse(stream.kept?.json ?? '')).toEqual([
      { ...call('a'), input: { n: 1 } },
      { ...call('b'), input: { n: 2 } },
    ]);
  });

  it('has the input of a call without deltas', async () => {
    const { sse, stream } = read(START, begun(0, CALL), closed(0), ended('tool_use'), STOP);

    expect(messageIn(await assembled(sse)).tool_calls).toMatchObject([
      { function: { arguments: '{"path":"a.ts","n":1}' } },
    ]);
    expect(JSON.parse(stream.kept?.json ?? '')).toEqual([CALL]);
  });

  it('keeps citations, and what the API has run itself', () => {
    const searched = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] };
    const citation = { type: 'web_search_result_location', url: 'https://a.test' };
    const { sse, stream } = read(
      START,
      begun(0, searched),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
      begun(1, found),
      begun(2, text('')),
      delta(2, { type: 'citations_delta', citation }),
      delta(2, { type: 'text_delta', text: 'So.' }),
      ended('end_turn'),
      STOP,
    );

    expect(joined(sse, 'content')).toBe('So.');
    expect(JSON.parse(stream.kept?.json ?? '')).toEqual([
      { ...searched, input: { query: 'x' } },
      found,
      { type: 'text', text: 'So.', citations: [citation] },
    ]);
  });

  it('keeps nothing of an input that is no JSON', () => {
    const { stream } = read(
      START,
      begun(0, { ...CALL, input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"a' }),
      ended('tool_use'),
      STOP,
    );

    expect(stream.kept).toBeUndefined();
  });

  it('knows what is kept before the finish chunk is given out, and not earlier', () => {
    const stream = readerOf().stream();
    const push = (event: Json) => {
      const [frame] = new FrameSplitter().push(sseOf(event));
      const kept = stream.kept;
      return { kept, frames: frame ? stream.push(frame) : '' };
    };
    for (const event of [START, begun(0, text('So.')), ended('end_turn')]) push(event);
    const last = push(STOP);

    expect(last.kept).toBeUndefined();
    expect(last.frames).toContain('"finish_reason":"stop"');
    const message = { role: 'assistant', content: 'So.', refusal: null };
    expect(stream.kept).toEqual({ api: 'messages', json: '[{"type":"text","text":"So."}]', message });
  });

  it('has nothing for pings and unknown events, and passes comments', () => {
    const bytes = Buffer.concat([Buffer.from(': hi\n\n'), sseOf({ type: 'ping' }, { type: 'new_event' })]);

    expect(streamed(bytes, [7]).sse).toBe(': hi\n\n');
  });

  it('has the words of a refusal before its end', () => {
    const { sse } = read(START, ended('refusal', { stop_details: { explanation: 'It may do harm.' } }), STOP);

    expect(deltasIn(sse).map(({ refusal }) => refusal)).toEqual([null, 'It may do harm.', undefined]);
    expect(chunksIn(sse).some((chunk) => finishIn(chunk) === 'content_filter')).toBe(true);
  });

  it('ends with an error of the API, and neither finish nor `[DONE]`', () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' };
    const { sse, stream } = read(
      START,
      begun(0, text('So')),
      { type: 'error', error },
      ended('end_turn'),
      STOP,
    );

    expect(sse.split('\n\n').at(-2)).toBe(
      `data: ${JSON.stringify({ error: { param: null, code: null, ...error } })}`,
    );
    expect(sse).not.toContain('[DONE]');
    expect(stream.kept).toBeUndefined();
  });

  it.each([0, 1, 2, 3, 4])('that is torn after %i events is incomplete to all that reads chat', (length) => {
    const events = [
      START,
      begun(0, text('')),
      delta(0, { type: 'text_delta', text: 'So' }),
      closed(0),
      ended('end_turn'),
    ];
    const { sse, stream } = read(...events.slice(0, length));
    const chat = chatFormat.stream(undefined);
    for (const frame of new FrameSplitter().push(bytesOf(sse))) chat.push(frame);

    expect(chat.end().complete).toBe(false);
    expect(stream.kept).toBeUndefined();
  });

  it('has no usage that nobody asks for', () => {
    const stream = readerOf().stream();
    const frames = new FrameSplitter().push(sseOf(START, ended('end_turn'), STOP));

    expect(frames.map((frame) => stream.push(frame)).join('')).not.toContain('usage');
  });

  it('says in no chunk that it has no usage, where its caller does not ask', () => {
    const { sse } = streamed(sseOf(START, begun(0, text('So.')), ended('end_turn'), STOP), [99], {
      hidesUsage: true,
    });

    expect(chunksIn(sse).filter((chunk) => 'usage' in chunk)).toEqual([
      expect.objectContaining({ choices: [], usage: expect.objectContaining({ completion_tokens: 9 }) }),
    ]);
  });
});
