/** The mapping between chat and Responses, row by row: what is sent, and what its caller gets. */
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type Behaviour, refuse, sendJson } from '../../../tools/upstream/behaviours.ts';
import { type Mapped, mapped } from '../../support/clients/mapped-answers.ts';
import { assistant, system } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';

type Json = Record<string, unknown>;
type Sends = Extract<Behaviour, (...given: never[]) => void>;

const MODEL = 'gpt-6-astra';
const ENCRYPTED = 'reasoning.encrypted_content';
const LONG = 'x'.repeat(65);

const deployment = deploy();

let made = 0;

const askFor = (chat: Json): Promise<Response> =>
  deployment.chat({
    model: MODEL,
    memory_strategy: { mode: 'none', upstream_api: 'responses' },
    messages: [user('Go.')],
    ...chat,
  });

/** What the upstream was asked, beside whether it knows the key. */
const posted = () => deployment.upstream.requests.filter(({ method }) => method === 'POST');

/** Asks, and gives what the upstream has got. */
async function sentFor(chat: Json): Promise<Json> {
  const answer = await mapped(await askFor(chat));
  expect(answer).toMatchObject({ status: 200, isWhole: true });
  const sent = posted().at(-1);
  expect(sent?.path).toBe('/v1/responses');
  return sent?.body ?? {};
}

const user = (content: unknown): Json => ({ role: 'user', content });
const text = (words: string, more: Json = {}): Json => ({ type: 'input_text', text: words, ...more });
const schema = {
  type: 'object',
  properties: { at: { type: 'string' } },
  required: ['at'],
  additionalProperties: false,
};
const look = { name: 'look', description: 'Looks.', parameters: schema };
const grammar = { definition: 'start: "a"', syntax: 'lark' };
const format = { name: 'plan', description: 'A plan.', schema };
const PNG = 'data:image/png;base64,AA==';

inBothForms('a field of chat', (stream) => {
  it.each<[row: string, chat: Json, body: Json]>([
    ...Object.entries({
      metadata: { run: '7' },
      user: 'ada',
      safety_identifier: 'a1',
      service_tier: 'flex',
      parallel_tool_calls: false,
      temperature: 0.2,
      top_p: 0.9,
      prompt_cache_key: 'k',
      prompt_cache_options: { mode: 'explicit' },
      prompt_cache_retention: '24h',
    }).map(([name, value]): [string, Json, Json] => [`${name}: same`, { [name]: value }, { [name]: value }]),
    ['temperature and top_p of 1: none', { temperature: 1, top_p: 1 }, {}],
    ['store', { store: true }, { store: true }],
    ['max_completion_tokens', { max_completion_tokens: 900 }, { max_output_tokens: 900 }],
    ['max_tokens', { max_tokens: 800 }, { max_output_tokens: 800 }],
    ['max_tokens below 16', { max_tokens: 3 }, { max_output_tokens: 16 }],
    ['reasoning_effort', { reasoning_effort: 'high' }, { reasoning: { effort: 'high' } }],
    ['include_reasoning', { include_reasoning: true }, { reasoning: { summary: 'auto' } }],
    ['verbosity', { verbosity: 'low' }, { text: { verbosity: 'low' } }],
    [
      'response_format of a schema',
      { response_format: { type: 'json_schema', json_schema: { ...format, strict: true } } },
      { text: { format: { type: 'json_schema', ...format, strict: true } } },
    ],
    [
      'response_format of a schema that is not strict',
      { response_format: { type: 'json_schema', json_schema: format } },
      { text: { format: { type: 'json_schema', ...format, strict: false } } },
    ],
    [
      'response_format of JSON',
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
    ],
    [
      'response_format of text',
      { response_format: { type: 'text' } },
      { text: { format: { type: 'text' } } },
    ],
    [
      'tools: functions, strict or not, and custom tools',
      {
        tools: [
          { type: 'function', function: look },
          { type: 'function', function: { ...look, name: 'see', strict: true } },
          { type: 'custom', custom: { name: 'sql', format: { type: 'grammar', grammar } } },
        ],
      },
      {
        tools: [
          { type: 'function', ...look, strict: false },
          { type: 'function', ...look, name: 'see', strict: true },
          { type: 'custom', name: 'sql', format: { type: 'grammar', ...grammar } },
        ],
      },
    ],
    ...['auto', 'none', 'required'].map((tool_choice): [string, Json, Json] => [
      `tool_choice: ${tool_choice}`,
      { tool_choice },
      { tool_choice },
    ]),
    ...(['function', 'custom'] as const).map((type): [string, Json, Json] => [
      `tool_choice: a tool (${type})`,
      { tool_choice: { type, [type]: { name: 'look' } } },
      { tool_choice: { type, name: 'look' } },
    ]),
    [
      'tool_choice: allowed_tools',
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
        },
      },
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] } },
    ],
    [
      'web_search_options',
      {
        web_search_options: {
          search_context_size: 'low',
          user_location: { type: 'approximate', approximate: { city: 'Graz' } },
        },
      },
      {
        tools: [
          {
            type: 'web_search',
            search_context_size: 'low',
            user_location: { type: 'approximate', city: 'Graz' },
          },
        ],
      },
    ],
    [
      'logprobs',
      { logprobs: true, top_logprobs: 2 },
      { include: [ENCRYPTED, 'message.output_text.logprobs'], top_logprobs: 2 },
    ],
    [
      'stream_options',
      { stream_options: { include_usage: true, include_obfuscation: false } },
      { stream_options: { include_obfuscation: false } },
    ],
    [
      'n of 1, idle penalties, seed, an empty logit_bias',
      { n: 1, frequency_penalty: 0, presence_penalty: 0, seed: 7, logit_bias: {} },
      {},
    ],
  ])('%s', async (_, chat, body) => {
    const input = [user([text('Go.')])];
    const base = { model: MODEL, store: false, include: [ENCRYPTED], input, stream };
    expect(await sentFor({ stream, ...chat })).toEqual({ ...base, ...body });
  });

  it.each(['stop', 'logit_bias', 'frequency_penalty', 'presence_penalty'])('%s is refused', async (param) => {
    deployment.upstream.requests.length = 0;
    const value = { stop: ['x'], logit_bias: { 5: 1 } }[param] ?? 0.5;
    const { status, error } = await mapped(await askFor({ stream, [param]: value }));
    const message = `Unsupported parameter: '${param}' is not supported with this model.`;
    const type = 'invalid_request_error';
    expect({ status, error }).toEqual({
      status: 400,
      error: { message, type, param, code: 'unsupported_parameter' },
    });
    expect(posted()).toEqual([]);
  });

  const called = (id: string, name = 'look'): Json => ({
    ...{ id, type: 'function', function: { name, arguments: '{"at":"a"}' } },
  });
  const call = (call_id: string, name = 'look'): Json => ({
    ...{ type: 'function_call', call_id, name, arguments: '{"at":"a"}' },
  });
  const result = (tool_call_id: string, content: unknown = 'ok'): Json => ({
    ...{ role: 'tool', tool_call_id, content },
  });
  const output = (call_id: string, said: unknown = 'ok'): Json => ({
    ...{ type: 'function_call_output', call_id, output: said },
  });
  const details = [{ type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_1', data: 'gA' }];

  it.each<[row: string, messages: Json[], input: Json[]]>([
    [
      'system and developer, also in the middle; a name is dropped',
      [
        { role: 'system', name: 's', content: 'Be.' },
        { ...user('Hi.'), name: 'ada' },
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        user(''),
      ],
      [
        system([text('Be.')]),
        user([text('Hi.')]),
        { role: 'developer', content: [text('Be brief.')] },
        user([text('')]),
      ],
    ],
    [
      'user: texts, images, files',
      [
        user([
          { type: 'text', text: 'See.', prompt_cache_breakpoint: { ttl: '1h' } },
          { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
          { type: 'file', file: { file_id: 'file_1' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:x' } },
        ]),
      ],
      [
        user([
          text('See.', { prompt_cache_breakpoint: { ttl: '1h' } }),
          { type: 'input_image', image_url: PNG, detail: 'low' },
          { type: 'input_file', file_id: 'file_1' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:x' },
        ]),
      ],
    ],
    [
      'assistant: text, refusal',
      [
        user('Hi.'),
        assistant('Yes.'),
        user('So?'),
        { role: 'assistant', content: null, refusal: 'No.' },
        user('Why?'),
      ],
      [user([text('Hi.')]), assistant('Yes.'), user([text('So?')]), assistant('No.'), user([text('Why?')])],
    ],
    [
      'tool_calls with a text or an empty one, and their results, also of custom tools',
      [
        user('Hi.'),
        { role: 'assistant', content: 'I look.', tool_calls: [called('a')] },
        result('a', [
          { type: 'text', text: 'Seen.' },
          { type: 'image_url', image_url: { url: PNG } },
          { type: 'file', file: { file_id: 'file_1' } },
        ]),
        {
          ...assistant(''),
          tool_calls: [called('b'), { id: 'c', type: 'custom', custom: { name: 'sql', input: 'x' } }],
        },
        result('c', ''),
        result('b'),
      ],
      [
        user([text('Hi.')]),
        assistant('I look.'),
        call('a'),
        output('a', [
          text('Seen.'),
          { type: 'input_image', image_url: PNG },
          { type: 'input_file', file_id: 'file_1' },
        ]),
        call('b'),
        { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'c', output: '' },
        output('b'),
      ],
    ],
    [
      'reasoning_details before what followed; other reasoning is none',
      [
        user('Hi.'),
        { role: 'assistant', content: 'Yes.', reasoning_details: details, reasoning_content: 'Hm.' },
        user('So?'),
      ],
      [
        user([text('Hi.')]),
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gA' },
        assistant('Yes.'),
        user([text('So?')]),
      ],
    ],
    [
      'ids and names of more than 64 characters',
      [user('Hi.'), { role: 'assistant', tool_calls: [called(LONG, LONG)] }, result(LONG)],
      [
        user([text('Hi.')]),
        {
          ...call('', ''),
          call_id: expect.stringMatching(/^call_[\w-]{43}$/),
          name: expect.stringMatching(/^tool_[\w-]{43}$/),
        },
        { ...output(''), call_id: expect.stringMatching(/^call_[\w-]{43}$/) },
      ],
    ],
  ])('messages: %s', async (_, messages, input) => {
    expect((await sentFor({ stream, messages })).input).toEqual(input);
  });

  it.each<[row: string, messages: Json[]]>([
    ['a result without its call', [user('Hi.'), result('a')]],
    [
      'two results of a call',
      [user('Hi.'), { role: 'assistant', tool_calls: [called('a')] }, result('a'), result('a')],
    ],
  ])('messages that are refused, as by chat: %s', async (_, messages) => {
    const { status, error } = await mapped(await askFor({ stream, messages }));
    expect(status).toBe(400);
    expect(error?.message).toContain('no tool call found');
  });
});

const part = (words: string, more: Json = {}): Json => ({
  ...{ type: 'output_text', text: words, annotations: [], logprobs: [] },
  ...more,
});
const message = (...content: Json[]): Json => ({
  ...{ type: 'message', id: `msg_${++made}`, role: 'assistant', status: 'completed', content },
});
const toolCall = (call_id: string, name = 'look', args = '{}'): Json => ({
  ...{ type: 'function_call', id: `fc_${++made}`, call_id, name, arguments: args, status: 'completed' },
});
const custom = (call_id: string): Json => ({
  ...{ type: 'custom_tool_call', id: `ctc_${++made}`, call_id, name: 'sql', input: 'x', status: 'completed' },
});
const chatCall = (id: string, name = 'look', args = '{}'): Json => ({
  ...{ id, type: 'function', function: { name, arguments: args } },
});
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: ['First.', 'Second.'].map((words) => ({ type: 'summary_text', text: words })),
  encrypted_content: 'gAAA',
};
const HEAD = { id: 'resp_7', object: 'response', created_at: 1_790_000_000, model: 'gpt-6-astra-2026' };

/** The events of a response, with all that its items have in deltas. */
function* eventsFor(response: Json): Generator<Json> {
  const { status = 'completed', output = [] } = response as { status?: string; output?: Json[] };
  yield { type: 'response.created', response: { ...HEAD, status: 'in_progress', output: [] } };
  yield { type: 'response.in_progress', response: { ...HEAD, status: 'in_progress', output: [] } };
  for (const [output_index, item] of output.entries()) {
    const { content = [], summary = [] } = item as { content?: Json[]; summary?: Json[] };
    const at = { output_index, item_id: item.id };
    const begun = { ...item, content: [], summary: [], arguments: '', input: '', status: 'in_progress' };
    yield { type: 'response.output_item.added', output_index, item: begun };
    for (const [summary_index, { text: delta }] of summary.entries())
      yield { type: 'response.reasoning_summary_text.delta', ...at, summary_index, delta };
    for (const [
      content_index,
      { type, text: words, refusal, logprobs, annotations = [] },
    ] of content.entries()) {
      const delta = words ?? refusal;
      yield { type: `response.${type}.delta`, ...at, content_index, delta, logprobs };
      for (const annotation of annotations as Json[])
        yield { type: 'response.output_text.annotation.added', ...at, content_index, annotation };
    }
    if (item.type === 'function_call')
      for (const delta of String(item.arguments).match(/.{1,4}/gs) ?? [])
        yield { type: 'response.function_call_arguments.delta', ...at, delta };
    yield { type: 'response.output_item.done', output_index, item };
  }
  yield { type: `response.${status}`, response: { ...HEAD, ...response, status } };
}

const sse = (events: Iterable<Json>): string =>
  [...events].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const streams =
  (events: Iterable<Json>): Sends =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(sse(events));
  };

const answers =
  (whole: Json): Sends =>
  (request, response, recorded) => {
    if (recorded.body.stream) streams(eventsFor(whole))(request, response, recorded);
    else sendJson(response, { ...HEAD, status: 'completed', ...whole });
  };

inBothForms('an answer of Responses', (stream) => {
  async function answer(behaviour: Behaviour, chat: Json = {}): Promise<Mapped> {
    deployment.upstream.next(behaviour);
    return mapped(await askFor({ stream, ...chat }));
  }

  const citation = (start: number): Json => ({
    ...{ start_index: start, end_index: start + 2, title: 'T', url: 'https://example.com/' },
  });
  const cited = (words: string, start: number): Json =>
    part(words, { annotations: [{ type: 'url_citation', ...citation(start) }] });
  const token = { token: 'Hi.', bytes: null, logprob: -0.1, top_logprobs: [] };
  const pack = JSON.stringify({ tool_uses: [{ recipient_name: 'functions.look', parameters: { at: 1 } }] });
  const detail = { type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_1', data: 'gAAA' };

  it.each<[row: string, output: Json[], said: Json, finish?: string, chat?: Json]>([
    ['a text', [message(part('Hi.'))], { content: 'Hi.' }],
    ['several messages', [message(part('A')), message(part('B'), part('C'))], { content: 'A\n\nBC' }],
    ['no message', [], {}],
    ['a refusal', [message({ type: 'refusal', refusal: 'No.' })], { refusal: 'No.' }],
    [
      'citations, moved',
      [message(cited('Abcd', 1)), message(cited('Efg', 0), cited('Hij', 1))],
      {
        content: 'Abcd\n\nEfgHij',
        annotations: [1, 6, 10].map((at) => ({ type: 'url_citation', url_citation: citation(at) })),
      },
    ],
    [
      'calls of functions and of custom tools, by call_id',
      [message(part('I look.')), toolCall('a', 'look', '{"at":"b"}'), custom('c')],
      {
        content: 'I look.',
        tool_calls: [
          chatCall('a', 'look', '{"at":"b"}'),
          { id: 'c', type: 'custom', custom: { name: 'sql', input: 'x' } },
        ],
      },
      'tool_calls',
    ],
    [
      'calls in one',
      [toolCall('p', 'multi_tool_use.parallel', pack)],
      { tool_calls: [chatCall('p_0', 'look', '{"at":1}')] },
      'tool_calls',
    ],
    ['reasoning, which nobody asks to see', [reasoning, message(part('Hi.'))], { content: 'Hi.' }],
    [
      'reasoning on request',
      [reasoning, message(part('Hi.'))],
      {
        content: 'Hi.',
        reasoning_content: 'First.\n\nSecond.',
        reasoning_details: [{ ...detail, index: 0 }],
      },
      'stop',
      { include_reasoning: true },
    ],
    [
      'calls of the API itself, which are not shown',
      [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} }, message(part('Hi.'))],
      { content: 'Hi.' },
    ],
  ])('says %s', async (_, output, said, finish_reason = 'stop', chat = {}) => {
    const { status, choice, head } = await answer(answers({ output }), chat);
    const whole = { role: 'assistant', content: null, refusal: null, ...said };
    expect({ status, choice }).toEqual({
      status: 200,
      choice: { index: 0, message: whole, logprobs: null, finish_reason },
    });
    const object = stream ? 'chat.completion.chunk' : 'chat.completion';
    const { model, created_at: created } = HEAD;
    expect(head).toEqual({ id: 'chatcmpl-7', object, created, model });
  });

  it('has log probabilities, and the service tier', async () => {
    const output = [message(part('Hi.', { logprobs: [token] }))];
    const { choice, head } = await answer(answers({ output, service_tier: 'flex' }));
    expect(choice.logprobs).toEqual({ content: [token], refusal: null });
    expect(head.service_tier).toBe('flex');
  });

  it('has ids and names of more than 64 characters as its caller knows them', async () => {
    let ids: Json = {};
    const { choice } = await answer(
      (request, response, recorded) => {
        const [, { call_id, name }] = recorded.body.input as [Json, { call_id: string; name: string }];
        ids = { call_id, name };
        answers({ output: [toolCall(call_id, name)] })(request, response, recorded);
      },
      {
        tools: [{ type: 'function', function: { ...look, name: LONG } }],
        messages: [
          user('Hi.'),
          { role: 'assistant', tool_calls: [chatCall(LONG, LONG)] },
          { role: 'tool', tool_call_id: LONG, content: '' },
        ],
      },
    );
    expect([ids.call_id, ids.name].map((id) => String(id).length)).toEqual([48, 48]);
    expect(choice.message).toMatchObject({ tool_calls: [chatCall(LONG, LONG)] });
  });

  const half = { ...toolCall('a', 'look', '{"a'), status: 'incomplete' };

  it.each<[reason: string | undefined, finish: string, output: Json[]]>([
    ['max_output_tokens', 'length', [message(part('A'))]],
    ['max_output_tokens', 'length', []],
    ['content_filter', 'content_filter', [message(part('A'))]],
    [undefined, 'length', []],
  ])('that is incomplete (%s) ends by %s, with its usage', async (reason, finish_reason, output) => {
    const usage = { input_tokens: 3, output_tokens: 9 };
    const cut = { status: 'incomplete', incomplete_details: reason ? { reason } : null, output, usage };
    const given = await answer(answers(cut), { stream_options: { include_usage: true } });
    const content = output.length > 0 ? 'A' : null;
    expect(given).toMatchObject({
      choice: { finish_reason, message: assistant(content) },
      usage: { prompt_tokens: 3, completion_tokens: 9 },
    });
  });

  it('that is incomplete has no call that only its end names', async () => {
    const whole = { status: 'incomplete', output: [half] };
    const last = { type: 'response.incomplete', response: { ...HEAD, ...whole } };
    const { choice } = await answer(stream ? streams([last]) : answers(whole));
    expect(choice).toMatchObject({ finish_reason: 'length' });
    expect(choice.message).not.toHaveProperty('tool_calls');
  });

  it.each<[what: string, usage: unknown, counted: unknown]>([
    ['absent', undefined, undefined],
    ['null', null, undefined],
    [
      'with each detail',
      {
        input_tokens: 90,
        input_tokens_details: { cached_tokens: 64, cache_write_tokens: 7 },
        output_tokens: 8,
        output_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 98,
      },
      {
        prompt_tokens: 90,
        prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 7 },
        completion_tokens: 8,
        completion_tokens_details: { reasoning_tokens: 5 },
        total_tokens: 98,
      },
    ],
    [
      'with a write of 0',
      {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 1,
      },
      {
        prompt_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        completion_tokens: 1,
      },
    ],
    [
      'with 0, and without what is absent',
      { input_tokens: 0, input_tokens_details: { cached_tokens: 0 }, output_tokens: 0 },
      { prompt_tokens: 0, prompt_tokens_details: { cached_tokens: 0 }, completion_tokens: 0 },
    ],
  ])('has its usage: %s', async (_, usage, counted) => {
    const asks = { stream_options: { include_usage: true } };
    const given = await answer(answers({ output: [message(part('A'))], usage }), asks);
    expect(given.usage).toEqual(counted);
  });

  it.each<[code: string, status: number]>([
    ['rate_limit_exceeded', 429],
    ['insufficient_quota', 429],
    ['invalid_prompt', 400],
    ['server_error', 500],
  ])('that has failed (%s) is an error of the status %i', async (code, status) => {
    const error = { code, message: 'So it is.' };
    const given = await answer(answers({ status: 'failed', error, output: [] }));
    expect(given).toMatchObject({ status, error, isWhole: false });
  });

  it('that is an error of its server has its words', async () => {
    const given = await answer((_, response) => refuse(response, 403, 'Not yours.', 'forbidden'));
    expect(given).toMatchObject({ status: 403, error: { message: 'Not yours.', code: 'forbidden' } });
  });

  it('reports what is not said', async () => {
    deployment.upstream.next(answers({ output: [message(part('A'))] }));
    const chat = { stream, seed: 1, max_tokens: 2, memory_report: true };
    const { head } = await mapped(await askFor({ ...chat, messages: [{ ...user('Hi.'), name: 'ada' }] }));
    const { upstream_api } = head.memory as Report;
    const notices = ['seed_dropped', 'max_tokens_raised', 'names_dropped'];
    expect(upstream_api).toEqual({ api: 'responses', because: 'setting', notices });
  });
});

describe('a stream of Responses', () => {
  const streamed = async (events: readonly Json[]): Promise<Mapped> => {
    deployment.upstream.next(streams(events));
    return mapped(await askFor({ stream: true, stream_options: { include_usage: true } }));
  };
  const [created = {}] = eventsFor({});
  const completed = (output: Json[] = []): Json => ({
    type: 'response.completed',
    response: { ...HEAD, status: 'completed', output },
  });
  const at = (output_index: number, type: string, more: Json): Json => ({
    ...{ type: `response.${type}`, output_index, ...more },
  });

  it.each<[row: string, events: Json[], said: Json]>([
    [
      'calls at once, by their index, whatever their ids',
      [
        at(0, 'output_item.added', { item: toolCall('a', 'look', '') }),
        at(1, 'output_item.added', { item: toolCall('b', 'look', '') }),
        at(1, 'function_call_arguments.delta', { item_id: 'x', delta: '{"b":' }),
        at(0, 'function_call_arguments.delta', { item_id: 'y', delta: '{"a":' }),
        at(1, 'function_call_arguments.delta', { item_id: 'z', delta: '1}' }),
        at(0, 'function_call_arguments.done', { arguments: '{"a":2}' }),
      ],
      { tool_calls: [chatCall('a', 'look', '{"a":2}'), chatCall('b', 'look', '{"b":1}')] },
    ],
    [
      'of each end only what no delta has brought',
      [
        at(0, 'output_item.added', { item: message() }),
        at(0, 'output_text.delta', { content_index: 0, delta: 'Hi' }),
        at(0, 'output_text.done', { content_index: 0, text: 'Hi.' }),
        at(0, 'output_item.done', { item: message(part('Hi.')) }),
        at(1, 'output_item.done', { item: message(part('So.')) }),
        at(2, 'some_day.done', { item: 'x' }),
      ],
      { content: 'Hi.\n\nSo.' },
    ],
    ['what only its last event has', [completed([message(part('Hi.'))])], { content: 'Hi.' }],
  ])('has %s', async (_, events, said) => {
    const isOver = events.at(-1)?.type === 'response.completed';
    const { choice, isWhole } = await streamed([created, ...events, ...(isOver ? [] : [completed()])]);
    expect(isWhole).toBe(true);
    expect(choice.message).toEqual({ role: 'assistant', content: null, refusal: null, ...said });
  });

  it.each<[row: string, events: Json[], status: number, error: Json]>([
    [
      'has failed',
      [{ type: 'response.failed', response: { error: { code: 'server_error', message: 'Oh.' } } }],
      500,
      { message: 'Oh.', code: 'server_error' },
    ],
    ['has an error', [{ type: 'error', message: 'Oh.', code: 'server_error' }], 500, { message: 'Oh.' }],
    [
      'has an error of its type',
      [{ type: 'error', error: { type: 'invalid_request_error', code: null, message: 'Oh.' } }],
      400,
      { message: 'Oh.', type: 'invalid_request_error' },
    ],
    [
      'has a limit of its type',
      [{ type: 'error', error: { type: 'rate_limit_error', message: 'Oh.' } }],
      429,
      { message: 'Oh.', type: 'rate_limit_error' },
    ],
    ['is torn', [], 502, { type: 'server_error', code: 'upstream_unreachable' }],
  ])(
    'that %s is an error: of a status, or after its words without [DONE]',
    async (_, events, status, error) => {
      const thought = at(0, 'output_item.done', { item: reasoning });
      const refused = await streamed([created, thought, ...events]);
      expect(refused).toMatchObject({ status, isWhole: false, error });
      const text = at(1, 'output_text.delta', { content_index: 0, delta: 'Hi' });
      const { choice, ...given } = await streamed([created, thought, text, ...events]);
      expect(given).toMatchObject({ status: 200, isWhole: false, error });
      expect(choice).toMatchObject({ message: { content: 'Hi' }, finish_reason: undefined });
    },
  );
});
