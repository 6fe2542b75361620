/** Converts between chat messages and items of the Responses API. */

type Json = Record<string, unknown>;

interface Call {
  readonly id: string;
  readonly type?: string;
  readonly function?: Json;
  readonly custom?: Json;
}

const encoder = new TextEncoder();

/**
 * A chat body as a body of `POST /v1/responses`. Tools stay as they are, so that they have the same
 * weight.
 */
export function asResponses(body: Uint8Array): Uint8Array {
  return encoder.encode(JSON.stringify(responsesBody(JSON.parse(new TextDecoder().decode(body)))));
}

/** The same for a parsed body. The items come last. */
export function responsesBody({ messages, max_tokens, max_completion_tokens, ...body }: Json): Json {
  const { stream_options: _, ...rest } = body;
  const limit = max_completion_tokens ?? max_tokens;
  const fields = { ...rest, ...(limit === undefined ? {} : { max_output_tokens: limit }) };
  if (!Array.isArray(messages)) return messages === undefined ? fields : { ...fields, input: messages };
  const [first, ...others] = messages as Json[];
  const isInstruction = first?.role === 'system' && typeof first.content === 'string';
  const input = itemsOf(isInstruction ? others : messages);
  return { ...fields, ...(isInstruction ? { instructions: first.content } : {}), input };
}

/** Chat's tools in the form of the Responses API. */
export function responsesTools(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map(({ type, ...tool }: Json) => ({ type, ...(tool[String(type)] as Json) }));
}

/**
 * A body of `POST /v1/responses` as a chat body. The messages come last; tools stay as they are on
 * the wire.
 */
export function chatBody({ instructions, input, max_output_tokens, ...rest }: Json): Json {
  const limit = max_output_tokens === undefined ? {} : { max_completion_tokens: max_output_tokens };
  const said = Array.isArray(input) ? messagesOf(input) : [{ role: 'user', content: input }];
  const first = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  return { ...rest, ...limit, messages: [...first, ...said] };
}

/** Messages as items. */
export function itemsOf(messages: readonly Json[]): Json[] {
  const custom = new Set<string>();
  return messages.flatMap((message) => itemsOfOne(message, custom));
}

/** @param custom ids of custom tool calls so far; their results have another item type */
function itemsOfOne(message: Json, custom: Set<string>): Json[] {
  const { role, content, tool_calls, tool_call_id, reasoning_content: thought, ...more } = message;
  if (role === 'tool') {
    const type = custom.has(String(tool_call_id)) ? 'custom_tool_call_output' : 'function_call_output';
    return [{ ...more, type, call_id: tool_call_id, output: partsOf(content, 'input_text') }];
  }
  if (role !== 'assistant') return [{ ...more, role, content: partsOf(content, 'input_text') }];
  const calls = Array.isArray(tool_calls) ? (tool_calls as Call[]) : [];
  const said = content === null || content === undefined || content === '' ? [] : [content];
  for (const { id, type } of calls) if (type === 'custom') custom.add(id);
  return [
    ...(typeof thought === 'string' ? [thoughtOf(thought)] : []),
    ...said.map((words) => ({ ...more, type: 'message', role, content: partsOf(words, 'output_text') })),
    ...calls.map(({ id, function: called, custom: input }) =>
      input
        ? { type: 'custom_tool_call', call_id: id, ...input }
        : { type: 'function_call', call_id: id, ...called },
    ),
  ];
}

/** Reasoning that is not encrypted, as open models have it. */
function thoughtOf(text: string): Json {
  return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] };
}

function partsOf(content: unknown, type: string): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: Json) => (part.type === 'text' ? { ...part, type } : partOf(part)));
}

/** A part of a user message. */
export function partOf(part: unknown): unknown {
  const { type, file, image_url, ...rest } = part as Json;
  if (type === 'text') return { type: 'input_text', ...rest };
  if (type === 'file') return { type: 'input_file', ...(file as Json) };
  if (type !== 'image_url') return part;
  const { url, detail } = image_url as Json;
  return { type: 'input_image', image_url: url, ...(detail === undefined ? {} : { detail }) };
}

/** Items as messages. */
export function messagesOf(items: readonly Json[]): Json[] {
  const messages: Json[] = [];
  /** The current assistant message: its text, and the calls after it. */
  let said: (Json & { tool_calls?: Json[] }) | undefined;
  /** The reasoning before the next message or call. */
  let thought: Json = {};
  for (const { type = 'message', call_id, output, role, content, ...more } of items) {
    const text = type === 'reasoning' ? thoughtIn(content) : undefined;
    if (text !== undefined) {
      thought = { reasoning_content: text };
      said = undefined;
      continue;
    }
    if (type === 'function_call' || type === 'custom_tool_call') {
      const kind = type === 'function_call' ? 'function' : 'custom';
      if (!said) {
        said = { role: 'assistant', content: null, ...thought };
        thought = {};
        messages.push(said);
      }
      said.tool_calls ??= [];
      said.tool_calls.push({ id: call_id, type: kind, [kind]: more });
      continue;
    }
    if (String(type).endsWith('_output')) {
      messages.push({ ...more, role: 'tool', tool_call_id: call_id, content: chatParts(output) });
      said = undefined;
      continue;
    }
    const message = { ...more, role, content: chatParts(content), ...thought };
    thought = {};
    messages.push(message);
    said = role === 'assistant' ? message : undefined;
  }
  return messages;
}

/** The text of `thoughtOf`. */
function thoughtIn(content: unknown): string | undefined {
  const [part] = Array.isArray(content) ? (content as Json[]) : [];
  return typeof part?.text === 'string' ? part.text : undefined;
}

function chatParts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map(({ type, ...part }: Json) => {
    if (type === 'input_text' || type === 'output_text') return { ...part, type: 'text' };
    if (type === 'input_file') return { type: 'file', file: part };
    const { image_url: url, ...rest } = part;
    return type === 'input_image' ? { type: 'image_url', image_url: { url, ...rest } } : { ...part, type };
  });
}
