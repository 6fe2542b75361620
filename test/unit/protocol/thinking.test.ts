/** Bodies without the thinking of earlier answers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutThinking } from '../../../src/protocol/thinking.ts';

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
const said = { role: 'assistant', content: 'So.' };

describe('a chat body without thinking', () => {
  it.each<[string, Json, Json | undefined]>([
    ['the texts of other servers', { ...said, reasoning: 'Hm.', reasoning_content: 'Hm.' }, said],
    ['details', { ...said, reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }, said],
    ['blocks', { ...said, thinking_blocks: [thought, sealed] }, said],
    [
      'blocks in the fields of a provider',
      { ...said, provider_specific_fields: { citations: null, thinking_blocks: [thought] } },
      { ...said, provider_specific_fields: { citations: null } },
    ],
    [
      'parts of a content',
      { role: 'assistant', content: [thought, sealed, text] },
      { role: 'assistant', content: [text] },
    ],
    [
      'all parts of a content beside calls',
      { role: 'assistant', content: [thought, sealed], tool_calls: calls },
      { role: 'assistant', content: null, tool_calls: calls },
    ],
    ['a message that says nothing else', { role: 'assistant', content: null, reasoning: 'Hm.' }, undefined],
    ['one with an empty text', { role: 'assistant', content: '', reasoning_content: 'Hm.' }, undefined],
    ['one of such parts alone', { role: 'assistant', content: [thought] }, undefined],
    ['one with an empty list of calls', { role: 'assistant', reasoning: 'Hm.', tool_calls: [] }, undefined],
  ])('has lost %s', (_, message, left) => {
    expect(cut('messages', [user, message, user])).toEqual([user, ...(left ? [left] : []), user]);
  });

  it('does not exist if there is no thinking', () => {
    expect(cut('messages', [user, { ...said, tool_calls: calls }])).toBeUndefined();
    expect(cut('messages', [{ role: 'assistant', content: null }, user])).toBeUndefined();
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
    fc.assert(
      fc.property(fc.array(fc.tuple(bare, fc.option(thinks))), (pairs) => {
        const plain = pairs.map(([each]) => each);
        const whole = pairs.map(([each, more]) => (each.role === 'assistant' ? { ...each, ...more } : each));
        const left = cut('messages', whole);
        expect(left ?? whole).toEqual(plain);
        expect(cut('messages', left ?? whole)).toBeUndefined();
      }),
    );
  });
});
