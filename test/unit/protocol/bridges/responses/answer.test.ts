import { describe, expect, it } from 'vitest';
import { answered, bridged, type Json, parsed } from './bridged.ts';

const HEAD = {
  id: 'resp_7',
  object: 'response',
  created_at: 1_790_000_000.5,
  model: 'gpt-6.1-sol-2026-09-01',
};
const part = (text: string, more: Json = {}): Json => ({
  type: 'output_text',
  text,
  annotations: [],
  ...more,
});
const message = (...content: Json[]): Json => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content,
});
const call = (call_id: string, name: string, args: string, more: Json = {}): Json => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: args,
  status: 'completed',
  ...more,
});
const chatCall = (id: string, name: string, args: string): Json => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Second.' },
  ],
  encrypted_content: 'gAAA',
};
const choiceOf = (
  output: unknown,
  more: Json = {},
  ...asked: [Json?, { showsReasoning: boolean }?]
): Json => {
  const { body } = answered({ ...HEAD, status: 'completed', output, ...more }, ...asked);
  return (body.choices as Json[])[0] ?? {};
};

describe('an answer', () => {
  it('has the head of the response under the names of chat', () => {
    const { body, status } = answered({ ...HEAD, status: 'completed', service_tier: 'flex', output: [] });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: 'chatcmpl-7',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: 'gpt-6.1-sol-2026-09-01',
      service_tier: 'flex',
      choices: [expect.anything()],
    });
  });

  it.each<[what: string, output: Json[], said: Json, finish: string]>([
    [
      'texts of several messages',
      [message(part('A')), reasoning, message(part('B'))],
      { content: 'A\n\nB' },
      'stop',
    ],
    ['a message without a text', [message()], {}, 'stop'],
    [
      'calls after a text',
      [message(part('I look.')), call('a', 'read', '{"p":1}'), call('b', 'read', '{}')],
      { content: 'I look.', tool_calls: [chatCall('a', 'read', '{"p":1}'), chatCall('b', 'read', '{}')] },
      'tool_calls',
    ],
    [
      'a call that has the id of its item alone',
      [{ type: 'function_call', id: 'fc_1', name: 'read', arguments: '{}' }],
      { tool_calls: [chatCall('fc_1', 'read', '{}')] },
      'tool_calls',
    ],
    [
      'calls that a model has packed into one',
      [
        call(
          'p',
          'multi_tool_use.parallel',
          JSON.stringify({
            tool_uses: [
              { recipient_name: 'functions.read', parameters: { p: 1 } },
              { recipient_name: 'list', parameters: {} },
            ],
          }),
        ),
      ],
      { tool_calls: [chatCall('p_0', 'read', '{"p":1}'), chatCall('p_1', 'list', '{}')] },
      'tool_calls',
    ],
    [
      'a packed call that holds none',
      [call('p', 'parallel', '{"tool_uses":[]}')],
      { tool_calls: [chatCall('p', 'parallel', '{"tool_uses":[]}')] },
      'tool_calls',
    ],
  ])('says %s', (_, output, said, finish_reason) => {
    expect(choiceOf(output)).toEqual({
      index: 0,
      message: { role: 'assistant', content: null, refusal: null, ...said },
      logprobs: null,
      finish_reason,
    });
  });

  it('leaves a tool of the caller alone that has the name of a pack', () => {
    const args = '{"tool_uses":[{"recipient_name":"functions.read"}]}';
    const tools = [{ type: 'function', function: { name: 'parallel' } }];
    expect(choiceOf([call('p', 'parallel', args)], {}, { tools }).message).toMatchObject({
      tool_calls: [chatCall('p', 'parallel', args)],
    });
  });

  it.each([
    ['length', { reason: 'max_output_tokens' }],
    ['content_filter', { reason: 'content_filter' }],
    ['length', null],
  ])('that is incomplete ends by %s, without a call that is not finished', (finish, incomplete_details) => {
    const output = [
      call('a', 'read', '{"p', { status: 'incomplete' }),
      call('b', 'read', '{"p'),
      { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'sel', status: 'in_progress' },
    ];
    const response = { ...HEAD, status: 'incomplete', incomplete_details, output };
    const { body, kept } = answered({ ...response, usage: { input_tokens: 3, output_tokens: 9 } });
    expect(body.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null },
        logprobs: null,
        finish_reason: finish,
      },
    ]);
    expect(body.usage).toEqual({ prompt_tokens: 3, completion_tokens: 9 });
    expect(kept).toBeUndefined();
  });

  it('that is incomplete has the calls that are whole', () => {
    const output = [call('a', 'read', '{}'), call('b', 'read', '{"p')];
    expect(choiceOf(output, { status: 'incomplete' })).toMatchObject({
      message: { tool_calls: [chatCall('a', 'read', '{}')] },
      finish_reason: 'length',
    });
  });

  it('is incomplete where its details say so and no status does', () => {
    const incomplete_details = { reason: 'content_filter' };
    const { body, kept } = answered({ ...HEAD, incomplete_details, output: [message(part('A'))] });
    expect((body.choices as Json[])[0]).toMatchObject({ finish_reason: 'content_filter' });
    expect(kept).toBeUndefined();
  });
});

describe('an answer that has failed', () => {
  it.each<[status: number, type: string, code: string]>([
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
    [429, 'rate_limit_error', 'insufficient_quota'],
    [400, 'invalid_request_error', 'invalid_prompt'],
    [400, 'invalid_request_error', 'context_length_exceeded'],
    [400, 'invalid_request_error', 'image_too_large'],
    [500, 'server_error', 'server_error'],
    [500, 'server_error', 'vector_store_timeout'],
  ])('has the status %i and the type %s for %s', (status, type, code) => {
    const failed = { ...HEAD, status: 'failed', error: { code, message: 'So it is.' }, output: [] };
    expect(answered(failed)).toEqual({
      status,
      body: { error: { message: 'So it is.', type, param: null, code } },
    });
  });

  it.each<[what: string, response: Json, status: number, error: Json]>([
    [
      'an error with the status of an answer',
      { error: { message: 'Slow down.', code: 'rate_limit_exceeded' } },
      429,
      { message: 'Slow down.', code: 'rate_limit_exceeded' },
    ],
    ['no output', HEAD, 502, { message: 'The upstream sent an answer without output.', code: null }],
    ...['queued', 'in_progress', 'cancelled'].map((status): [string, Json, number, Json] => [
      `the status ${status}`,
      { ...HEAD, status, output: [message(part('Half'))] },
      502,
      { message: `The upstream sent an answer that is not complete: its status is ${status}.` },
    ]),
  ])('is one with %s', (_, response, status, error) => {
    const answer = answered(response);
    expect(answer).toMatchObject({ status, body: { error } });
    expect(answer.body.choices).toBeUndefined();
  });

  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

  it('keeps all that an error in the form of chat says', () => {
    const error = { message: 'No.', type: 'invalid_request_error', param: 'top_p', code: null, hint: 'x' };
    const { reader } = bridged({});
    expect(parsed(reader.error(encode(JSON.stringify({ error })), 400))).toEqual({ error });
  });

  it.each<[param: string, inChat: string, chat?: Json]>([
    ['input', 'messages'],
    ['input[1].content[0].image_url', 'messages'],
    ['max_output_tokens', 'max_tokens'],
    ['max_output_tokens', 'max_completion_tokens', { max_completion_tokens: 20 }],
    ['reasoning.effort', 'reasoning_effort'],
    ['text.format.schema', 'response_format'],
    ['text.verbosity', 'verbosity'],
    ['tools[1].parameters', 'tools[1]'],
  ])('names %s as the caller does: %s', (param, inChat, chat = {}) => {
    const error = { message: 'No.', type: 'invalid_request_error', param, code: null };
    const { reader } = bridged(chat);
    const { error: said } = parsed(reader.error(encode(JSON.stringify({ error })), 400));
    expect(said).toEqual({ ...error, param: inChat });
  });

  it.each<[what: string, body: string, message: string]>([
    ['a text', 'upstream connect error', 'upstream connect error'],
    ['nothing', '', 'The upstream answered with status 503.'],
    ['its own fields', '{"message":"Busy.","code":"busy"}', 'Busy.'],
    ['unknown fields', '{"detail":"Busy."}', '{"detail":"Busy."}'],
    ['a text as its error', '{"error":"Busy."}', 'Busy.'],
  ])('has the words of an error with %s', (_, body, words) => {
    const { error } = parsed(bridged({}).reader.error(encode(body), 503));
    expect(error).toMatchObject({ message: words, type: 'server_error', param: null });
  });
});

describe('what is kept of an answer', () => {
  const output = [
    reasoning,
    { ...message(part('I look.')), phase: 'commentary' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
    { ...reasoning, id: 'rs_2', summary: [], status: 'completed' },
    call('a', 'read', '{}'),
    { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'sql', input: 'x', status: 'completed' },
  ];
  const keptOf = (response: Json): unknown => {
    const { kept } = answered({ ...HEAD, status: 'completed', ...response });
    return kept && { api: kept.api, json: JSON.parse(kept.json) };
  };

  it('is every item in its order: reasoning with its id, messages and calls without', () => {
    expect(keptOf({ output })).toEqual({
      api: 'responses',
      json: [
        reasoning,
        { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
        { ...reasoning, id: 'rs_2', summary: [] },
        { type: 'function_call', call_id: 'a', name: 'read', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'x' },
      ],
    });
  });

  it('has no reasoning that only the upstream has stored', () => {
    const { encrypted_content: _, ...stored } = reasoning;
    expect(keptOf({ output: [stored, message(part('Hi.'))] })).toMatchObject({
      json: [{ role: 'assistant', content: 'Hi.' }],
    });
  });

  it('has the calls of a pack under the ids that the caller knows', () => {
    const args = '{"tool_uses":[{"recipient_name":"functions.read","parameters":{}}]}';
    expect(keptOf({ output: [reasoning, call('p', 'parallel', args)] })).toMatchObject({
      json: [reasoning, { type: 'function_call', call_id: 'p_0', name: 'read', arguments: '{}' }],
    });
  });

  it('reads like the answer', () => {
    const { body, kept } = answered({ ...HEAD, status: 'completed', output });
    const again = answered({ ...HEAD, status: 'completed', output: JSON.parse(kept?.json ?? '') });
    expect(again).toEqual({ body, status: 200, kept });
    expect(kept?.message).toEqual((body.choices as Json[])[0]?.message);
  });

  it('is nothing where there is none', () => {
    expect(keptOf({ output: [] })).toBeUndefined();
    expect(keptOf({ output, status: 'incomplete' })).toBeUndefined();
    expect(keptOf({ output, status: 'failed' })).toBeUndefined();
  });
});

describe('an answer of the status 200 with an error', () => {
  it.each([
    [{ error: 'The quota is exceeded.' }],
    [{ error: { message: 'The quota is exceeded.' } }],
    [{ type: 'error', message: 'The quota is exceeded.' }],
  ])('has its words (%j)', (response) => {
    const { body, status, kept } = answered(response);
    expect({ status, kept }).toEqual({ status: 500, kept: undefined });
    expect(body).toMatchObject({ error: { message: 'The quota is exceeded.', type: 'server_error' } });
  });
});

describe('an upstream that only streams', () => {
  const events = (...all: Json[]): Uint8Array =>
    new TextEncoder().encode(all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const ended = { type: 'response.output_item.done', output_index: 0, item: message(part('Hi.')) };
  const completed = (output: Json[]): Json => ({
    type: 'response.completed',
    response: { ...HEAD, status: 'completed', output },
  });

  it.each<[what: string, body: Uint8Array]>([
    ['with its output', events(completed([message(part('Hi.'))]))],
    ['without it', events(ended, completed([]))],
  ])('is read as an answer from its last event, %s', (_, body) => {
    const { reader } = bridged({});
    const answer = reader.answer(body);
    expect(parsed(answer.body)).toMatchObject({ choices: [{ message: { content: 'Hi.' } }] });
    expect(answer.kept).toBeDefined();
  });

  it('is read as cut short where it is', () => {
    const incomplete = { type: 'response.incomplete', response: { ...HEAD, output: [] } };
    const { body, kept } = bridged({}).reader.answer(events(ended, incomplete));
    const choice = { message: { content: 'Hi.' }, finish_reason: 'length' };
    expect(parsed(body)).toMatchObject({ choices: [choice] });
    expect(kept).toBeUndefined();
  });

  it('is an error where it breaks off', () => {
    const { status, body, kept } = bridged({}).reader.answer(events(ended));
    expect([status, parsed(body).choices, kept]).toEqual([502, undefined, undefined]);
  });

  it('is read as an error where it has failed', () => {
    const error = { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down.' };
    const { status, body } = bridged({}).reader.answer(events(error));
    expect({ status, body: parsed(body) }).toMatchObject({
      status: 429,
      body: { error: { message: 'Slow down.' } },
    });
  });
});
