import { describe, expect, it } from 'vitest';
import type { ChatBody } from '../../../../../src/protocol/bridges/bridge.ts';
import { responsesBridge } from '../../../../../src/protocol/bridges/responses/body.ts';
import { responsesViolations } from '../../../../../tools/upstream/strict-responses.ts';
import { assistant, system } from '../../../../support/conversations/chat.ts';
import { bodyOf, bridged, inputOf, type Json, parsed, sha256 } from './bridged.ts';

const user = { role: 'user', content: 'Go.' };
const LONG = 'x'.repeat(65);
const NOW = { type: 'function', function: { name: 'now' } };

const BASE = {
  model: 'gpt-6.1-sol',
  store: false,
  include: ['reasoning.encrypted_content'],
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'Go.' }] }],
};

describe('a parameter', () => {
  it.each<[what: string, chat: Json, body: Json]>([
    ['no parameter', {}, {}],
    ['stream', { stream: true }, { stream: true }],
    [
      'reasoning of the other API',
      { reasoning: { context: 'all_turns' }, reasoning_effort: 'low' },
      { reasoning: { context: 'all_turns', effort: 'low' } },
    ],
    ['usage of a stream', { stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [
      'values that say nothing',
      { n: 1, frequency_penalty: 0, presence_penalty: 0, logit_bias: {}, stop: null, modalities: ['text'] },
      {},
    ],
    ['null', { max_tokens: null, tools: null, response_format: null, user: null, temperature: null }, {}],
    [
      'a parameter of neither API',
      { provider_options: { fast: true } },
      { provider_options: { fast: true } },
    ],
  ])('%s', (_, chat, body) => {
    expect(bodyOf(chat)).toEqual({ ...BASE, ...body });
  });

  it.each<[chat: Json, param: string]>([
    [{ stop: ['END'] }, 'stop'],
    [{ stop: 'END' }, 'stop'],
    [{ logit_bias: { 50256: -100 } }, 'logit_bias'],
    [{ frequency_penalty: 0.5 }, 'frequency_penalty'],
    [{ presence_penalty: -1 }, 'presence_penalty'],
  ])('of chat alone is refused in the words of OpenAI: %j', (chat, param) => {
    const body = responsesBridge.body({ model: 'gpt-6', messages: [user], ...chat }, () => undefined, {
      showsReasoning: false,
      sha256,
    });
    expect(body).toEqual({
      param,
      message: `Unsupported parameter: '${param}' is not supported with this model.`,
      code: 'unsupported_parameter',
    });
  });

  it.each<[notice: string, chat: Json]>([
    ['seed_dropped', { seed: 7 }],
    ['max_tokens_raised', { max_completion_tokens: 1 }],
    [
      'cache_marks_dropped',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'A', cache_control: { type: 'ephemeral' } }] },
        ],
      },
    ],
    ['cache_marks_dropped', { tools: [{ ...NOW, cache_control: { type: 'ephemeral' } }] }],
    [
      'cache_marks_dropped',
      { tools: [{ ...NOW, function: { ...NOW.function, cache_control: { type: 'ephemeral' } } }] },
    ],
    ['names_dropped', { messages: [{ ...user, name: 'ada' }] }],
    [
      'part_fields_dropped',
      { messages: [user, { role: 'assistant', content: [{ type: 'text', text: 'B', source: 'page 7' }] }] },
    ],
  ])('that is not sent as it is said is noted: %s', (notice, chat) => {
    const { notices, body } = bridged(chat);
    expect(notices).toEqual([notice]);
    expect(responsesViolations(parsed(body))).toEqual([]);
    expect(bridged({}).notices).toEqual([]);
  });

  it('asks for a summary of reasoning only for callers who want to see it', () => {
    expect(bodyOf({ reasoning_effort: 'low' }, { showsReasoning: true }).reasoning).toEqual({
      summary: 'auto',
      effort: 'low',
    });
  });

  it.each<[obstacle: string | undefined, chat: Json]>([
    [undefined, { n: 1, modalities: ['text'], prediction: null }],
    ['n', { n: 2 }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['audio', { audio: { voice: 'sage', format: 'wav' } }],
    ['audio', { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }],
    ['audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
    ['prediction', { prediction: { type: 'content', content: 'x' } }],
    ['functions', { functions: [] }],
    ['function_call', { function_call: 'auto' }],
    ['moderation', { moderation: { model: 'omni' } }],
    ['functions', { messages: [{ role: 'function', name: 'f', content: '1' }] }],
    ['functions', { messages: [{ role: 'assistant', function_call: { name: 'f', arguments: '{}' } }] }],
  ])('keeps a request on chat: %s for %j', (obstacle, chat) => {
    expect(responsesBridge.obstacle({ messages: [user], ...chat } as ChatBody)).toBe(obstacle);
  });
});

describe('a tool', () => {
  const grammar = { definition: 'start: "a"', syntax: 'lark' };

  it.each<[what: string, tool: Json, written: Json]>([
    [
      'without parameters has none',
      { type: 'function', function: { name: 'now' } },
      { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: false },
    ],
    [
      'with an empty schema has none',
      { type: 'function', function: { name: 'now', parameters: {} } },
      { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: false },
    ],
    [
      'of a grammar',
      { type: 'custom', custom: { name: 'sql', description: 'SQL.', format: { type: 'grammar', grammar } } },
      { type: 'custom', name: 'sql', description: 'SQL.', format: { type: 'grammar', ...grammar } },
    ],
    [
      'of free text',
      { type: 'custom', custom: { name: 'shell', format: { type: 'text' } } },
      { type: 'custom', name: 'shell', format: { type: 'text' } },
    ],
    [
      'of another kind is passed on',
      { type: 'web_search', filters: {} },
      { type: 'web_search', filters: {} },
    ],
  ])('%s', (_, tool, written) => {
    const body = bodyOf({ tools: [tool] });
    expect(body.tools).toEqual([written]);
    expect(responsesViolations(body, { strictByDefault: true })).toEqual([]);
  });

  it.each<[choice: unknown, written: unknown]>([
    [
      { type: 'function', function: { name: 'read' } },
      { type: 'function', name: 'read' },
    ],
    [
      { type: 'custom', custom: { name: 'sql' } },
      { type: 'custom', name: 'sql' },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: [
            { type: 'function', function: { name: 'read' } },
            { type: 'custom', custom: { name: 'sql' } },
          ],
        },
      },
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'function', name: 'read' },
          { type: 'custom', name: 'sql' },
        ],
      },
    ],
  ])('is chosen by %j', (choice, written) => {
    expect(bodyOf({ tool_choice: choice }).tool_choice).toEqual(written);
  });

  it('with a name of 65 characters has one short name in definition, choice, history and answer', () => {
    const chosen = { type: 'function', function: { name: LONG } };
    // The id of a call may be the same text.
    const call = { id: LONG, type: 'function', function: { name: LONG, arguments: '{}' } };
    const { body, reader } = bridged({
      tools: [{ type: 'function', function: { name: LONG } }],
      tool_choice: chosen,
      messages: [
        user,
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: LONG, content: '' },
      ],
    });
    const { tools, tool_choice, input } = JSON.parse(new TextDecoder().decode(body));
    const names = [tools[0].name, tool_choice.name, input[1].name];
    expect(new Set(names).size).toBe(1);
    expect(names[0]).toMatch(/^tool_[\w-]{43}$/);
    expect(input[1].call_id).toMatch(/^call_[\w-]{43}$/);
    expect(input[2].call_id).toBe(input[1].call_id);

    const output = [{ type: 'function_call', call_id: 'b', name: names[0], arguments: '{}' }];
    const answer = reader.answer(new TextEncoder().encode(JSON.stringify({ output })));
    expect(new TextDecoder().decode(answer.body)).toContain(`"name":"${LONG}"`);
    expect(answer.kept?.json).toContain(`"name":"${names[0]}"`);
  });
});

describe('a message', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } };
  const sent = { type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'low' };
  const text = (words: string): Json => ({ type: 'input_text', text: words });

  it.each<[what: string, message: Json, item: Json]>([
    [
      'of the developer',
      { role: 'developer', content: 'Be.' },
      { role: 'developer', content: [text('Be.')] },
    ],
    [
      'of the system, in parts',
      system([
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B' },
      ]),
      system([text('A'), text('B')]),
    ],
    [
      'with a mark of another cache',
      { role: 'user', content: [{ type: 'text', text: 'A', cache_control: { type: 'ephemeral' } }] },
      { role: 'user', content: [text('A')] },
    ],
    [
      'of the model, in parts',
      assistant([
        { type: 'text', text: 'Ye' },
        { type: 'text', text: 's.' },
      ]),
      assistant('Yes.'),
    ],
    ['that refuses in a part', assistant([{ type: 'refusal', refusal: 'No.' }]), assistant('No.')],
    [
      'with reasoning of another server',
      { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.', reasoning: 'Hm.' },
      assistant('Yes.'),
    ],
    [
      'with reasoning among its parts',
      assistant(['reasoning', 'thinking', 'text'].map((type) => ({ type, text: `${type}.` }))),
      assistant('text.'),
    ],
  ])('%s', (_, message, item) => {
    const body = bodyOf({ messages: [message] });
    expect(body.input).toEqual([item]);
    expect(responsesViolations(body, { strictByDefault: true })).toEqual([]);
  });

  const called = (id: string, name = 'read'): Json => ({
    id,
    type: 'function',
    function: { name, arguments: '{"a":1}' },
  });
  const call = (call_id: string, name = 'read'): Json => ({
    type: 'function_call',
    call_id,
    name,
    arguments: '{"a":1}',
  });
  const result = (tool_call_id: string, content: unknown = 'out'): Json => ({
    role: 'tool',
    tool_call_id,
    content,
  });
  const output = (call_id: string, output: unknown = 'out'): Json => ({
    type: 'function_call_output',
    call_id,
    output,
  });
  const custom = (id: string): Json => ({ id, type: 'custom', custom: { name: 'read', input: 'go' } });
  const customCall = (call_id: string): Json => ({
    type: 'custom_tool_call',
    call_id,
    name: 'read',
    input: 'go',
  });

  it.each<[what: string, messages: Json[], items: Json[]]>([
    [
      'with calls has no item for an empty text',
      [{ role: 'assistant', content: '', tool_calls: [called('a'), called('b')] }, result('b'), result('a')],
      [call('a'), call('b'), output('b'), output('a')],
    ],
    [
      'calls a custom tool and a function of the same name',
      [{ role: 'assistant', tool_calls: [custom('a'), called('b')] }, result('a'), result('b')],
      [customCall('a'), call('b'), { ...output('a'), type: 'custom_tool_call_output' }, output('b')],
    ],
    [
      'has a result with an image',
      [{ role: 'assistant', tool_calls: [called('a')] }, result('a', [{ type: 'text', text: 'A' }, image])],
      [call('a'), output('a', [text('A'), sent])],
    ],
    [
      'has a result that is JSON, of parts or not: it stays a text',
      [
        { role: 'assistant', tool_calls: [called('a'), called('b')] },
        result('a', JSON.stringify([image])),
        result('b', '{"type":"text"}'),
      ],
      [call('a'), call('b'), output('a', JSON.stringify([image])), output('b', '{"type":"text"}')],
    ],
    [
      'has an empty result',
      [{ role: 'assistant', tool_calls: [called('a')] }, result('a', '')],
      [call('a'), output('a', '')],
    ],
    [
      'has arguments that are an object',
      [
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'read', arguments: { a: 1 } } }] },
        result('a'),
      ],
      [call('a'), output('a')],
    ],
  ])('%s', (_, messages, items) => {
    const body = bodyOf({ messages: [user, ...messages] });
    expect((body.input as Json[]).slice(1)).toEqual(items);
    expect(responsesViolations(body, { strictByDefault: true })).toEqual([]);
  });

  it.each<[what: string, messages: Json[], items: Json[]]>([
    ['a result without its call', [result('a')], [output('a')]],
    [
      'two results of a call',
      [{ role: 'assistant', tool_calls: [called('a')] }, result('a'), result('a')],
      [call('a'), output('a'), output('a')],
    ],
    [
      'a call without an id',
      [
        {
          role: 'assistant',
          tool_calls: [{ type: 'function', function: { name: 'read', arguments: '{"a":1}' } }],
        },
      ],
      [{ type: 'function_call', name: 'read', arguments: '{"a":1}' }],
    ],
    [
      'a part of an unknown type',
      [{ role: 'user', content: [{ type: 'video' }] }],
      [{ role: 'user', content: [{ type: 'video' }] }],
    ],
  ])('is not repaired: %s', (_, messages, items) => {
    expect(inputOf(messages)).toEqual(items);
  });

  it('with an id of more than 64 characters has a short one in call and result', () => {
    const [first = {}, second = {}, third = {}] = inputOf([
      { role: 'assistant', tool_calls: [called(`${LONG}a`), called(`${LONG}b`)] },
      result(`${LONG}a`),
    ]);
    expect(first.call_id).toMatch(/^call_[\w-]{43}$/);
    expect(third.call_id).toBe(first.call_id);
    expect(second.call_id).not.toBe(first.call_id);
    expect(inputOf([result('y'.repeat(64))])).toEqual([output('y'.repeat(64))]);
  });

  /** The kinds of items, and which of the calls each is of. */
  const pairsOf = (input: readonly Json[]): unknown[] => {
    const ids = [...new Set(input.map(({ call_id }) => call_id))];
    return input.map(({ type, call_id }) => [String(type).replace('_tool_call', ''), ids.indexOf(call_id)]);
  };

  it('uses an id again: it gets another one, of either kind, and so do its results', () => {
    const messages = [
      { role: 'assistant', tool_calls: [custom('a')] },
      result('a'),
      { role: 'assistant', tool_calls: [called('a'), called('b'), called('b')] },
      result('b'),
      result('a'),
      result('b'),
    ];
    const input = inputOf(messages);
    expect(input.slice(0, 2).map(({ call_id }) => call_id)).toEqual(['a', 'a']);
    expect(pairsOf(input)).toEqual([
      ['custom', 0],
      ['custom_output', 0],
      ['function_call', 1],
      ['function_call', 2],
      ['function_call', 3],
      ['function_call_output', 2],
      ['function_call_output', 1],
      ['function_call_output', 3],
    ]);
    for (const { call_id } of input) expect(String(call_id)).toMatch(/^(?:a|b|call_[\w-]{43})$/);

    // Also in what is kept of an answer that a client has split.
    const json = JSON.stringify([call('a'), call('c')]);
    const calls = [called('a'), called('c')];
    const said = calls.map((one) => ({ role: 'assistant', tool_calls: [one] }));
    const split = [...messages, ...said, result('c'), result('a')];
    const api = 'responses' as const;
    const kept = new Map([
      [6, { api, json, calls }],
      [7, { api, json: '[]', calls: [] }],
    ]);
    const all = inputOf(split, { kept });
    expect(all.slice(0, input.length)).toEqual(input);
    expect(all[8]?.call_id).not.toBe('a');
    expect(all.slice(8).map(({ call_id }) => call_id)).toEqual([all[8]?.call_id, 'c', 'c', all[8]?.call_id]);
    expect(responsesViolations({ model: 'gpt-6', input: all }, { uniqueCalls: true })).toEqual([]);
  });

  it('echoes encrypted reasoning of this API before its items, and of no other', () => {
    const details = [
      { type: 'reasoning.text', text: 'Hm.', format: 'openai-responses-v1' },
      { type: 'reasoning.encrypted', format: 'anthropic-claude-v1', data: 'c' },
      { type: 'reasoning.encrypted', format: 'openai-responses-v1', id: 'rs_1', data: 'gAAA', index: 0 },
    ];
    const message = { role: 'assistant', content: 'Yes.', reasoning_details: details };
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
    expect(inputOf([message])).toEqual([reasoning, assistant('Yes.')]);
    expect(inputOf([message], { leavesOutReasoning: true })).toEqual([assistant('Yes.')]);
    // Nothing would follow it.
    expect(inputOf([user, { ...message, content: '' }])).toEqual(inputOf([user]));
  });

  describe('whose output is kept', () => {
    const items = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
      { role: 'assistant', content: 'I look.', phase: 'commentary' },
      { type: 'custom_tool_call', call_id: 'a', name: 'read', input: 'go' },
    ];
    const message = { role: 'assistant', content: 'I look.', tool_calls: [custom('a')] };
    const after = [result('a'), user];
    const kept = new Map([[1, { api: 'responses' as const, json: JSON.stringify(items) }]]);

    it('is sent as all of its items, and its results are of the same family', () => {
      const body = bodyOf({ messages: [user, message, ...after] }, { kept });
      expect((body.input as Json[]).slice(1, -1)).toEqual([
        ...items,
        { ...output('a'), type: 'custom_tool_call_output' },
      ]);
      expect(responsesViolations(body, { strictByDefault: true })).toEqual([]);
    });

    it('is sent once where a client has split it', () => {
      const none = { api: 'responses' as const, json: '[]' };
      const split = [user, assistant('I look.'), { ...message, content: null }, ...after];
      const input = inputOf(split, { kept: new Map([...kept, [2, none]]) });
      expect(input).toEqual(inputOf([user, message, ...after], { kept }));
    });
  });
});
