/** Chat messages as items of the Responses API that say the same. */

type Json = Record<string, unknown>;

const encoder = new TextEncoder();

/** A chat body as a body of `POST /v1/responses`; its tools stay as they are, so that they weigh the same. */
export function asResponses(body: Uint8Array): Uint8Array {
  const { messages, ...rest } = JSON.parse(new TextDecoder().decode(body)) as { messages: Json[] };
  const [first, ...others] = messages;
  const isInstruction = first?.role === 'system' && typeof first.content === 'string';
  const input = (isInstruction ? others : messages).flatMap(itemsOf);
  return encoder.encode(
    JSON.stringify({ ...rest, ...(isInstruction ? { instructions: first.content } : {}), input }),
  );
}

function itemsOf({ role, content, tool_calls, tool_call_id }: Json): Json[] {
  if (role === 'tool')
    return [{ type: 'function_call_output', call_id: tool_call_id, output: partsOf(content, 'input_text') }];
  if (role !== 'assistant') return [{ role, content: partsOf(content, 'input_text') }];
  const calls = (tool_calls ?? []) as { id: string; function: { name: string; arguments: string } }[];
  const said = content === null || content === undefined || content === '' ? [] : [content];
  return [
    ...said.map((words) => ({ type: 'message', role, content: partsOf(words, 'output_text') })),
    ...calls.map(({ id, function: called }) => ({ type: 'function_call', call_id: id, ...called })),
  ];
}

function partsOf(content: unknown, type: string): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: Json) => {
    if (part.type === 'text') return { ...part, type };
    if (part.type === 'file') return { type: 'input_file', ...(part.file as Json) };
    const { url, detail } = (part.image_url ?? {}) as Json;
    return part.type === 'image_url'
      ? { type: 'input_image', image_url: url, ...(detail === undefined ? {} : { detail }) }
      : part;
  });
}
