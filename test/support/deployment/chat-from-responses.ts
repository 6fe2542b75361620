/** Converts answers of the Responses API to chat answers, for tests that only know chat. */

type Json = Record<string, unknown>;

interface Item extends Json {
  readonly type: string;
}

/**
 * Returns a chat answer unchanged, and an answer of the Responses API as a `chat.completion` or a
 * stream of chunks.
 */
export async function chatFromResponses(response: Response): Promise<Response> {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  if (!response.ok || !response.body) return response;
  if (headers.get('content-type')?.toLowerCase().startsWith('text/event-stream'))
    return new Response(chunksOf(response.body), { status, statusText, headers });
  const text = await response.text();
  return new Response(completionText(text), { status, statusText, headers });
}

function completionText(text: string): string {
  const { memory, ...response } = parsed(text) ?? {};
  if (response.object !== 'response') return text;
  return JSON.stringify({ ...completionOf(response), ...(memory === undefined ? {} : { memory }) });
}

function completionOf(response: Json): Json {
  const output = response.output as Item[];
  const words = output.filter(({ type }) => type === 'message').map(textOf);
  const calls = output.filter(({ type }) => type === 'function_call').map(callOf);
  const message = {
    role: 'assistant',
    content: words.length > 0 ? words.join('') : null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(response) };
  return { ...headOf(response), object: 'chat.completion', choices: [choice], usage: usageOf(response) };
}

/** Converts frame by frame as they arrive; frames without events stay. */
function chunksOf(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let rest = '';
  /** The call items in order, since their chunks have their own indices. */
  const calls: unknown[] = [];
  const frames = new TransformStream<string, string>({
    transform(text, controller) {
      const split = (rest + text).split('\n\n');
      rest = split.pop() ?? '';
      for (const frame of split) controller.enqueue(chunkOf(`${frame}\n\n`, calls));
    },
    flush(controller) {
      controller.enqueue(rest);
    },
  });
  return body
    .pipeThrough(new TextDecoderStream() as never)
    .pipeThrough(frames)
    .pipeThrough(new TextEncoderStream() as never);
}

/** The chunks for one frame. */
function chunkOf(frame: string, calls: unknown[]): string {
  const event = parsed(/^data: (.*)$/m.exec(frame)?.[1] ?? '');
  if (!event) return frame;
  const delta = (fields: Json, finish_reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: fields, logprobs: null, finish_reason }] });
  switch (event.type) {
    case 'response.created':
      return delta({ role: 'assistant', content: '' });
    case 'response.output_text.delta':
      return delta({ content: event.delta });
    case 'response.output_item.added': {
      const item = event.item as Item;
      if (item.type !== 'function_call') return '';
      calls.push(event.output_index);
      return delta({ tool_calls: [{ index: calls.length - 1, ...callOf(item) }] });
    }
    case 'response.function_call_arguments.delta':
      return delta({
        tool_calls: [{ index: calls.indexOf(event.output_index), function: { arguments: event.delta } }],
      });
    case 'response.completed':
    case 'response.incomplete': {
      const { memory, ...response } = event.response as Json;
      const last = { choices: [], usage: usageOf(response), ...(memory === undefined ? {} : { memory }) };
      return `${delta({}, finishOf(response))}${chunk({ ...headOf(response), ...last })}data: [DONE]\n\n`;
    }
    case 'error': {
      const { type: _, sequence_number: __, error, ...fields } = event;
      return `data: ${JSON.stringify({ error: error ?? fields })}\n\n`;
    }
    default:
      return '';
  }
}

const chunk = (fields: Json): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', ...fields })}\n\n`;

function headOf({ id, created_at: created, model }: Json): Json {
  return { id, created, model };
}

function finishOf({ status, output }: Json): string {
  if (status === 'incomplete') return 'length';
  return (output as Item[]).some(({ type }) => type === 'function_call') ? 'tool_calls' : 'stop';
}

function usageOf({ usage }: Json): Json | null {
  if (!usage) return null;
  const { input_tokens, output_tokens, total_tokens } = usage as Json;
  return { prompt_tokens: input_tokens, completion_tokens: output_tokens, total_tokens };
}

function textOf({ content }: Item): string {
  return (content as Json[]).map(({ text }) => text).join('');
}

function callOf({ call_id, name, arguments: input }: Item): Json {
  return { id: call_id, type: 'function', function: { name, arguments: input } };
}

function parsed(json: string): Json | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
