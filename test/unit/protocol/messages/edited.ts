/** Bodies of Messages, and what a view writes of them. */
import type { Removal } from '../../../../src/memory/edits/removal.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import { type MessagesRequest, readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import type { Additions } from '../../../../src/protocol/model-request.ts';

export type Json = Record<string, unknown>;

export const MARK = { type: 'ephemeral' };
export const LONG = { type: 'ephemeral', ttl: '1h' };

export const user = (content: unknown): Json => ({ role: 'user', content });
export const assistant = (...content: Json[]): Json => ({ role: 'assistant', content });
export const text = (words: string, more: Json = {}): Json => ({ type: 'text', text: words, ...more });
export const use = (id: string, input: object = { q: 1 }): Json => ({
  type: 'tool_use',
  id,
  name: 'search',
  input,
});
export const result = (id: string, content: unknown, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
export const thinking = (words: string): Json => ({
  type: 'thinking',
  thinking: words,
  signature: `signed ${words}`,
});

export function read(messages: readonly Json[], more: Json = {}): MessagesRequest {
  const body = { model: 'claude-opus-5-5', max_tokens: 100, ...more, messages };
  const request = readMessagesRequest(new TextEncoder().encode(JSON.stringify(body)));
  if (!request.ok) throw new Error(request.reason.message);
  return request.value;
}

export const view = (edits: Partial<View>): View => ({
  removals: new Map(),
  dropped: new Set(),
  tokens: 0,
  incomplete: false,
  ...edits,
});

/** A removal as far as it is written. */
export function removal(edit: Partial<Removal> & Pick<Removal, 'message'>): [number, Removal[]] {
  const whole = { kind: 'output', reason: 'context_compaction', call: -1, replacement: 'gone', ...edit };
  return [edit.message, [whole as Removal]];
}

export function written(request: MessagesRequest, edits?: Partial<View>, additions?: Additions): Json {
  const bytes = request.write(edits && view(edits), additions);
  return JSON.parse(new TextDecoder().decode(bytes)) as Json;
}

export const sent = (...args: Parameters<typeof written>): unknown => written(...args).messages;

export const STEP = [
  user('Find both.'),
  assistant(thinking('hm'), text('I look.'), use('a'), use('b', { q: 2 })),
  user([result('a', 'found a'), result('b', [text('found b')], { is_error: true }), text('And c?')]),
];
