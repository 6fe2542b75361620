import { describe, expect, it } from 'vitest';
import type { ChatBody } from '../../../../../src/protocol/bridges/bridge.ts';
import { messagesBridge } from '../../../../../src/protocol/bridges/messages/body.ts';
import { violations } from '../../../../../tools/upstream/strict-messages.ts';
import { bridged, calls, type Json, OPTIONS, parsed, result, text, user } from './bridged.ts';

const READ = { type: 'function', function: { name: 'read', parameters: { type: 'object', properties: {} } } };
const WRITE = { type: 'function', function: { name: 'write', description: 'Writes.', strict: true } };
const SCHEMA = { type: 'object', properties: {}, additionalProperties: false };
/** As OpenAI enforces it, and as the API does. */
const LIMITED = {
  type: 'object',
  properties: {
    age: { type: 'integer', minimum: 0, maximum: 150, description: 'In years.' },
    tags: {
      type: 'array',
      items: { type: 'string', pattern: '^a+$', minLength: 2 },
      minItems: 1,
      maxItems: 3,
    },
    host: { oneOf: [{ type: 'string', format: 'ipv4' }, { $ref: '#/$defs/Name' }, { type: 'null' }] },
    both: { anyOf: [{ type: 'string' }], oneOf: [{ minLength: 1 }] },
  },
  required: ['age', 'tags', 'host'],
  $defs: { Name: { type: 'string', format: 'idn-hostname', pattern: '^(?!x)' } },
};
const ENFORCED = {
  type: 'object',
  properties: {
    age: { type: 'integer', description: 'In years.\nminimum: 0, maximum: 150' },
    tags: {
      type: 'array',
      items: { type: 'string', pattern: '^a+$', description: 'minLength: 2' },
      minItems: 1,
      description: 'maxItems: 3',
    },
    host: { anyOf: [{ type: 'string', format: 'ipv4' }, { $ref: '#/$defs/Name' }, { type: 'null' }] },
    both: { anyOf: [{ type: 'string' }], description: 'oneOf: [{"minLength":1}]' },
  },
  required: ['age', 'tags', 'host'],
  additionalProperties: false,
  $defs: { Name: { type: 'string', description: 'format: "idn-hostname", pattern: "^(?!x)"' } },
};

/** What a body has beside what each has. */
function fieldsOf(chat: Json): Json {
  const { messages: _, model: __, ...fields } = bridged({ max_tokens: 9_000, ...chat }).body;
  const { max_tokens, ...rest } = fields;
  return max_tokens === 9_000 ? rest : fields;
}

describe('fields of chat in Messages', () => {
  it.each<[what: string, chat: Json, fields: Json]>([
    ['the limit of the answer', { max_completion_tokens: 7, max_tokens: 8 }, { max_tokens: 7 }],
    ['no limit, unknown model', { max_tokens: null, model: 'own' }, { max_tokens: 32_000 }],
    ['several', { stop: ['A', 'B'] }, { stop_sequences: ['A', 'B'] }],
    ['none', { stop: [], logit_bias: {}, logprobs: false, n: 1 }, {}],
    ['a stream', { stream: true, stream_options: { include_usage: true } }, { stream: true }],
    ['the user, by the newer name', { safety_identifier: 'u2' }, { metadata: { user_id: 'u2' } }],
    [
      'a mark that moves along',
      { cache_control: { type: 'ephemeral' } },
      { cache_control: { type: 'ephemeral' } },
    ],
    [
      'a schema of the answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: SCHEMA } } },
      { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    ],
    ['a text as the answer', { response_format: { type: 'text' } }, {}],
    [
      'what says nothing',
      { temperature: 1, top_p: 1, frequency_penalty: 0, store: false, verbosity: 'medium' },
      {},
    ],
    ['a key of the cache, which needs none', { prompt_cache_key: 'k' }, {}],
    [
      'the effort, as gateways have it',
      { reasoning: { effort: 'low' } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    ],
    [
      'the description of a schema',
      { response_format: { type: 'json_schema', json_schema: { description: 'A.', schema: SCHEMA } } },
      { output_config: { format: { type: 'json_schema', schema: { description: 'A.', ...SCHEMA } } } },
    ],
  ])('say the same: %s', (_, chat, fields) => {
    expect(fieldsOf(chat)).toEqual(fields);
    expect(violations(bridged(chat).body)).toEqual([]);
  });

  it('name the version of the API', () => {
    const { headers, notices } = bridged({});

    expect([headers, notices]).toEqual([[['anthropic-version', '2023-06-01']], []]);
  });

  it.each<[chat: Json, notice: string]>([
    [{ seed: 1 }, 'seed_dropped'],
    [{ presence_penalty: 0.5 }, 'presence_penalty_dropped'],
    [{ verbosity: 'low' }, 'verbosity_dropped'],
    [{ store: true }, 'store_dropped'],
    [{ metadata: { a: 'b' } }, 'metadata_dropped'],
    [{ service_tier: 'flex' }, 'service_tier_dropped'],
    [{ response_format: { type: 'json_object' } }, 'response_format_dropped'],
    [{ stop: '\n' }, 'stop_dropped'],
  ])('are dropped with a notice: %j', (chat, notice) => {
    expect(fieldsOf(chat)).toEqual({});
    expect(bridged(chat).notices).toEqual([notice]);
  });

  it('stop at words, and say of the limits of a schema what the API does not enforce', () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: LIMITED } };
    const { body, notices } = bridged({ stop: ['\n', 'END'], response_format });

    expect(body).toMatchObject({
      stop_sequences: ['END'],
      output_config: { format: { type: 'json_schema', schema: ENFORCED } },
    });
    expect([...notices].toSorted()).toEqual(['schema_limits_described', 'stop_dropped']);
    expect(violations(body)).toEqual([]);
  });

  it.each<[chat: Json, param: string]>([
    [{ logprobs: true }, 'logprobs'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ logit_bias: { 50: 1 } }, 'logit_bias'],
    [{ n: 2 }, 'n'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
  ])('are refused in the words of OpenAI: %j', (chat, param) => {
    const body = { model: 'claude-opus-5-5', messages: [user('Hi.')], ...chat } as unknown as ChatBody;

    expect(messagesBridge.body(body, () => undefined, OPTIONS)).toEqual({
      param,
      code: 'unsupported_parameter',
      message: `Unsupported parameter: '${param}' is not supported with this model.`,
    });
  });

  it('are refused by their name where nobody knows them', () => {
    const body = { model: 'claude-opus-5-5', messages: [user('Hi.')], container: 'c' } as unknown as ChatBody;

    expect(messagesBridge.body(body, () => undefined, OPTIONS)).toEqual({
      param: 'container',
      code: 'unknown_parameter',
      message: "Unknown parameter: 'container'.",
    });
  });

  it.each<[chat: Json, obstacle: string | undefined]>([
    [{}, undefined],
    [{ n: 1, tools: [READ] }, undefined],
    [{ n: 2 }, 'n'],
    [{ audio: { voice: 'a' } }, 'audio'],
    [{ prediction: {} }, 'prediction'],
    [{ functions: [] }, 'functions'],
    [{ messages: [{ role: 'function', name: 'f', content: '' }] }, 'functions'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ tools: [READ, { type: 'custom', custom: { name: 'a' } }] }, 'tools'],
  ])('keep a request on chat: %j', (chat, obstacle) => {
    expect(messagesBridge.obstacle({ messages: [user('Hi.')], ...chat } as ChatBody)).toBe(obstacle);
  });
});

const EFFORT = { reasoning_effort: 'high' };
const ADAPTIVE = { type: 'adaptive' };

describe('how much the model thinks', () => {
  it.each<[model: string, chat: Json, fields: Json, notices?: string[]]>([
    ['claude-opus-4-8', EFFORT, { thinking: ADAPTIVE, output_config: { effort: 'high' } }],
    [
      'claude-fable-5-1',
      { reasoning_effort: 'max' },
      { thinking: ADAPTIVE, output_config: { effort: 'max' } },
    ],
    [
      'anthropic/claude-opus-5.5',
      { reasoning_effort: 'minimal' },
      { thinking: ADAPTIVE, output_config: { effort: 'low' } },
      ['reasoning_effort_changed'],
    ],
    [
      'claude-sonnet-4-6',
      { reasoning_effort: 'xhigh' },
      { thinking: ADAPTIVE, output_config: { effort: 'high' } },
      ['reasoning_effort_changed'],
    ],
    ['claude-opus-4-8', { reasoning_effort: 'none' }, {}],
    ['claude-opus-5', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-sonnet-5-5', { reasoning_effort: 'none' }, { thinking: { type: 'between_tools' } }],
    [
      'claude-opus-5-5',
      { reasoning_effort: 'none' },
      { output_config: { effort: 'low' } },
      ['thinking_not_disabled'],
    ],
    ['claude-sonnet-4-5-20250929', EFFORT, { thinking: { type: 'enabled', budget_tokens: 7_200 } }],
    [
      'claude-3-7-sonnet-latest',
      { reasoning_effort: 'low' },
      { thinking: { type: 'enabled', budget_tokens: 1_800 } },
    ],
    ['claude-opus-4-1', { ...EFFORT, max_tokens: 1_000 }, { max_tokens: 1_000 }, ['thinking_left_out']],
    ['claude-3-5-sonnet-20241022', EFFORT, {}, ['thinking_left_out']],
    ['claude-opus-5-5', {}, {}],
    ['claude-opus-4-8', { thinking: ADAPTIVE }, { thinking: ADAPTIVE }],
  ])('%s, %j', (model, chat, fields, notices = []) => {
    expect(fieldsOf({ model, ...chat })).toEqual(fields);
    expect(bridged({ max_tokens: 9_000, model, ...chat }).notices).toEqual(notices);
  });

  it('is shown to callers that ask for it', () => {
    const shown = (model: string, chat: Json = {}) =>
      bridged({ model, ...chat }, { showsReasoning: true }).body.thinking;

    expect(shown('claude-opus-5-5')).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(shown('claude-opus-4-8', EFFORT)).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(shown('claude-opus-4-8')).toBeUndefined();
  });

  it.each(['claude-opus-4-8', 'claude-sonnet-4-5'])('leaves %s out of it where a call is forced', (model) => {
    const { body, notices } = bridged({ model, ...EFFORT, tools: [READ], tool_choice: 'required' });

    expect(body.thinking).toBeUndefined();
    expect(body.tool_choice).toEqual({ type: 'any' });
    expect(notices).toEqual(['thinking_left_out']);
  });

  it('leaves it out of a run of calls that has begun without, where the API demands it first', () => {
    const chat = {
      model: 'claude-sonnet-4-5',
      ...EFFORT,
      tools: [READ],
      messages: [user('Hi.'), calls(['a', '{}']), result('a')],
    };
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
    const json = JSON.stringify([thought, { type: 'tool_use', id: 'a', name: 'read', input: {} }]);
    const with_ = bridged(chat, {}, (at) => (at === 1 ? { api: 'messages', json } : undefined));

    expect(bridged(chat).body.thinking).toBeUndefined();
    expect(bridged(chat).notices).toEqual(['thinking_left_out']);
    expect(with_.body.thinking).toMatchObject({ type: 'enabled' });
    expect([bridged(chat), with_].flatMap(({ body }) => violations(body))).toEqual([]);
  });

  it.each([EFFORT, {}])('is in an answer at the end only where the model is to think: %j', (chat) => {
    const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
    const output = { api: 'messages', json: JSON.stringify([thought, text('The answer is')]) } as const;
    const messages = [user('Hi.'), { role: 'assistant', content: 'The answer is' }];
    const asked = { model: 'claude-sonnet-4-5', messages, ...chat };
    const { body } = bridged(asked, {}, (at) => (at === 1 ? output : undefined));
    const [, last] = body.messages as Json[];

    expect(body.thinking === undefined).toBe(chat !== EFFORT);
    expect(last?.content).toEqual([...(chat === EFFORT ? [thought] : []), text('The answer is')]);
  });

  it('leaves it out where an answer at the end has begun without', () => {
    const messages = [user('Hi.'), { role: 'assistant', content: 'The answer is' }];
    const { body, notices } = bridged({ model: 'claude-sonnet-4-5', ...EFFORT, messages });

    expect(body.thinking).toBeUndefined();
    expect(notices).toEqual(['thinking_left_out']);
  });

  it.each<[model: string, chat: Json, sampling: Json, notices: string[]]>([
    ['claude-opus-4-6', { temperature: 0.2 }, { temperature: 0.2 }, []],
    ['claude-opus-4-6', { temperature: 1.4 }, { temperature: 1 }, ['temperature_lowered']],
    ['claude-opus-4-6', { top_p: 0.5 }, { top_p: 0.5 }, []],
    ['claude-opus-4-6', { temperature: 0, top_p: 0.5 }, { temperature: 0 }, ['top_p_dropped']],
    ['claude-opus-4-6', { temperature: 0, reasoning_effort: 'low' }, {}, ['temperature_dropped']],
    ['claude-opus-4-7', { temperature: 0, top_p: 0.5 }, {}, ['temperature_dropped', 'top_p_dropped']],
    ['claude-haiku-5-5', { temperature: 0 }, {}, ['temperature_dropped']],
    ['claude-opus-4-6', { temperature: 0, top_k: 1 }, { temperature: 0, top_k: 1 }, []],
    ['claude-sonnet-4-5', { top_k: 40, reasoning_effort: 'low' }, {}, ['top_k_dropped']],
    ['claude-opus-4-7', { top_k: 0 }, {}, ['top_k_dropped']],
  ])('decides on the sampling: %s, %j', (model, chat, sampling, notices) => {
    const { body, notices: said } = bridged({ model, ...chat });

    expect({
      ...(body.temperature === undefined ? {} : { temperature: body.temperature }),
      ...(body.top_p === undefined ? {} : { top_p: body.top_p }),
      ...(body.top_k === undefined ? {} : { top_k: body.top_k }),
    }).toEqual(sampling);
    expect(said).toEqual(notices);
  });
});

describe('tools of chat in Messages', () => {
  it('have their schema, and what else the API knows', () => {
    const marked = { ...READ, cache_control: { type: 'ephemeral' } };

    expect(bridged({ tools: [WRITE, marked] }).body.tools).toEqual([
      {
        name: 'write',
        description: 'Writes.',
        input_schema: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
      {
        name: 'read',
        input_schema: { type: 'object', properties: {} },
        cache_control: { type: 'ephemeral' },
      },
    ]);
  });

  it('are strict within what the API enforces, and have all of their schema where they are not', () => {
    const of = (strict: boolean) => ({
      type: 'function',
      function: { name: 'f', strict, parameters: LIMITED },
    });
    const sent = (strict: boolean, leavesOutStrict = false) => {
      const { body, notices } = bridged({ tools: [of(strict)] }, { leavesOutStrict });
      expect(violations(body)).toEqual([]);
      return [body.tools, notices];
    };
    const plain = [{ name: 'f', input_schema: LIMITED }];

    expect(sent(true)).toEqual([
      [{ name: 'f', input_schema: ENFORCED, strict: true }],
      ['schema_limits_described'],
    ]);
    expect(sent(false)).toEqual([plain, []]);
    expect(sent(true, true)).toEqual([plain, ['strict_dropped']]);
  });

  const variant = (name: string, required: string[]) => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required,
  });

  it.each<[what: string, parameters: Json, schema: Json]>([
    ['no type', { properties: { a: {} } }, { properties: { a: {} }, type: 'object' }],
    [
      'a union',
      { anyOf: [variant('a', ['a', 'c']), variant('b', ['b', 'c'])], description: 'Either.' },
      {
        description: 'Either.',
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        required: ['c'],
      },
    ],
    [
      'parts that all hold, one defined elsewhere',
      { allOf: [{ $ref: '#/$defs/A' }, variant('b', ['b'])], $defs: { A: variant('a', ['a']) } },
      {
        $defs: { A: variant('a', ['a']) },
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        required: ['a', 'b'],
      },
    ],
  ])('have an object at the root: %s', (_, parameters, schema) => {
    const { body } = bridged({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });

    expect(body.tools).toEqual([{ name: 'f', input_schema: schema }]);
    expect(violations(body)).toEqual([]);
  });

  const list = (mode: string) => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'read' } }] },
  });

  it.each<[model: string, chat: Json, choice: unknown, notices: string[]]>([
    ['claude-opus-5', {}, undefined, []],
    ['claude-opus-5', { tool_choice: 'auto' }, undefined, []],
    ['claude-opus-5', { tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }, []],
    ['claude-opus-5', { tool_choice: 'required' }, { type: 'any' }, []],
    [
      'claude-opus-5',
      { tool_choice: { type: 'function', function: { name: 'read' } } },
      { type: 'tool', name: 'read' },
      [],
    ],
    ['claude-opus-5', { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }, []],
    ['claude-opus-5', { tool_choice: list('required') }, { type: 'any' }, []],
    ['claude-opus-5', { tool_choice: list('auto') }, undefined, []],
    ['claude-fable-5', { tool_choice: 'required' }, { type: 'any' }, []],
    ['claude-fable-5-1', { tool_choice: 'required' }, undefined, ['tool_choice_not_forced']],
    [
      'claude-opus-5-5',
      { tool_choice: { type: 'function', function: { name: 'read' } } },
      undefined,
      ['tool_choice_not_forced'],
    ],
    [
      'claude-opus-5-5',
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'auto', disable_parallel_tool_use: true },
      ['tool_choice_not_forced'],
    ],
  ])('are chosen: %s, %j', (model, chat, choice, notices) => {
    const { body, notices: said } = bridged({ model, tools: [READ, WRITE], ...chat });

    expect(body.tool_choice).toEqual(choice);
    expect(said).toEqual(notices);
    expect(violations(body)).toEqual([]);
  });

  it('are those that the caller allows', () => {
    expect(bridged({ tools: [READ, WRITE], tool_choice: list('auto') }).body.tools).toHaveLength(1);
  });

  it('are not chosen where there are none', () => {
    expect(bridged({ tools: [], tool_choice: 'none' }).body).not.toHaveProperty('tool_choice');
  });

  it('are there for calls of earlier answers, which the API takes with tools alone', () => {
    const messages = [user('Hi.'), calls(['a', '{}'], ['b', '{}', 'a.b'], ['c', '{}']), result('a')];
    const chat = { messages: [...messages, result('b'), result('c')] };
    const { body, notices } = bridged(chat);
    const [, { content }] = body.messages as [Json, { content: Json[] }];

    expect((body.tools as Json[]).map(({ name }) => name)).toEqual(
      content.slice(0, 2).map(({ name }) => name),
    );
    expect(body.tool_choice).toEqual({ type: 'none' });
    expect(notices).toEqual(['called_tools_added']);
    expect(violations(body)).toEqual([]);
    expect(bridged({ ...chat, tools: [READ] }).body.tools).toHaveLength(1);
  });

  it('have names that the API takes, and the caller gets its own back', () => {
    const name = 'mcp.server/read a file';
    const { body, reader } = bridged({ tools: [{ type: 'function', function: { name } }] });
    const [tool] = body.tools as Json[];
    const answered = {
      content: [{ type: 'tool_use', id: 'toolu_1', name: tool?.name, input: {} }],
      stop_reason: 'tool_use',
    };
    const { body: bytes } = reader.answer(new TextEncoder().encode(JSON.stringify(answered)));

    expect(violations(body)).toEqual([]);
    expect(JSON.stringify(parsed(bytes))).toContain(`"name":"${name}"`);
  });
});

describe('the prompt cache', () => {
  const long = 'word '.repeat(30_000);
  const chat = { messages: [{ role: 'system', content: long }, user('Hi.')], tools: [READ] };
  const MARK = { type: 'ephemeral' };

  it('is marked by Precis where the caller marks nothing, if it may', () => {
    const { body } = bridged(chat, { marksCache: true });

    expect(body.system).toEqual([text(long, { cache_control: MARK })]);
    expect(body.messages).toEqual([user([text('Hi.', { cache_control: MARK })])]);
    expect(JSON.stringify(bridged(chat).body)).not.toContain('cache_control');
    expect(violations(body)).toEqual([]);
  });

  it('keeps the marks of the view, and gets no others', () => {
    const messages = [
      { role: 'system', content: [text(long, { cache_control: { ...MARK, ttl: '1h' } })] },
      user([text('Hi.', { cache_control: MARK })]),
      { role: 'assistant', content: 'Hm.', cache_control: MARK },
      user('Go on.'),
    ];
    const { body } = bridged({ messages }, { marksCache: true });

    expect(body.system).toEqual([text(long, { cache_control: { ...MARK, ttl: '1h' } })]);
    expect(body.messages).toEqual([
      user([text('Hi.', { cache_control: MARK })]),
      { role: 'assistant', content: [text('Hm.', { cache_control: MARK })] },
      user([text('Go on.')]),
    ]);
    expect(violations(body)).toEqual([]);
  });
});
