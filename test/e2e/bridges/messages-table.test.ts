/** The mapping between chat and Messages, row by row: what is sent, and what its caller gets. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../tools/upstream/message.ts';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { type Mapped, mapped } from '../../support/clients/mapped-answers.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';
import { deployMessages } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

/** Takes an effort, and thinks only if it is asked to. */
const MODEL = 'claude-opus-4-8';
/** Takes a budget and sampling, and no messages of the system. */
const OLDER = 'claude-sonnet-4-5';
/** Thinks unasked, and can't be forced to call. */
const NEWER = 'claude-opus-5-5';

const deployment = deployMessages({ refuses: true });

const askFor = (chat: Json): Promise<Response> =>
  deployment.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      memory_strategy: { mode: 'none', upstream_api: 'messages' },
      messages: [user('Go.')],
      ...chat,
    }),
  });

/** What the upstream was asked, beside whether it knows the key. */
const posted = () => deployment.upstream.requests.filter(({ method }) => method === 'POST');

/** Asks, and gives what the upstream has got, and what is said of it. */
async function sentFor(chat: Json): Promise<{ seen: RecordedRequest; notices: readonly string[] }> {
  const answer = await mapped(await askFor({ memory_report: true, ...chat }));
  expect(answer).toMatchObject({ status: 200, isWhole: true });
  const seen = deployment.upstream.messages().at(-1) as RecordedRequest;
  const { upstream_api } = answer.head.memory as Report;
  return { seen, notices: upstream_api?.notices ?? [] };
}

const user = (content: unknown): Json => ({ role: 'user', content });
const system = (content: unknown): Json => ({ role: 'system', content });
const says = (content: unknown, more: Json = {}): Json => ({ role: 'assistant', content, ...more });
const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
const mark = { cache_control: { type: 'ephemeral' } };
const schema = { type: 'object', properties: { at: { type: 'string' } } };
const enforced = { ...schema, additionalProperties: false };
const look = { name: 'look', description: 'Looks.', parameters: schema };
const tools = [{ type: 'function', function: look }];
const sentTools = [{ name: 'look', description: 'Looks.', input_schema: schema }];
const adaptive = { type: 'adaptive' };

inBothForms('a field of chat', (stream) => {
  it.each<[row: string, chat: Json, body: Json, notices?: string[]]>([
    ['max_completion_tokens', { max_completion_tokens: 900 }, { max_tokens: 900 }],
    ['max_tokens', { max_tokens: 800 }, { max_tokens: 800 }],
    ['no limit: the longest answer', {}, {}],
    ['stop', { stop: 'END' }, { stop_sequences: ['END'] }],
    ['user', { user: 'ada' }, { metadata: { user_id: 'ada' } }],
    ['service_tier', { service_tier: 'default' }, { service_tier: 'standard_only' }],
    ['temperature, top_p', { model: OLDER, temperature: 0.2 }, { max_tokens: 64_000, temperature: 0.2 }],
    [
      'temperature above 1',
      { model: OLDER, temperature: 1.5 },
      { max_tokens: 64_000, temperature: 1 },
      ['temperature_lowered'],
    ],
    ['temperature that the model refuses', { temperature: 0.2 }, {}, ['temperature_dropped']],
    ...(['seed', 'presence_penalty', 'frequency_penalty'] as const).map(
      (name): [string, Json, Json, string[]] => [`${name}: none`, { [name]: 1.5 }, {}, [`${name}_dropped`]],
    ),
    [
      'reasoning_effort',
      { reasoning_effort: 'high' },
      { thinking: adaptive, output_config: { effort: 'high' } },
    ],
    [
      'reasoning_effort of an older model',
      { model: OLDER, reasoning_effort: 'low', max_tokens: 10_000 },
      { max_tokens: 10_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    ],
    ['reasoning_effort: none', { reasoning_effort: 'none' }, {}],
    [
      'reasoning_effort: none, where it thinks unasked',
      { model: 'claude-opus-5', reasoning_effort: 'none' },
      { thinking: { type: 'disabled' } },
    ],
    [
      'include_reasoning',
      { model: NEWER, include_reasoning: true },
      { thinking: { ...adaptive, display: 'summarized' } },
    ],
    [
      'response_format of a schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'plan', schema } } },
      { output_config: { format: { type: 'json_schema', schema: enforced } } },
    ],
    [
      'response_format of JSON',
      { response_format: { type: 'json_object' } },
      {},
      ['response_format_dropped'],
    ],
    ['tools', { tools }, { tools: sentTools }],
    [
      'tools: strict, a mark, no parameters, a union',
      {
        tools: [
          { type: 'function', function: { name: 'a', strict: true }, ...mark },
          { type: 'function', function: { name: 'b', parameters: { anyOf: [schema, { type: 'object' }] } } },
        ],
      },
      {
        tools: [
          {
            name: 'a',
            input_schema: { type: 'object', properties: {}, additionalProperties: false },
            strict: true,
            ...mark,
          },
          { name: 'b', input_schema: { ...schema, required: [] } },
        ],
      },
      ['union_of_parameters_joined'],
    ],
    ['tool_choice: auto', { tools, tool_choice: 'auto' }, { tools: sentTools }],
    ...(
      [
        ['none', { type: 'none' }],
        ['required', { type: 'any' }],
        [
          { type: 'function', function: { name: 'look' } },
          { type: 'tool', name: 'look' },
        ],
      ] as const
    ).map(([tool_choice, sent]): [string, Json, Json] => [
      `tool_choice: ${JSON.stringify(tool_choice)}`,
      { tools, tool_choice },
      { tools: sentTools, tool_choice: sent },
    ]),
    [
      'tool_choice that the model refuses',
      { model: NEWER, tools, tool_choice: 'required' },
      { tools: sentTools },
      ['tool_choice_not_forced'],
    ],
    [
      'allowed_tools',
      {
        tools: [...tools, { type: 'function', function: { name: 'see' } }],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools } },
      },
      { tools: sentTools, tool_choice: { type: 'any' } },
    ],
    [
      'parallel_tool_calls',
      { tools, parallel_tool_calls: false },
      { tools: sentTools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    ],
  ])('%s', async (_, chat, body, told = []) => {
    const { seen, notices } = await sentFor({ stream, ...chat });
    const messages = [user([text('Go.')])];
    const model = chat.model ?? MODEL;
    const base = { model, max_tokens: 128_000, messages, stream };
    expect(seen.body).toEqual({ ...base, ...body });
    expect(seen.headers['anthropic-version']).toBe('2023-06-01');
    expect(notices).toEqual(told);
  });

  it.each(['logprobs', 'top_logprobs', 'logit_bias', 'some_day'])('%s is refused', async (param) => {
    const value = { logprobs: true, logit_bias: { 5: 1 } }[param] ?? 2;
    const { status, error } = await mapped(await askFor({ stream, [param]: value }));
    expect({ status, error }).toMatchObject({ status: 400, error: { param, type: 'invalid_request_error' } });
    expect(posted()).toEqual([]);
  });

  it.each<[param: string, chat: Json]>([
    ['n', { n: 2 }],
    ['audio', { messages: [user([{ type: 'input_audio', input_audio: {} }])] }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['prediction', { prediction: { type: 'content', content: 'x' } }],
    ['functions', { functions: [look] }],
    ['web_search_options', { web_search_options: {} }],
    ['tools', { tools: [{ type: 'custom', custom: { name: 'sql' } }] }],
  ])('%s keeps a request on chat', async (_, chat) => {
    await (await askFor({ stream, ...chat })).text();
    expect(posted()).toEqual([]);
    expect(deployment.openai.requests.map(({ path }) => path)).toContain('/v1/chat/completions');
  });

  const LATIN = Buffer.from('São Paulo', 'latin1').toString('base64');
  const PNG = 'iVBORw0KGgo=';
  const called = (id: string, args = '{}'): Json => ({
    ...{ id, type: 'function', function: { name: 'look', arguments: args } },
  });
  const use = (id: string, input: Json = {}): Json => ({ type: 'tool_use', id, name: 'look', input });
  /** Of a body with calls, whose caller offers no tools. */
  const named = {
    tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'none' },
  };
  const result = (tool_call_id: string, content: unknown = 'ok'): Json => ({
    ...{ role: 'tool', tool_call_id, content },
  });
  const output = (id: unknown, content: unknown = 'ok'): Json => ({
    ...{ type: 'tool_result', tool_use_id: id, content },
  });
  const signed = { format: 'anthropic-claude-v1', index: 0 };
  const LATE = [user('Hi.'), says('Hm.'), { role: 'developer', content: 'Be brief.' }, user('So?')];

  it.each<[row: string, messages: Json[], body: Json, notices?: string[], model?: string]>([
    [
      'system and developer, at the beginning',
      [system([text('Be.', mark)]), { role: 'developer', content: 'Be brief.' }, user('Hi.')],
      { system: [text('Be.', mark), text('Be brief.')], messages: [user([text('Hi.')])] },
    ],
    [
      'system and developer, later, where the model takes them',
      LATE,
      {
        messages: [
          user([text('Hi.')]),
          says([text('Hm.')]),
          user([text('So?')]),
          system([text('Be brief.')]),
        ],
      },
    ],
    [
      'system and developer, later, of an older model',
      LATE,
      { messages: [user([text('Hi.')]), says([text('Hm.')]), user([text('Be brief.'), text('So?')])] },
      [],
      OLDER,
    ],
    [
      'user: texts, images, files',
      [
        user([
          text('See.', mark),
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://a.test/b.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PNG}` } },
          { type: 'file', file: { file_data: `data:text/csv;base64,${LATIN}` } },
          { type: 'file', file: { file_id: 'file_1' } },
        ]),
      ],
      {
        messages: [
          user([
            text('See.', mark),
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'image', source: { type: 'url', url: 'https://a.test/b.png' } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: PNG },
              title: 'a.pdf',
            },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'São Paulo' } },
            { type: 'document', source: { type: 'file', file_id: 'file_1' } },
          ]),
        ],
      },
      ['image_detail_dropped'],
    ],
    [
      'assistant with a text and calls; all results of a round, and what follows them, in one turn',
      [
        user('Hi.'),
        says('I look.', { tool_calls: [called('a', '{"at":"x"}'), called('b')] }),
        user('Well?'),
        result('b', [
          { type: 'text', text: 'Seen.' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ]),
        result('a', ''),
        user('Now?'),
      ],
      {
        ...named,
        messages: [
          user([text('Hi.')]),
          says([text('I look.'), use('a', { at: 'x' }), use('b')]),
          user([
            output('b', [
              text('Seen.'),
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            ]),
            output('a', ''),
            text('Well?'),
            text('Now?'),
          ]),
        ],
      },
      ['called_tools_added'],
    ],
    [
      'ids that the API refuses, arguments that are no object, an empty text',
      [
        user('Hi.'),
        says('', { tool_calls: [called('a b', 'no'), called('c', '')] }),
        result('a b'),
        result('c'),
      ],
      {
        ...named,
        messages: [
          user([text('Hi.')]),
          says([{ ...use('', { input: 'no' }), id: expect.stringMatching(/^call_[\w-]{43}$/) }, use('c')]),
          user([output(expect.stringMatching(/^call_[\w-]{43}$/)), output('c')]),
        ],
      },
      ['arguments_not_object', 'called_tools_added'],
    ],
    [
      'an answer first, and white space alone',
      [says('Hello.'), user(' ')],
      { messages: [user([text('(no message)')]), says([text('Hello.')]), user([text('(no message)')])] },
      ['empty_turn_filled'],
    ],
    [
      'consecutive messages of the user',
      [user('Hi.'), { ...user('Well?'), name: 'ada' }],
      { messages: [user([text('Hi.'), text('Well?')])] },
      ['names_dropped'],
    ],
    [
      'reasoning_details of the API, signed; no other reasoning',
      [
        user('Hi.'),
        says('Yes.', {
          reasoning_content: 'Hm.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Hm.', signature: 's', ...signed },
            { type: 'reasoning.encrypted', data: 'd', ...signed },
            { type: 'reasoning.text', text: 'Unsigned.', ...signed },
          ],
        }),
        user('So?'),
      ],
      {
        messages: [
          user([text('Hi.')]),
          says([
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'redacted_thinking', data: 'd' },
            text('Yes.'),
          ]),
          user([text('So?')]),
        ],
      },
    ],
  ])('messages: %s', async (_, messages, body, told = [], model = MODEL) => {
    const { seen, notices } = await sentFor({ stream, messages, model, max_tokens: 9 });
    expect(seen.body).toEqual({ model, max_tokens: 9, stream, ...body });
    expect(seen.headers['anthropic-beta']).toBe(
      JSON.stringify(body).includes('file_id') ? 'files-api-2025-04-14' : undefined,
    );
    expect(notices).toEqual(told);
  });

  it('messages that are refused, as by chat: a result without its call', async () => {
    const { status, error } = await mapped(await askFor({ stream, messages: [user('Hi.'), result('a')] }));
    expect(status).toBe(400);
    expect(error?.message).toContain('unexpected `tool_use_id`');
  });
});

type Sends = Extract<MessagesBehaviour, (...given: never[]) => void>;

const sends = (response: ServerResponse, events: Iterable<string>): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end([...events].join(''));
};
const answers =
  (said: MessageAnswer): Sends =>
  ({ body }, response) => {
    if (body.stream) return sends(response, messageEvents(body, said));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(messageOf(body, said)));
  };

inBothForms('an answer of Messages', (stream) => {
  async function answer(behaviour: MessagesBehaviour, chat: Json = {}): Promise<Mapped> {
    deployment.upstream.next(behaviour);
    return mapped(await askFor({ stream, stream_options: { include_usage: true }, ...chat }));
  }

  const toolCalls = [{ id: 'toolu_1', name: 'look', arguments: '{"at":"x"}' }];
  const chatCall = {
    ...{ id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } },
  };
  const thinking = { text: 'First, look.', signature: 's' };
  const detail = { type: 'reasoning.text', text: 'First, look.', signature: 's' };
  const format = 'anthropic-claude-v1';
  const searched = [
    { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] },
  ];

  it.each<[row: string, said: MessageAnswer, message: Json, finish?: string, chat?: Json]>([
    ['a text', { content: 'Hi.' }, { content: 'Hi.' }],
    [
      'texts, of which citations divide the first',
      { blocks: [text('I look'), text(' at it.'), ...searched, text('Done.')] },
      { content: 'I look at it.\n\nDone.' },
    ],
    [
      'a text and a call',
      { content: 'I look.', toolCalls },
      { content: 'I look.', tool_calls: [chatCall] },
      'tool_calls',
    ],
    ['thinking, which nobody asks to see', { content: 'Hi.', thinking }, { content: 'Hi.' }],
    [
      'thinking on request',
      { content: 'Hi.', thinking },
      {
        content: 'Hi.',
        reasoning_content: 'First, look.',
        reasoning_details: [{ ...detail, format, index: 0 }],
      },
      'stop',
      { include_reasoning: true },
    ],
    [
      'redacted thinking on request',
      { content: 'Hi.', thinking: { signature: 'd' } },
      { content: 'Hi.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'd', format, index: 0 }] },
      'stop',
      { include_reasoning: true },
    ],
    [
      'a refusal with its words',
      { content: 'No', stopReason: 'refusal' },
      { content: 'No', refusal: 'The API refused to answer this request.' },
      'content_filter',
    ],
  ])('says %s', async (_, said, message, finish_reason = 'stop', chat = {}) => {
    const given = await answer(answers({ id: '7', ...said }), chat);
    const whole = { role: 'assistant', content: null, refusal: null, ...message };
    expect({ status: given.status, choice: given.choice }).toEqual({
      status: 200,
      choice: { index: 0, message: whole, logprobs: null, finish_reason },
    });
    expect(given.head).toMatchObject({ id: 'chatcmpl-7', model: MODEL, created: expect.any(Number) });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool_calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
  ])('that ends with %s ends with %s', async (stopReason, finish_reason) => {
    const given = await answer(answers({ content: 'Hi.', stopReason }));
    expect(given).toMatchObject({ choice: { finish_reason }, isWhole: true });
  });

  it('that is cut short while it thinks is an empty one', async () => {
    const { choice } = await answer(answers({ content: '', thinking, stopReason: 'max_tokens' }));
    expect(choice).toMatchObject({ message: { role: 'assistant', content: null }, finish_reason: 'length' });
  });

  it('that is paused is an error, since chat has no reason that continues it', async () => {
    const given = await answer(answers({ content: 'Hi.', stopReason: 'pause_turn' }));
    expect(given).toMatchObject({ status: stream ? 200 : 502, isWhole: false });
    expect(given.error?.message).toContain('paused');
  });

  it.each<[what: string, usage: Json, counted: Json | undefined]>([
    [
      'all that was read is the prompt',
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
      '0 stays 0, and absent absent',
      { input_tokens: 10, cache_read_input_tokens: 0, output_tokens: 7 },
      {
        prompt_tokens: 10,
        completion_tokens: 7,
        total_tokens: 17,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    ],
    ['none', {}, undefined],
  ])('has its usage: %s', async (_, usage, counted) => {
    expect((await answer(answers({ content: 'Hi.', usage }))).usage).toEqual(counted);
  });

  it('has names that the API refuses as its caller knows them', async () => {
    const name = 'files.look';
    const chat = { tools: [{ type: 'function', function: { name } }] };
    const { choice } = await answer(({ body }, response) => {
      const [{ name: sent }] = body.tools as [{ name: string }];
      expect(sent).toMatch(/^tool_[\w-]{43}$/);
      answers({ toolCalls: [{ id: 'a', name: sent, arguments: '{}' }] })(
        { body } as RecordedRequest,
        response,
      );
    }, chat);
    expect(choice.message).toMatchObject({ tool_calls: [{ function: { name } }] });
  });

  it.each([
    [400, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [529, 'overloaded_error'],
  ])('that is an error (%i) has its words and its type', async (status, type) => {
    const body = { type: 'error', error: { type, message: 'So it is.' } };
    expect(await answer({ type: 'error', status, body })).toMatchObject({
      status,
      error: { type, message: 'So it is.', param: null, code: null },
      isWhole: false,
    });
  });
});

describe('a stream of Messages', () => {
  const event = (type: string, more: Json): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const started = event('message_start', { message: { id: 'msg_7', model: MODEL, content: [] } });
  const begun = (index: number, content_block: Json) =>
    event('content_block_start', { index, content_block });
  const piece = (index: number, delta: Json) => event('content_block_delta', { index, delta });
  const ended = [event('message_delta', { delta: { stop_reason: 'tool_use' } }), event('message_stop', {})];

  async function streamed(events: readonly string[]): Promise<Mapped> {
    deployment.upstream.next((_, response) => sends(response, events));
    return mapped(await askFor({ stream: true }));
  }

  it('has calls at once, by their index, and one without deltas', async () => {
    const use = (id: string, input: Json = {}): Json => ({ type: 'tool_use', id, name: 'look', input });
    const part = (partial_json: string): Json => ({ type: 'input_json_delta', partial_json });
    const { choice } = await streamed([
      ...[started, begun(0, use('a')), begun(1, use('b')), begun(2, use('c', { at: 3 }))],
      ...[piece(1, part('')), piece(1, part('{"at":')), piece(0, part('{"at":1')), piece(1, part('2}'))],
      ...[piece(0, part('}')), event('content_block_stop', { index: 2 }), ...ended],
    ]);
    expect(choice.message).toMatchObject({
      tool_calls: ['a', 'b', 'c'].map((id, at) => ({
        ...{ id, function: { name: 'look', arguments: `{"at":${at + 1}}` } },
      })),
    });
  });

  it.each<[row: string, events: string[], status: number, error: Json]>([
    [
      'has an error',
      [event('error', { error: { type: 'overloaded_error', message: 'Oh.' } }), ...ended],
      529,
      { type: 'overloaded_error', message: 'Oh.' },
    ],
    ['is torn', [], 502, { type: 'server_error', code: 'upstream_unreachable' }],
  ])(
    'that %s is an error: of a status, or after its words without [DONE]',
    async (_, events, status, error) => {
      const thought = begun(0, { type: 'thinking', thinking: 'First', signature: '' });
      expect(await streamed([started, thought, ...events])).toMatchObject({ status, isWhole: false, error });
      const { choice, ...given } = await streamed([started, begun(0, text('Hi')), ...events]);
      expect(given).toMatchObject({ status: 200, isWhole: false, error });
      expect(choice).toMatchObject({ message: { content: 'Hi' }, finish_reason: undefined });
    },
  );
});
