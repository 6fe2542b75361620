/** Streams of the Messages API, as its clients read them. */

type Json = Record<string, unknown>;

/** The events of a stream. @throws for an event whose name is not its type */
export function eventsIn(text: string): Json[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: ([^\n]*)$/.exec(frame) ?? [];
      const event: Json = JSON.parse(data);
      if (event.type !== name) throw new Error(`${frame} has no name, or another one`);
      return event;
    });
}

/** The message of a stream, as the API's client builds it: blocks are pushed and found by index. */
export function messageFrom(events: readonly Json[]): Json {
  let message: Json = {};
  const inputs = new Map<unknown, string>();
  for (const { type, index, ...event } of events) {
    const { context_management, input_transformations } = event;
    const content = message.content as Json[];
    const block = content?.[index as number] as Json;
    const delta = event.delta as Json;
    if (type === 'message_start') message = structuredClone(event.message as Json);
    if (type === 'content_block_start') {
      if (content.length !== index) throw new Error(`block ${index} comes after ${content.length} others`);
      content.push({ ...(event.content_block as Json) });
    }
    if (type === 'content_block_delta' && !block) throw new Error(`there is no block ${index}`);
    if (type === 'content_block_delta') {
      if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`;
      if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`;
      if (delta.type === 'signature_delta') block.signature = delta.signature;
      if (delta.type === 'input_json_delta')
        inputs.set(index, `${inputs.get(index) ?? ''}${delta.partial_json}`);
    }
    if (type === 'content_block_stop' && inputs.has(index)) block.input = JSON.parse(inputs.get(index) ?? '');
    if (type !== 'message_delta') continue;
    const usage: Json = { ...(message.usage as Json) };
    for (const [key, count] of Object.entries(event.usage as Json)) usage[key] = count ?? usage[key];
    const changed = Object.entries({ context_management, input_transformations, ...delta });
    const stated = changed.filter(([, value]) => (value ?? null) !== null);
    message = { ...message, stop_sequence: null, ...Object.fromEntries(stated), usage };
  }
  return message;
}
