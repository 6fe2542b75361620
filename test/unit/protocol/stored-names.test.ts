import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { forAll } from '../../support/laws/runs.ts';

const READERS = {
  chat: readChatRequest,
  responses: readResponsesRequest,
  messages: readMessagesRequest,
} as const;
type Protocol = keyof typeof READERS;

const nothing = { items: new Set<string>(), tools: new Set<string>() };
const message = user('Hello');

/**
 * The field that a body of one of the protocols is refused for; undefined if it names nothing
 * stored.
 */
function found(protocol: Protocol, body: object | string, opened = nothing): string | undefined {
  return foundIn(protocol, body, opened)?.param;
}

function foundIn(protocol: Protocol, body: object | string, opened = nothing) {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  const read = READERS[protocol](bytes);
  if (!read.ok) throw new Error(read.reason.message);
  const name = read.value.storedName(opened);
  if (name) expect(name.message.startsWith(name.param)).toBe(true);
  return name;
}

const inItems = (...input: unknown[]) => found('responses', { model: 'm', input });
const inTools = (...tools: unknown[]) => found('responses', { model: 'm', input: 'x', tools });
const inMessages = (...messages: unknown[]) => found('chat', { model: 'm', messages });

it('an answer that the vendor would compare a request with is stored', () => {
  const compared = { prompt_cache_options: { comparison_response_id: 'resp_1' } };
  expect(found('responses', { model: 'm', input: 'x', ...compared })).toBe(
    'prompt_cache_options.comparison_response_id',
  );
  const diagnostics = (previous_message_id: string | null) =>
    found('messages', { model: 'm', messages: [message], diagnostics: { previous_message_id } });
  expect(diagnostics('msg_1')).toBe('diagnostics.previous_message_id');
  expect(diagnostics(null)).toBeUndefined();
});

it.each([
  ['computer_toolset_20260801', undefined],
  ['browser_toolset_20260801', undefined],
  ['memory_20250818', undefined],
  ['code_execution_20260120', 'tools[0].type'],
  ['advisor_20260301', 'tools[0].type'],
  ['browser_toolset', undefined],
  ['browser_toolset_2026', 'tools[0].type'],
])('a tool of Anthropic’s, %s, names something stored: %s', (type, param) => {
  const tools = [{ type, name: 'x' }];
  expect(found('messages', { model: 'm', messages: [message], tools })).toBe(param);
});

describe('an item of a body', () => {
  it.each([
    ['a reference', { type: 'item_reference', id: 'msg_1' }, '.type'],
    ['a reference without a type', { id: 'msg_1' }, ''],
    ['a reference whose type is null', { id: 'msg_1', type: null }, ''],
    ['a message whose type is null', { id: 'msg_1', type: null, role: 'user', content: 'x' }, ''],
    ['a message without contents', { id: 'msg_1', role: 'user', content: null }, ''],
    ['a message with an id alone', { type: 'message', id: 'msg_1', role: 'user' }, ''],
    ['a call with an id alone', { type: 'function_call', id: 'fc_1', status: 'completed' }, ''],
    ['a search with an id alone', { type: 'web_search_call', id: 'ws_1', status: 'completed' }, ''],
    ['reasoning with an id alone', { type: 'reasoning', id: 'rs_1', summary: [] }, ''],
    [
      'reasoning with a summary',
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'x' }] },
      '',
    ],
    [
      'reasoning that holds nothing',
      { type: 'reasoning', id: 'rs_1', encrypted_content: '', content: [] },
      '',
    ],
    ['a compaction with an id alone', { type: 'compaction', id: 'cmp_1' }, ''],
    ['a picture that was made', { type: 'image_generation_call', id: 'ig_1', result: null }, '.type'],
    ['a call in a container', { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1' }, '.type'],
    ['a search of files', { type: 'file_search_call', id: 'fs_1', queries: ['x'] }, '.type'],
    ['a call of an MCP server', { type: 'mcp_call', id: 'mcp_1', name: 'x' }, '.type'],
    ['a kind that comes to be later', { type: 'memory_item', id: 'mem_1', content: 'x' }, '.type'],
    ['a text', 'msg_1', ''],
    ['a type that is no text', { type: 7, role: 'user', content: 'x' }, ''],
    ['a file', user([{ type: 'input_file', file_id: 'file_1' }]), '.content[0].file_id'],
    ['a picture', user([{ type: 'input_image', file_id: 'file_1' }]), '.content[0].file_id'],
    [
      'a file in an output',
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'file_1' }] },
      '.output[0].file_id',
    ],
    [
      'a screenshot',
      { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'f' } },
      '.output.file_id',
    ],
    [
      'a shell in a container',
      {
        type: 'shell_call',
        call_id: 'c',
        action: {},
        environment: { type: 'container_reference', container_id: 'c' },
      },
      '.environment.type',
    ],
    [
      'tools of developers',
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      },
      '.tools[0].type',
    ],
    [
      'a citation',
      assistant([{ type: 'output_text', text: 'x', annotations: [{ file_id: 'file_1' }] }]),
      '.content[0].annotations[0].file_id',
    ],
  ])('F14: may not be %s', (_, item, field) => {
    expect(inItems(message, item)).toBe(`input[1]${field}`);
  });

  it.each([
    ['a message', { id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }],
    [
      'reasoning of an open model',
      { type: 'reasoning', id: 'rs_1', content: [{ type: 'reasoning_text', text: 'x' }] },
    ],
    ['encrypted reasoning', { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' }],
    ['reasoning without an id', { type: 'reasoning', summary: [] }],
    ['a call', { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{"file_id":"x"}' }],
    ['a result', { type: 'function_call_output', call_id: 'c', output: '{"file_id":"file_1"}' }],
    [
      'a search',
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
    ],
    ['a file', user([{ type: 'input_file', file_id: null, file_data: 'data:x' }])],
    [
      'a local shell',
      {
        type: 'shell_call',
        call_id: 'c',
        action: { env: { container: 'x' } },
        environment: { type: 'local' },
      },
    ],
    ['a trigger', { type: 'compaction_trigger' }],
  ])('F14: may be what holds all that it replaces: %s', (_, item) => {
    expect(inItems(message, item)).toBeUndefined();
  });
});

describe('a tool of a body', () => {
  it.each([
    ['files', { type: 'file_search', vector_store_ids: ['vs_1'] }, '.type'],
    ['a container', { type: 'code_interpreter', container: 'cntr_1' }, '.type'],
    ['a connector', { type: 'mcp', server_label: 'x', connector_id: 'connector_gmail' }, '.type'],
    ['a server', { type: 'mcp', server_label: 'x', server_url: 'https://x.test' }, '.type'],
    ['a mask', { type: 'image_generation', input_image_mask: { file_id: 'file_1' } }, '.type'],
    [
      'a shell in a container',
      { type: 'shell', environment: { type: 'container_auto', file_ids: ['f'] } },
      '.environment.type',
    ],
    ['a type that comes to be later', { type: 'memory_search' }, '.type'],
    ['no type', { vector_store_ids: ['vs_1'] }, '.type'],
    [
      'a namespace of files',
      { type: 'namespace', name: 'n', tools: [{ type: 'file_search' }] },
      '.tools[0].type',
    ],
    [
      'a function that names a store',
      { type: 'function', name: 'f', vector_store_ids: ['x'] },
      '.vector_store_ids',
    ],
  ])('F14: may not be one of %s', (_, tool, field) => {
    expect(inTools({ type: 'local_shell' }, tool)).toBe(`tools[1]${field}`);
    expect(found('chat', { model: 'm', messages: [message], tools: [tool] })).toBe(`tools[0]${field}`);
  });

  it('F14: may be a function, whatever its schema is about', () => {
    const parameters = {
      type: 'object',
      properties: { file_id: { type: 'string' }, container: {}, FILE_ID: {} },
    };
    const tool = { name: 'f', description: 'Reads file_id', parameters, output_schema: parameters };
    expect(
      inTools({ type: 'function', ...tool }, { type: 'custom', name: 'c' }, { type: 'web_search' }),
    ).toBeUndefined();
    const chatTool = { type: 'function', function: tool };
    const functions = [tool];
    expect(found('chat', { model: 'm', messages: [message], tools: [chatTool], functions })).toBeUndefined();
  });

  it('F14: and an item are sent unsearched where the deployer has opened their kind', () => {
    const opened = {
      items: new Set(['code_interpreter_call', 'mcp_call']),
      tools: new Set(['code_interpreter']),
    };
    const body = {
      model: 'm',
      input: [
        message,
        { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: 'x' },
        assistant([{ type: 'output_text', text: 'x', annotations: [{ file_id: 'f' }] }]),
      ],
      tools: [{ type: 'code_interpreter', container: 'cntr_1' }],
    };
    expect(found('responses', body, opened)).toBeUndefined();
    expect(found('responses', { ...body, tools: [{ type: 'file_search' }] }, opened)).toBe('tools[0].type');
  });
});

describe('a field of a body', () => {
  it.each([
    ['prompt', { id: 'pmpt_1' }],
    ['background', true],
    ['background', 'true'],
    ['background_options', { completion_window: '8h' }],
    ['thread_id', 'thread_1'],
    ['data_sources', [{ type: 'azure_search' }]],
  ])('F14: may not be %s', (field, value) => {
    expect(found('responses', { model: 'm', input: 'x', [field]: value })).toBe(field);
    expect(found('chat', { model: 'm', messages: [message], [field]: value })).toBe(field);
  });

  it('F14: may not be instructions with an item that the account has stored', () => {
    const instructed = (instructions: unknown) =>
      found('responses', { model: 'm', input: 'x', instructions });
    expect(instructed([message, { id: 'msg_1' }])).toBe('instructions[1]');
    expect(instructed([{ type: 'item_reference', id: 'msg_1' }])).toBe('instructions[0].type');
    expect(instructed({ file_id: 'file_1' })).toBe('instructions.file_id');
    expect(instructed('Be brief.')).toBeUndefined();
    expect(instructed([message])).toBeUndefined();
  });

  it.each([7, true, { a: 1 }, ['a']])('F15: is no key of a cache that no caller can own: %j', (key) => {
    for (const [api, body] of [
      ['responses', { model: 'm', input: 'x' }],
      ['chat', { model: 'm', messages: [message] }],
    ] as const)
      expect(found(api, { ...body, prompt_cache_key: key })).toBe('prompt_cache_key');
  });

  it.each([
    ['previous_response_id', 'resp_1', 'previous_response_id'],
    ['conversation', { id: 'conv_1' }, 'conversation'],
    ['store', true, 'store'],
    ['store', 'false', 'store'],
    ['audio', { voice: { id: 'voice_1' }, format: 'mp3' }, 'audio.voice'],
  ])('F14: of chat may not be %s: %j', (field, value, param) => {
    expect(found('chat', { model: 'm', messages: [message], [field]: value })).toBe(param);
  });

  it('F14: of a message may be no audio and no file that the account has stored', () => {
    expect(inMessages(message, { role: 'assistant', audio: { id: 'audio_1' } })).toBe('messages[1].audio.id');
    const part = { type: 'file', file: { file_id: 'file_1' } };
    expect(inMessages(user([part]))).toBe('messages[0].content[0].file.file_id');
  });

  it.each(['user_config', 'router_settings_override', 'api_base', 'base_url', 'api_key'])(
    'F14: chooses no server, key or models of a gateway: %s',
    (field) => {
      expect(found('chat', { model: 'm', messages: [message], store: false, [field]: 'x' })).toBe(field);
      expect(found('responses', { model: 'm', input: 'x', [field]: 'x' })).toBe(field);
      const nested = [{ model: 'm', [field]: 'x' }];
      expect(found('responses', { model: 'm', input: 'x', fallbacks: nested })).toBe(`fallbacks[0].${field}`);
      const spelled = field.toUpperCase();
      expect(found('responses', { model: 'm', input: 'x', [spelled]: 'x' })).toBe(spelled);
      expect(foundIn('chat', { model: 'm', messages: [message], [spelled]: 'x' })?.message).toMatch(
        /leave it out\.$/,
      );
    },
  );

  it('F14: may be anything that names nothing', () => {
    const open = {
      metadata: { file_id: 'x', conversation: 'y' },
      store: null,
      background: false,
      prompt: null,
      file_id: null,
      chat_template_kwargs: { enable_thinking: true },
      temperature: 0.5,
    };
    const schema = { properties: { container: { type: 'string' } } };
    expect(
      found('responses', { model: 'm', input: 'x', ...open, text: { format: { schema } } }),
    ).toBeUndefined();
    const audio = { voice: 'alloy', format: 'mp3' };
    const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    expect(
      found('chat', { model: 'm', messages: [message], ...open, audio, response_format }),
    ).toBeUndefined();
    expect(
      inMessages({ role: 'assistant', content: 'x', audio: null, parsed: { file_id: 'x' } }),
    ).toBeUndefined();
    const input_audio = { data: 'AAAA', format: 'wav' };
    expect(inMessages(user([{ type: 'input_audio', input_audio }]))).toBeUndefined();
  });
});

describe('a name', () => {
  it.each([
    [
      'escaped',
      '{"model":"m","input":[{"role":"user","content":[{"file\\u005fid":"f"}]}]}',
      'input[0].content[0].file_id',
    ],
    [
      'before a null',
      '{"model":"m","input":[{"role":"user","content":[{"file_id":"f","file_id":null}]}]}',
      'input[0].content[0].file_id',
    ],
    [
      'behind a null',
      '{"model":"m","input":[{"role":"user","content":[{"file_id":null,"file_id":"f"}]}]}',
      'input[0].content[0].file_id',
    ],
    [
      'behind a type',
      '{"model":"m","input":[{"type":"message","type":"item_reference","id":"x","role":"user","content":"y"}]}',
      'input[0].type',
    ],
    [
      'before a type',
      '{"model":"m","input":"x","tools":[{"type":"file_search","type":"function","vector_store_ids":["x"]}]}',
      'tools[0].type',
    ],
    [
      'in a content that is another',
      '{"model":"m","input":[{"id":"x","role":"user","content":"y","content":null}]}',
      'input[0].content',
    ],
    [
      'in other letters',
      '{"model":"m","input":[{"role":"user","content":[{"File_ID":"f"}]}]}',
      'input[0].content[0].File_ID',
    ],
    ['in letters that fold', '{"model":"m","input":"x","\u017ftore":true}', '\u017ftore'],
    ['in tools of other letters', '{"model":"m","input":"x","Tools":[{"type":"file_search"}]}', 'Tools'],
    [
      'in the messages of the other protocol',
      '{"model":"m","messages":[],"input":[{"id":"msg_1"}]}',
      'input[0]',
    ],
    [
      'far below',
      `{"model":"m","input":[{"role":"user","content":${'['.repeat(100)}${']'.repeat(100)}}]}`,
      `input[0].content${'[0]'.repeat(10)}`,
    ],
  ])('F14: hides from no search: %s', (_, body, param) => {
    expect(found('responses', body)).toBe(param);
  });

  it('F14: hides not among more fields than are looked at', () => {
    const part = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`field_${index}`, index]));
    expect(inMessages(user([part]))).toBe('messages[0].content[0]');
    expect(inMessages(user(Array(30_000).fill({ type: 'text', text: 'x' })))).toBeUndefined();
  });

  it('F14: is found anywhere in an item, however often its keys occur', () => {
    const key = fc.constantFrom('a', 'content', 'type', 'file_id', 'output', 'summary');
    const leaf = fc.constantFrom('null', '1', '"message"', '"x"', '[]');
    const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaf,
        tie('object'),
        fc.array(tie('value'), { maxLength: 3 }).map((list) => `[${list}]`),
      ),
      object: fc
        .array(fc.tuple(key, tie('value')), { maxLength: 4 })
        .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`)}}`),
    }));
    forAll(500, object, (item) => {
      const body = `{"model":"m","input":[${item}]}`;
      // Of two equal keys, some parsers take the first and some the last.
      if (/"file_id":(?!null)/.test(item)) expect(found('responses', body)).toBeDefined();
    });
  });
});

describe('an item with an id and no type', () => {
  it.each([
    ['{"id":"msg_1"}', true],
    ['{"id":"msg_1","type":null}', true],
    ['{"type":"item_reference","id":"msg_1"}', true],
    ['{"id":"msg_1","type":null,"role":"user","content":"x"}', true],
    ['{"id":"msg_1","role":"user","content":"x"}', false],
    ['{"type":"message","id":"msg_1","role":"user","content":"x"}', false],
  ])('F14: names what the upstream has stored: %s', (item, isStored) => {
    const read = readResponsesRequest(new TextEncoder().encode(`{"model":"m","input":[${item}]}`));
    expect(read.ok && read.value.upstreamState).toBe(isStored ? 'input' : undefined);
  });
});
