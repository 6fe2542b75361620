import { describe, expect, it } from 'vitest';
import { exampleConversation } from '../../../inspector/read/example.ts';
import { apiOf, readRecorded } from '../../../inspector/read/recorded.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { assistant, user } from '../../support/conversations/chat.ts';

const MESSAGES = [user('One.'), assistant('Two.')];
const ITEMS = [user('One.'), { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }];

function found(text: string) {
  const reading = readRecorded(text);
  if (!reading.ok) throw new Error(reading.message);
  return reading.found;
}

describe('what is pasted', () => {
  it.each([
    ['an array of messages', MESSAGES, 'messages'],
    ['an array of items', ITEMS, 'input'],
    ['a body', { model: 'm', messages: MESSAGES }, 'messages'],
    ['a body of the Responses API', { model: 'm', input: ITEMS }, 'input'],
    ['a logged request', { id: 'r', body: { messages: MESSAGES } }, 'messages'],
  ])('may be %s', (_, value, field) => {
    const [first, ...others] = found(JSON.stringify(value));

    expect(first).toMatchObject({ field });
    expect(first && apiOf(first)).toBe(field === 'input' ? 'responses' : 'chat');
    expect(first?.messages).toHaveLength(2);
    expect(others).toEqual([]);
  });

  it('may be a body of Anthropic’s Messages, known by its system or its blocks', () => {
    const used = assistant([{ type: 'tool_use', id: 'a', name: 'f', input: {} }]);
    const bodies = [{ system: 'Help.', messages: MESSAGES }, { messages: [MESSAGES[0], used] }];
    expect(found(JSON.stringify(bodies)).map(({ system }) => system)).toEqual([
      [{ type: 'text', text: 'Help.' }],
      [],
    ]);
    expect(found(JSON.stringify(bodies)).map(apiOf)).toEqual(['messages', 'messages']);
    expect(found(JSON.stringify({ messages: MESSAGES }))[0]).not.toHaveProperty('system');
  });

  it('may be a message a line', () => {
    const lines = MESSAGES.map((message) => JSON.stringify(message)).join('\n');

    expect(found(`${lines}\n\n`)).toMatchObject([{ field: 'messages', messages: MESSAGES }]);
  });

  it('may be several bodies, a line each or in an array, by their names', () => {
    const bodies = [
      { id: 'first', messages: MESSAGES, tools: [{}], model: 'm', memory_strategy: 'auto' },
      { messages: MESSAGES },
    ];
    const expected = [{ name: 'first', tools: [{}], model: 'm', strategy: 'auto' }, { name: '2' }];

    expect(found(JSON.stringify(bodies))).toMatchObject(expected);
    expect(found(bodies.map((body) => JSON.stringify(body)).join('\n'))).toMatchObject([
      { name: 'first' },
      { name: 'line 2' },
    ]);
  });

  it.each([
    ['', 'Nothing is here yet.'],
    ['[1, 2', 'This is not JSON'],
    ['{"messages": []}', 'not an array of messages'],
    ['{"a": 1}', 'not an array of messages'],
    ['[]', 'not an array of messages'],
    ['"text"', 'not an array of messages'],
    ['{"role": "user"}\n{"role": ', 'Line 2: This is not JSON'],
  ])('is refused in words: %j', (text, message) => {
    expect(readRecorded(text)).toMatchObject({ ok: false, message: expect.stringContaining(message) });
  });
});

it('the example is a conversation that OpenAI takes', () => {
  const body = { model: 'gpt-4.1', messages: exampleConversation() };

  expect(violations(body as never, {})).toEqual([]);
});
