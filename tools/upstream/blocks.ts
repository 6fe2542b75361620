/** Converts between messages of chat and of the Messages API. */

type Json = Record<string, unknown>;

/** How a conversation is written, where the API leaves a choice. */
export interface BlockForm {
  /** Whether a user message after results is part of the same message. */
  readonly merges?: boolean;
}

/**
 * A chat body as a body of `POST /v1/messages`. Leading messages of the system are entries of
 * `system`, one for each. The messages come last.
 */
export function messagesBody({ messages, tools, ...body }: Json, form: BlockForm = {}): Json {
  const { max_tokens, max_completion_tokens, stream_options: _, ...rest } = body;
  const said = (messages as Json[]) ?? [];
  const first = said.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const preamble = said.slice(0, first < 0 ? said.length : first);
  return {
    ...rest,
    max_tokens: max_completion_tokens ?? max_tokens ?? 1_000,
    ...(Array.isArray(tools) ? { tools: tools.map(toolOf) } : {}),
    ...(preamble.length > 0 ? { system: preamble.flatMap(({ content }) => blocksOf(content)) } : {}),
    messages: wireMessages(said.slice(preamble.length), form),
  };
}

/** A body of `POST /v1/messages` as a chat body. The messages come last. */
export function chatOf({ system, messages, tools, ...rest }: Json): Json {
  const entries = typeof system === 'string' ? [{ type: 'text', text: system }] : ((system as Json[]) ?? []);
  const preamble = entries.map((entry) => ({ role: 'system', content: contentOf([entry]) }));
  return {
    ...rest,
    ...(Array.isArray(tools) ? { tools: tools.map(chatTool) } : {}),
    messages: [...preamble, ...((messages as Json[]) ?? []).flatMap(chatMessages)],
  };
}

function toolOf(tool: Json): Json {
  const { name, description, parameters } = (tool.function ?? tool) as Json;
  return { name, ...(description === undefined ? {} : { description }), input_schema: parameters };
}

function chatTool({ name, description, input_schema }: Json): Json {
  return { type: 'function', function: { name, description, parameters: input_schema } };
}

function wireMessages(said: readonly Json[], { merges = false }: BlockForm): Json[] {
  const wire: { role: unknown; content: unknown }[] = [];
  let hasResults = false;
  for (const message of said) {
    const { role } = message;
    const last = wire.at(-1);
    if (role === 'tool') {
      if (last && hasResults) (last.content as Json[]).push(resultOf(message));
      else wire.push({ role: 'user', content: [resultOf(message)] });
      hasResults = true;
      continue;
    }
    if (role === 'user' && merges && hasResults && last)
      (last.content as Json[]).push(...blocksOf(message.content));
    else if (role === 'assistant') wire.push({ role, content: answerOf(message) });
    else wire.push({ role: role === 'user' ? role : 'system', content: partsOf(message.content) });
    hasResults = false;
  }
  return wire;
}

function resultOf({ tool_call_id, content }: Json): Json {
  return { type: 'tool_result', tool_use_id: tool_call_id, content: partsOf(content) };
}

function answerOf({
  content,
  tool_calls,
  reasoning_content: thought,
  thinking_blocks: blocks,
}: Json): unknown {
  const calls = Array.isArray(tool_calls) ? (tool_calls as Json[]) : [];
  if (calls.length === 0 && thought === undefined && typeof content === 'string') return content;
  const unsigned =
    typeof thought === 'string' ? [{ type: 'thinking', thinking: thought, signature: 'c2ln' }] : [];
  return [
    ...(Array.isArray(blocks) ? (blocks as Json[]) : unsigned),
    ...blocksOf(content),
    ...calls.map(({ id, function: called }) => {
      const { name, arguments: input } = called as Json;
      return { type: 'tool_use', id, name, input: inputOf(input) };
    }),
  ];
}

/** Arguments that are no JSON object become one. */
function inputOf(input: unknown): unknown {
  try {
    const value: unknown = JSON.parse(String(input));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // A model has written something else.
  }
  return { input };
}

function blocksOf(content: unknown): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.map(blockOf) : [];
}

function partsOf(content: unknown): unknown {
  return Array.isArray(content) ? content.map(blockOf) : content;
}

const DATA_URL = /^data:([^;,]*);base64,(.*)$/s;

function blockOf({ type, image_url, file, ...rest }: Json): Json {
  if (type === 'image_url')
    return { type: 'image', source: sourceOf(String((image_url as Json).url)), ...rest };
  if (type !== 'file') return { type, ...rest };
  const { file_data, file_id, filename: title } = file as Json;
  const source = file_id === undefined ? sourceOf(String(file_data)) : { type: 'file', file_id };
  return { type: 'document', ...(title === undefined ? {} : { title }), source, ...rest };
}

function sourceOf(url: string): Json {
  const [, media_type, data] = DATA_URL.exec(url) ?? [];
  return data === undefined ? { type: 'url', url } : { type: 'base64', media_type, data };
}

function chatMessages({ role, content }: Json): Json[] {
  if (role === 'assistant') return [chatAnswer(content)];
  if (role !== 'user' || !Array.isArray(content)) return [{ role, content: contentOf(content) }];
  const messages: Json[] = [];
  let others: Json[] = [];
  const close = (): void => {
    if (others.length > 0) messages.push({ role, content: contentOf(others) });
    others = [];
  };
  for (const block of content as Json[]) {
    if (block.type !== 'tool_result') {
      others.push(block);
      continue;
    }
    close();
    messages.push({ role: 'tool', tool_call_id: block.tool_use_id, content: contentOf(block.content) });
  }
  close();
  return messages;
}

function chatAnswer(content: unknown): Json {
  if (!Array.isArray(content)) return { role: 'assistant', content };
  const blocks = content as Json[];
  const of = (type: string): Json[] => blocks.filter((block) => block.type === type);
  const [thought] = of('thinking');
  const said = blocks.filter(({ type }) => type !== 'thinking' && type !== 'tool_use');
  const calls = of('tool_use').map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return {
    role: 'assistant',
    content: said.length === 0 ? null : contentOf(said),
    ...(thought ? { reasoning_content: thought.thinking } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function contentOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts = (content as Json[]).map(partOf);
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' && Object.keys(only).length === 2 ? only.text : parts;
}

function partOf({ type, source, ...rest }: Json): Json {
  const { media_type, data, url, file_id } = (source ?? {}) as Json;
  const where = url ?? `data:${media_type};base64,${data}`;
  if (type === 'image') return { type: 'image_url', image_url: { url: where }, ...rest };
  if (type !== 'document') return { type, ...rest };
  const { title: filename, ...others } = rest;
  const named = filename === undefined ? {} : { filename };
  const held = file_id === undefined ? { file_data: where } : { file_id };
  return { type: 'file', file: { ...named, ...held }, ...others };
}
