/**
 * A model's answer in both forms of the Messages API: a `message`, or the events of a stream.
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */
import { ANSWERED, type Answer } from './completion.ts';
import { idFor, type Json } from './json.ts';

/** An answer, with what only this protocol has. */
export interface MessageAnswer extends Pick<Answer, 'content' | 'toolCalls'> {
  /** The end of the message's id. */
  readonly id?: string;
  /** At the beginning. Without a text, thinking is redacted. */
  readonly thinking?: { readonly signature: string; readonly text?: string };
  /** Blocks of the API's own tools or of unknown types, placed before the calls. */
  readonly blocks?: readonly Json[];
  /** Absent: by its calls. */
  readonly stopReason?: string;
  /** In the names of the API. */
  readonly usage?: Json;
  /** Other fields of the message. */
  readonly fields?: Json;
}

/** The whole answer as one JSON object. */
export function messageOf(body: Json, answer: MessageAnswer = {}): Json {
  const { id = idFor(body), thinking, blocks = [], toolCalls = [], usage = USAGE } = answer;
  const says = answer.content ?? (blocks.length + toolCalls.length > 0 ? undefined : ANSWERED);
  const content = [
    ...(thinking ? [thinkingOf(thinking)] : []),
    ...(says === undefined ? [] : [{ type: 'text', text: says }]),
    ...blocks,
    ...toolCalls.map(({ id, name, arguments: input }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(input),
    })),
  ];
  return {
    model: body.model,
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    content,
    ...answer.fields,
    stop_reason: answer.stopReason ?? (toolCalls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage,
  };
}

/** The frames of the same answer. */
export function* messageEvents(body: Json, answer: MessageAnswer = {}): Generator<string> {
  const { content, stop_reason, stop_sequence, usage, container, context_management, ...head } = messageOf(
    body,
    answer,
  );
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null };
  const { cache_creation: _, service_tier: __, ...counts } = usage as Json;
  yield event('message_start', { message: { ...begun, usage: { ...(usage as Json), output_tokens: 1 } } });
  for (const [index, block] of (content as Json[]).entries()) {
    yield event('content_block_start', { index, content_block: { ...block, ...opening(block) } });
    if (index === 0) yield event('ping', {});
    for (const delta of deltasOf(block)) yield event('content_block_delta', { index, delta });
    yield event('content_block_stop', { index });
  }
  yield event('message_delta', {
    delta: { stop_reason, stop_sequence, container },
    usage: counts,
    context_management,
  });
  yield event('message_stop', {});
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The members that a block lacks when it begins. */
function opening({ type }: Json): Json {
  if (type === 'text') return { text: '' };
  if (type === 'thinking') return { thinking: '', signature: '' };
  return type === 'tool_use' || type === 'server_tool_use' ? { input: {} } : {};
}

function* deltasOf(block: Json): Generator<Json> {
  const { type, text, thinking, signature, input } = block;
  if (type === 'text') for (const piece of pieces(text)) yield { type: 'text_delta', text: piece };
  if (type === 'thinking') {
    for (const piece of pieces(thinking)) yield { type: 'thinking_delta', thinking: piece };
    yield { type: 'signature_delta', signature };
  }
  if (type !== 'tool_use' && type !== 'server_tool_use') return;
  yield { type: 'input_json_delta', partial_json: '' };
  const json = JSON.stringify(input);
  for (const partial_json of json.match(/[^,]*,|[^,]+/g) ?? [])
    yield { type: 'input_json_delta', partial_json };
}

/** A text word by word. */
function pieces(text: unknown): readonly string[] {
  return String(text).match(/\S+\s*|\s+/g) ?? [];
}

function thinkingOf({ text, signature }: NonNullable<MessageAnswer['thinking']>): Json {
  return text === undefined
    ? { type: 'redacted_thinking', data: signature }
    : { type: 'thinking', thinking: text, signature };
}

const USAGE: Json = {
  input_tokens: 10,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 5,
  service_tier: 'standard',
};
