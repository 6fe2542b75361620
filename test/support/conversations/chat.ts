/** Short ways to write conversations in tests. */

import type { ChatMessage } from '../../../src/protocol/chat/message.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';

export type Message = Record<string, unknown>;
type Said = Message & { role: string };

export const system = (content: unknown): Said => ({ role: 'system', content });
export const user = (content: unknown): Said => ({ role: 'user', content });
export const assistant = (content: unknown, more: Message = {}): Said => ({
  role: 'assistant',
  content,
  ...more,
});
export const result = (id: string, content: unknown): Said => ({
  role: 'tool',
  tool_call_id: id,
  content,
});

/** An assistant message with calls, given as `[id, name, arguments?]`. */
export const calls = (...made: [id: string, name: string, input?: string][]): Said => ({
  role: 'assistant',
  content: null,
  tool_calls: made.map(([id, name, input = '{}']) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  })),
});

/** One call and its result. */
export const step = (id: string, name: string, output: unknown): Said[] => [
  calls([id, name]),
  result(id, output),
];

/** `n` lines that tokenizers hardly shorten. */
export const lines = (n: number, word = 'line'): string =>
  Array.from({ length: n }, (_, index) => `${word} ${index}: value ${index * 7919}`).join('\n');

export const body = (messages: readonly Message[], more: Message = {}) => ({
  model: 'gpt-4.1',
  ...more,
  messages,
});

/** Messages as the core sees them. */
export function read(messages: readonly Message[]): readonly ChatMessage[] {
  const request = readChatRequest(new TextEncoder().encode(JSON.stringify(body(messages))));
  if (!request.ok) throw new Error(request.reason.message);
  return request.value.messages;
}
