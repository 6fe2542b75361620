/** What a caller's choice of tools leaves of Precis's, in every protocol. */
import { describe, expect, it } from 'vitest';
import type { Result } from '../../../src/lib/result.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { readMessagesRequest } from '../../../src/protocol/messages/request.ts';
import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { leftToCaller } from '../../../src/protocol/tool-choice.ts';
import { definitionOf } from '../../../src/retrieval/tool.ts';

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const decode = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

function read(request: Result<ModelRequest, unknown>): ModelRequest {
  if (!request.ok) throw new Error('not read');
  return request.value;
}

const ASKED = [{ role: 'user', content: 'Go.' }];
const search = { type: 'function', function: { name: 'search' } };
const flat = { type: 'function', name: 'search' };
const PROTOCOLS = {
  chat: {
    tool: search,
    of: (fields: object) => read(readChatRequest(encode({ messages: ASKED, tools: [search], ...fields }))),
  },
  responses: {
    tool: flat,
    of: (fields: object) => read(readResponsesRequest(encode({ input: ASKED, tools: [flat], ...fields }))),
  },
  messages: {
    tool: { name: 'search' },
    of: (fields: object) =>
      read(readMessagesRequest(encode({ messages: ASKED, tools: [{ name: 'search' }], ...fields }))),
  },
};

const allowed = (mode: string, tools: unknown) => ({ type: 'allowed_tools', mode, tools });
const nested = (mode: string, tools: unknown) => ({ type: 'allowed_tools', allowed_tools: { mode, tools } });

describe('a choice of tools', () => {
  it.each([
    ['chat', undefined, true],
    ['chat', null, true],
    ['chat', 'auto', true],
    ['chat', 'required', true],
    ['chat', 'none', false],
    ['chat', search, false],
    ['chat', { type: 'custom', custom: { name: 'f' } }, false],
    ['chat', nested('auto', [search]), true],
    ['chat', nested('required', []), true],
    ['chat', nested('auto', undefined), false],
    ['responses', 'none', false],
    ['responses', flat, false],
    ['responses', { type: 'web_search' }, false],
    ['responses', { type: 'mcp', server_label: 's' }, false],
    ['responses', allowed('auto', [flat]), true],
    ['messages', { type: 'auto' }, true],
    ['messages', { type: 'any', disable_parallel_tool_use: true }, true],
    ['messages', { type: 'none' }, false],
    ['messages', { type: 'tool', name: 'search' }, false],
  ] as const)('in %s, %j leaves Precis’s: %s', (protocol, tool_choice, leaves) => {
    expect(PROTOCOLS[protocol].of({ tool_choice }).leavesOurs).toBe(leaves);
  });

  it.each([
    [
      'chat',
      nested('auto', [search]),
      nested('auto', [search, { type: 'function', function: { name: 'retrieve_ref' } }]),
    ],
    [
      'chat',
      nested('required', []),
      nested('required', [{ type: 'function', function: { name: 'retrieve_ref' } }]),
    ],
    [
      'responses',
      allowed('auto', [flat]),
      allowed('auto', [flat, { type: 'function', name: 'retrieve_ref' }]),
    ],
    ['responses', 'auto', 'auto'],
  ] as const)('in %s, the list of %j gets Precis’s', (protocol, tool_choice, written) => {
    const request = PROTOCOLS[protocol].of({ tool_choice });
    const tools = [request.toolJson(definitionOf('retrieve_ref'))];
    expect(decode(request.write(undefined, { tools })).tool_choice).toEqual(written);
    expect(decode(request.write(undefined)).tool_choice).toEqual(tool_choice);
  });

  const OURS = new Set(['retrieve_ref']);
  const last = (protocol: keyof typeof PROTOCOLS, fields: object, keepsTools = false) => {
    const request = PROTOCOLS[protocol].of(fields);
    const tools = [request.toolJson(definitionOf('retrieve_ref'))];
    return decode(leftToCaller(request.write(undefined, { tools }), OURS, keepsTools));
  };

  it('that requires a call lists the caller’s in the last round, where the tools must stay', () => {
    const custom = { type: 'custom', custom: { name: 'patch', format: { type: 'text' } } };
    const chat = last('chat', { tools: [search, custom], tool_choice: 'required' }, true);
    expect(chat.tools).toHaveLength(3);
    expect(chat.tool_choice).toEqual(
      nested('required', [search, { type: 'custom', custom: { name: 'patch' } }]),
    );
    const served = { type: 'mcp', server_label: 'desk', server_url: 'https://desk.example' };
    const hosted = [flat, { type: 'custom', name: 'patch' }, { type: 'web_search' }, served];
    const responses = last('responses', { tools: hosted, tool_choice: 'required' }, true);
    expect(responses.tools).toHaveLength(5);
    expect(responses.tool_choice).toEqual(
      allowed('required', [
        { type: 'function', name: 'search' },
        { type: 'custom', name: 'patch' },
        { type: 'web_search' },
        { type: 'mcp', server_label: 'desk' },
      ]),
    );
    expect(last('chat', { tool_choice: 'auto' }, true).tool_choice).toBe('auto');
    expect(last('chat', { tools: [], tool_choice: 'required' }, true).tool_choice).toBe('required');
  });

  it.each([
    ['chat', 'required'],
    ['responses', 'required'],
    ['messages', { type: 'any' }],
  ] as const)('in %s, %j leaves only the caller’s tools in the last round', (protocol, tool_choice) => {
    const { tool } = PROTOCOLS[protocol];
    expect(last(protocol, { tool_choice }).tools).toEqual([tool]);
    expect(last(protocol, { tool_choice, tools: [] }).tools).toHaveLength(1);
    expect(last(protocol, {}).tools).toHaveLength(2);
  });

  it('that requires one of a list leaves only the caller’s in that list, and the tools as they are', () => {
    const chat = last('chat', { tool_choice: nested('required', [search]) });
    expect([chat.tool_choice, chat.tools.length]).toEqual([nested('required', [search]), 2]);
    const responses = last('responses', { tool_choice: allowed('required', [flat]) });
    expect([responses.tool_choice, responses.tools.length]).toEqual([allowed('required', [flat]), 2]);
    expect(last('responses', { tool_choice: allowed('auto', [flat]) }).tool_choice.tools).toHaveLength(2);
  });
});
