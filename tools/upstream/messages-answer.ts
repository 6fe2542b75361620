/**
 * A model's answer in both forms of Anthropic's API: a message, or the events of a stream
 * (https://platform.claude.com/docs/en/build-with-claude/streaming).
 */
import { createHash } from 'node:crypto';

type Json = Record<string, unknown>;

/** What the model answers. */
export interface MessagesAnswer {
  readonly text?: string;
  readonly toolUses?: readonly { readonly id: string; readonly name: string; readonly input: Json }[];
  /** Thinking with its signature, before all else. */
  readonly thought?: { readonly text: string; readonly signature: string } | undefined;
  /** Blocks as they are, in the place of text and tools. */
  readonly blocks?: readonly Json[];
  /** Default: `tool_use` with a use of a tool, else `end_turn`. */
  readonly stopReason?: string;
  /** Other fields of the message, such as `input_transformations`. */
  readonly fields?: Json;
}

export interface MessagesUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
}

const ANSWERED = 'This is what the upstream has to say.';

/** The whole answer as one JSON object. */
export function messageOf(body: Json, answer: MessagesAnswer, usage: MessagesUsage): Json {
  const blocks = blocksOf(answer);
  const uses = blocks.some(({ type }) => type === 'tool_use');
  return {
    id: `msg_${idFor(body)}`,
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: blocks,
    stop_reason: answer.stopReason ?? (uses ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { ...usage, service_tier: 'standard' },
    ...answer.fields,
  };
}

/** The frames of the same answer. */
export function* messageEvents(body: Json, answer: MessagesAnswer, usage: MessagesUsage): Generator<string> {
  const whole = messageOf(body, answer, usage);
  const { stop_reason, stop_sequence } = whole;
  const message = {
    ...whole,
    content: [],
    stop_reason: null,
    usage: { ...(whole.usage as Json), output_tokens: 1 },
  };
  yield frame('message_start', { message });
  yield frame('ping', {});
  for (const [index, block] of (whole.content as Json[]).entries()) {
    yield frame('content_block_start', { index, content_block: opening(block) });
    for (const delta of deltasOf(block)) yield frame('content_block_delta', { index, delta });
    yield frame('content_block_stop', { index });
  }
  yield frame('message_delta', { delta: { stop_reason, stop_sequence }, usage });
  yield frame('message_stop', {});
}

/** One frame of a stream. */
export function frame(type: string, fields: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function blocksOf({ text, toolUses = [], thought, blocks }: MessagesAnswer): Json[] {
  const thinking = thought
    ? [{ type: 'thinking', thinking: thought.text, signature: thought.signature }]
    : [];
  if (blocks) return [...thinking, ...blocks];
  const words = text ?? (toolUses.length > 0 ? undefined : ANSWERED);
  return [
    ...thinking,
    ...(words === undefined ? [] : [{ type: 'text', text: words }]),
    ...toolUses.map((use) => ({ type: 'tool_use', ...use })),
  ];
}

/** A block as it begins. Blocks of server tools come whole. */
function opening(block: Json): Json {
  if (block.type === 'text') return { ...block, text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'tool_use' || block.type === 'server_tool_use' ? { ...block, input: {} } : block;
}

function deltasOf(block: Json): Json[] {
  if (block.type === 'text')
    return piecesOf(String(block.text), /\S+\s*|\s+/g).map((text) => ({ type: 'text_delta', text }));
  if (block.type === 'thinking')
    return [
      ...piecesOf(String(block.thinking), /.{1,9}/gsu).map((thinking) => ({
        type: 'thinking_delta',
        thinking,
      })),
      { type: 'signature_delta', signature: block.signature },
    ];
  if (block.type !== 'tool_use' && block.type !== 'server_tool_use') return [];
  const json = piecesOf(JSON.stringify(block.input), /.{1,12}/gsu);
  return ['', ...json].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
}

const piecesOf = (text: string, piece: RegExp): string[] => text.match(piece) ?? [];

/** Requests of a conversation all differ, and equal ones get equal bytes. */
function idFor(body: Json): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16);
}
