import { describe, expect, it } from 'vitest';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import type { View } from '../../../src/memory/plan/view.ts';
import { goOnChat } from '../../../src/protocol/chat/calls.ts';
import { chatFormat } from '../../../src/protocol/chat/format.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { goOnResponses } from '../../../src/protocol/responses/calls.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const NOTHING: View = { removals: new Map(), dropped: new Set(), tokens: 0, incomplete: false };
const shown = (message: number, json: string): View => ({
  ...NOTHING,
  rounds: new Map([[message, { json, rounds: 1, tokens: 9 }]]),
});

const CALL = { id: 'fetch_1', name: 'retrieve_ref', arguments: '{"ref":"ref_1"}' };

describe('the messages of a round', () => {
  it('are spliced before their answer in the bytes that were sent, in chat', () => {
    const asked = [{ role: 'user', content: 'Go.' }];
    const turn = {
      role: 'assistant',
      content: null,
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm \u00e9', signature: 'c2ln/+==', index: 0 }],
      tool_calls: [
        { id: CALL.id, type: 'function', function: { name: CALL.name, arguments: CALL.arguments } },
      ],
    };
    const { body, added } = goOnChat(encode({ messages: asked }), { messages: [turn], calls: [CALL] }, [
      'it',
    ]);
    const answer = '{"role":"assistant",  "content":"Done."}';
    const next = new TextEncoder().encode(`{"messages":[${JSON.stringify(asked[0])},${answer}]}`);
    const read = readChatRequest(next);
    if (!read.ok) throw new Error(read.reason.message);

    const written = decode(read.value.write(shown(1, added)));
    expect(written.startsWith(decode(body).slice(0, -2))).toBe(true);
    expect(written.endsWith(`,${answer}]}`)).toBe(true);
  });

  it('are spliced before their answer with encrypted reasoning, over the Responses API', () => {
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA/+==' };
    const called = {
      type: 'function_call',
      id: 'fc_1',
      call_id: CALL.id,
      name: CALL.name,
      arguments: CALL.arguments,
    };
    const { body, added } = goOnResponses(
      encode({ store: false, input: [{ role: 'user', content: 'Go.' }] }),
      { messages: [thought, called], calls: [CALL] },
      ['it'],
    );
    const answer = [
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gBBB' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
    ];
    const read = readResponsesRequest(
      encode({ store: false, input: [{ role: 'user', content: 'Go.' }, ...answer] }),
    );
    if (!read.ok) throw new Error(read.reason.message);

    const written = decode(read.value.write(shown(1, added)));
    expect(written.startsWith(decode(body).slice(0, -2))).toBe(true);

    // Also where the reasoning of the answer has left.
    const cleared = { kind: 'reasoning', message: 1, call: -1, replacement: '' } as unknown as Removal;
    const view = { ...shown(1, added), removals: new Map([[1, [cleared]]]) };
    const { input } = JSON.parse(decode(read.value.write(view)));
    expect(input.map(({ type = 'message' }) => type)).toEqual([
      ...['message', 'reasoning', 'function_call', 'function_call_output'],
      'message',
    ]);
  });
});

describe('the items of a round of which a tool of the upstream is one', () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } };
  const called = { type: 'function_call', call_id: CALL.id, name: CALL.name, arguments: '{}' };
  const output = { type: 'function_call_output', call_id: CALL.id, output: 'it' };
  const later = [
    { ...thought, id: 'rs_2' },
    { ...called, call_id: 'c2' },
    { ...output, call_id: 'c2' },
  ];
  const approval = {
    type: 'mcp_approval_request',
    id: 'mcpr_1',
    server_label: 's',
    name: 'f',
    arguments: '{}',
  };
  const asked = { role: 'user', content: 'Go.' };
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };

  it.each([
    ['gpt-6.2-sol', search, [thought]],
    ['gpt-6.2-sol', approval, [thought]],
    ['claude-opus-5-5', search, []],
  ])('keep the reasoning that they are refused without (%s, %j)', (model, hosted, kept) => {
    const json = JSON.stringify([thought, hosted, called, output, ...later]).slice(1, -1);
    const left = [...kept, hosted, called, output, ...later.slice(1)];
    const read = readResponsesRequest(encode({ model, store: false, input: [asked, said] }));
    if (!read.ok) throw new Error(read.reason.message);
    const { input } = JSON.parse(decode(read.value.write({ ...shown(1, json), thinkingFrom: 2 })));
    expect(input).toEqual([asked, ...left, said]);
  });
});

describe('the answer of several rounds', () => {
  const OURS = new Set(['retrieve_ref']);
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
    });

  it('is said once it is complete, with the ids of the calls that the caller sees', async () => {
    const { Frame } = await import('../../../src/protocol/answers/sse.ts');
    const joined = chatFormat.joinStreams(OURS, () => true);
    const take = (...data: string[]) => data.map((each) => joined.take(Frame.of(each)));
    const ours = {
      index: 0,
      id: 'fetch_1',
      type: 'function',
      function: { name: 'retrieve_ref', arguments: '{}' },
    };
    take(chunk({ role: 'assistant', content: 'Let me look. ' }), chunk({ tool_calls: [ours] }));
    take(chunk({}, 'tool_calls'), '[DONE]');
    expect(joined.said).toBeUndefined();
    joined.begin();
    const theirs = { ...ours, id: 'call_1', function: { name: 'edit', arguments: '{}' } };
    take(chunk({ content: 'Now.' }), chunk({ tool_calls: [theirs] }));
    expect(joined.said).toBeUndefined();
    take(chunk({}, 'tool_calls'), '[DONE]');

    const said = joined.said;
    expect(said?.isVerbatim).toBe(false);
    expect(JSON.parse(said?.json ?? '')).toMatchObject({
      content: 'Let me look. Now.',
      tool_calls: [{ id: 'call_1' }],
    });
  });

  it('is never said if it was cut off by a filter', () => {
    const joined = chatFormat.joinBodies(OURS, () => true);
    const message = { role: 'assistant', content: 'Half' };
    joined.take(encode({ choices: [{ index: 0, message, finish_reason: 'content_filter' }] }));
    expect(joined.said).toBeUndefined();
  });
});
