/** Bodies without the thinking of earlier answers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { roundsWithoutThinking, withoutThinking } from '../../../src/protocol/thinking.ts';
import { assistant } from '../../support/conversations/chat.ts';
import { forAll } from '../../support/laws/runs.ts';
import { counter } from '../../support/laws/view-of.ts';

type Json = Record<string, unknown>;
type Field = 'messages' | 'input';

function cut(field: Field, list: readonly unknown[]): unknown[] | undefined {
  const body = {
    model: 'claude',
    thinking: { type: 'enabled' },
    [field]: list,
    reasoning: { effort: 'low' },
  };
  const bytes = withoutThinking(new TextEncoder().encode(JSON.stringify(body)), field);
  if (!bytes) return undefined;
  const { [field]: rest, ...others } = JSON.parse(new TextDecoder().decode(bytes)) as Json;
  expect(others).toEqual({ model: 'claude', thinking: { type: 'enabled' }, reasoning: { effort: 'low' } });
  return rest as unknown[];
}

const user = { role: 'user', content: 'What do you think of the reasoning?', reasoning: 'mine' };
const calls = [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{}' } }];
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'abc' };
const sealed = { type: 'redacted_thinking', data: 'abc' };
const text = { type: 'text', text: 'So.' };
const summed = {
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Hm.', signature: 'a'.repeat(99) }],
};
const said = assistant('So.');

describe('a chat body without thinking', () => {
  it.each<[string, Json, Json | undefined]>([
    ['the texts of other servers', { ...said, reasoning: 'Hm.', reasoning_content: 'Hm.' }, said],
    ['details', { ...said, reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }, said],
    ['the texts of Copilot', { ...said, reasoning_text: 'Hm.', reasoning_opaque: 'abc' }, said],
    ['a signature', { ...said, thinking: 'Hm.', signature: 'abc' }, said],
    ['blocks', { ...said, thinking_blocks: [thought, sealed] }, said],
    [
      'blocks in the fields of a provider',
      { ...said, provider_specific_fields: { citations: null, thinking_blocks: [thought] } },
      { ...said, provider_specific_fields: { citations: null } },
    ],
    ['parts of a content', assistant([thought, sealed, text]), assistant([text])],
    ["Databricks' parts", assistant([summed, text]), assistant([text])],
    [
      'all parts of a content beside calls',
      { role: 'assistant', content: [thought, sealed], tool_calls: calls },
      { role: 'assistant', content: null, tool_calls: calls },
    ],
    ['a message that says nothing else', { role: 'assistant', content: null, reasoning: 'Hm.' }, undefined],
    ['one with an empty text', { role: 'assistant', content: '', reasoning_content: 'Hm.' }, undefined],
    ['one of such parts alone', assistant([thought]), undefined],
    ['one with an empty list of calls', { role: 'assistant', reasoning: 'Hm.', tool_calls: [] }, undefined],
  ])('has lost %s', (_, message, left) => {
    expect(cut('messages', [user, message, user])).toEqual([user, ...(left ? [left] : []), user]);
  });

  it('does not exist if there is no thinking', () => {
    expect(cut('messages', [user, { ...said, tool_calls: calls }])).toBeUndefined();
    expect(cut('messages', [assistant(null), user])).toBeUndefined();
  });
});

const call = { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'reasoning and thinking' };
const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' };

describe('a Responses body without thinking', () => {
  it('has lost reasoning items, and the ids that need them', () => {
    const items = [
      { role: 'user', content: 'Hm?' },
      reasoning,
      { ...message, id: 'msg_1' },
      { ...call, id: 'fc_1' },
      { ...output, id: 'fco_1' },
      { ...message, id: 'msg_2' },
    ];
    expect(cut('input', items)).toEqual([
      items[0],
      message,
      call,
      { ...output, id: 'fco_1' },
      { ...message, id: 'msg_2' },
    ]);
  });

  it('does not exist if there is no thinking', () => {
    expect(cut('input', [call, output, { ...message, id: 'msg_1' }])).toBeUndefined();
  });

  it('is no other one for a text', () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ input: 'your reasoning and thinking' }));
    expect(withoutThinking(bytes, 'input')).toBeUndefined();
  });
});

describe('any body without thinking', () => {
  const bare = fc.constantFrom<Json>(user, said, { role: 'assistant', content: null, tool_calls: calls });
  const thinks = fc.constantFrom<Json>(
    { reasoning: 'Hm.' },
    { thinking_blocks: [thought] },
    { reasoning_details: [] },
  );

  it('is the body that never had any, and has none to lose', () => {
    forAll(fc.array(fc.tuple(bare, fc.option(thinks))), (pairs) => {
      const plain = pairs.map(([each]) => each);
      const whole = pairs.map(([each, more]) => (each.role === 'assistant' ? { ...each, ...more } : each));
      const left = cut('messages', whole);
      expect(left ?? whole).toEqual(plain);
      expect(cut('messages', left ?? whole)).toBeUndefined();
    });
  });
});

const requestOf = (field: Field, list: readonly unknown[]) => {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'claude', [field]: list }));
  const read = field === 'messages' ? readChatRequest(bytes) : readResponsesRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
};

const SIGNED = [
  { ...said, reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'a' }] },
  { ...said, reasoning_content: 'Hm.', thinking_blocks: [thought, sealed] },
  { ...said, provider_specific_fields: { thinking_blocks: [thought], citations: null } },
  { ...said, reasoning_text: 'Hm.', reasoning_opaque: 'abc'.repeat(99) },
  assistant([thought, text, { type: 'text', text: 'And so.' }]),
  assistant([summed, text, { type: 'text', text: 'And so.' }]),
  { role: 'assistant', content: null, tool_calls: calls, thinking_blocks: [thought] },
  { role: 'assistant', content: '', reasoning_content: 'Hm.' },
  { role: 'assistant', content: [thought], refusal: null },
];

describe('a body without the thinking before a message', () => {
  const anyMessage = fc.constantFrom<Json>(user, said, ...SIGNED);
  const anyItem = fc.constantFrom<Json>(
    { role: 'user', content: 'Hm?' },
    { ...message, content: [thought, ...message.content] },
    message,
    call,
    output,
    reasoning,
    { ...message, id: 'msg_1', thinking_blocks: [thought] },
  );
  const cases = fc.oneof(
    fc.tuple(fc.constant<Field>('messages'), fc.array(anyMessage, { minLength: 1 })),
    fc.tuple(fc.constant<Field>('input'), fc.array(anyItem, { minLength: 1 })),
  );
  const listOf = (field: Field, bytes: Uint8Array): unknown[] =>
    JSON.parse(new TextDecoder().decode(bytes))[field] as unknown[];

  it('is cut there and unchanged after it', () => {
    forAll(cases, fc.nat(), ([field, list], at) => {
      const request = requestOf(field, list);
      const groups = request.messages.map(({ json }) => JSON.parse(`[${new TextDecoder().decode(json)}]`));
      const from = at % (groups.length + 1);
      const head = groups.slice(0, from).flat();
      const left = withoutIds((head.length > 0 && cut(field, head)) || head);
      const sent = listOf(field, request.write(undefined, { thinkingFrom: from }));
      const rest = groups.slice(from).flat();
      expect(withoutIds(sent.slice(0, sent.length - rest.length))).toEqual(left);
      if (field === 'messages') expect(sent.slice(sent.length - rest.length)).toEqual(rest);
    });
  });

  it.each(SIGNED)('knows how much it has lost: %j', (signed) => {
    const [whole] = requestOf('messages', [signed]).messages;
    const left = cut('messages', [signed])?.[0];
    const { weight, isAll, blocks = 0, bytes = 0 } = whole?.thinking() ?? {};
    expect(isAll).toBe(left === undefined);
    expect(blocks).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThan(0);
    if (!whole || !weight || left === undefined) return;
    const [bare] = requestOf('messages', [left]).messages;
    const lost = weight.flat + weight.texts.reduce((sum, each) => sum + counter.text(each), 0);
    expect(bare && counter.message(whole) - counter.message(bare)).toBe(lost);
    expect(bare?.thinking()).toBeUndefined();
  });

  it.each([user, said, message])('knows where there is none: %j', (bare) => {
    expect(requestOf('messages', [bare]).messages[0]?.thinking()).toBeUndefined();
  });

  it.each([{ ...reasoning }, { ...message, content: [thought] }, { ...call, thinking_blocks: [thought] }])(
    'knows it in items: %j',
    (item) => {
      const thinking = requestOf('input', [item]).messages[0]?.thinking();
      expect(thinking).toMatchObject({ blocks: 1, isAll: item.type === 'reasoning' });
    },
  );
});

/** Whether the items that thinking has led to keep their ids does not matter here. */
const withoutIds = (list: readonly unknown[]): unknown[] =>
  list.map((each) => {
    const { id: _, ...rest } = each as Json;
    return rest;
  });

describe('kept rounds', () => {
  const round = { ...said, thinking_blocks: [thought], reasoning_content: 'Hm.' };
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'thinking' };

  it('are without their thinking where that is bound to what has changed', () => {
    const json = [round, result].map((each) => JSON.stringify(each)).join(',');
    expect(JSON.parse(`[${roundsWithoutThinking(json, 'messages')}]`)).toEqual([said, result]);
    expect(roundsWithoutThinking(JSON.stringify(result), 'messages')).toBe(JSON.stringify(result));
  });
});
