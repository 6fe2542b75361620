/** Arguments of calls that are an object, where the API has its JSON as a text. */
import { describe, expect, it } from 'vitest';
import type { Removal } from '../../../src/memory/edits/removal.ts';
import type { View } from '../../../src/memory/plan/view.ts';
import { inputText } from '../../../src/protocol/call-input.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { ItemSorter, turnOf } from '../../../src/protocol/responses/calls.ts';
import { readResponsesRequest } from '../../../src/protocol/responses/request.ts';
import { counter } from '../../support/laws/view-of.ts';

const ARGUMENTS = `{"patch":${JSON.stringify('line of code\n'.repeat(400))},"id":12345678901234567890}`;
const AS_TEXT = JSON.stringify(ARGUMENTS);
const named = (input: string): string => `{"name":"apply","arguments":${input}}`;

const FORMS: Readonly<Record<string, (input: string) => string>> = {
  chat: (input) =>
    `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":${named(input)}}]}]}`,
  'chat, the deprecated field': (input) =>
    `{"messages":[{"role":"assistant","content":null,"function_call":${named(input)}}]}`,
  'chat, a custom tool': (input) =>
    `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"apply","input":${input}}}]}]}`,
  responses: (input) =>
    `{"input":[{"type":"function_call","call_id":"c","name":"apply","arguments":${input}}]}`,
};

describe.each(Object.keys(FORMS))('arguments as an object: %s', (form) => {
  const read = (input: string) => {
    const bytes = new TextEncoder().encode(FORMS[form]?.(input));
    const body = form === 'responses' ? readResponsesRequest(bytes) : readChatRequest(bytes);
    if (!body.ok) throw new Error(body.reason.message);
    return body.value;
  };

  it('count as their text, and keep their digits', () => {
    const [[text], [object]] = [read(AS_TEXT).messages, read(ARGUMENTS).messages];
    if (!text || !object) throw new Error('no message was read');
    // An object is cleared as one, and a custom tool's text as a text.
    const withoutForms = ({ calls }: typeof text) => calls.map(({ form, ...call }) => call);
    expect(withoutForms(object)).toEqual(withoutForms(text));
    expect(counter.message(object)).toBe(counter.message(text));
    expect(counter.message(object)).toBeGreaterThan(1_000);
  });

  it.each([AS_TEXT, ARGUMENTS])('are cleared as what they are', (input) => {
    const replacement = '{"removed":"ref_1"}';
    const removal = { kind: 'input', message: 0, call: 0, replacement } as unknown as Removal;
    const removals = new Map([[0, [removal]]]);
    const view: View = { removals, dropped: new Set(), tokens: 0, incomplete: false };
    const written = new TextDecoder().decode(read(input).write(view));
    expect(written).toBe(FORMS[form]?.(input === AS_TEXT ? JSON.stringify(replacement) : replacement));
  });
});

describe('the arguments of a call of Precis’s tool', () => {
  it('are sent back as a text, over the Responses API', () => {
    const sorter = new ItemSorter(new Set(['retrieve_ref']), () => true);
    const call = { type: 'function_call', call_id: 'c', name: 'retrieve_ref', arguments: { ref: 'r' } };
    const turn = turnOf([call], sorter);
    expect(turn.calls).toEqual([{ id: 'c', name: 'retrieve_ref', arguments: '{"ref":"r"}' }]);
    expect(turn.messages).toEqual([{ ...call, arguments: '{"ref":"r"}' }]);
  });

  it.each([undefined, null, 7, true])('are none if they are %j', (input) => {
    expect(inputText(input)).toBe('');
  });
});
