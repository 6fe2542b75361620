/**
 * One answer of a model in the two forms in which the Responses API sends it: a `response`, or the events of a stream.
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
import type { Answer } from './completion.ts';

type Json = Record<string, unknown>;

const ANSWERED = 'This is what the upstream has to say.';

/** The whole answer as one JSON object. */
export function responseOf(body: Json, answer: Answer = {}): Json {
  const words = answer.content ?? (answer.toolCalls ? undefined : ANSWERED);
  const said = words === undefined ? [] : [messageOf(words)];
  const calls = (answer.toolCalls ?? []).map(({ id, ...called }) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    status: 'completed',
    ...called,
  }));
  return { ...headOf(body), status: 'completed', output: [...said, ...calls], usage: USAGE };
}

/** The frames of the same answer. */
export function* eventsOf(body: Json, answer: Answer = {}): Generator<string> {
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  const whole = responseOf(body, answer);
  const begun = { ...headOf(body), status: 'in_progress', output: [], usage: null };
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  for (const [output_index, item] of (whole.output as Json[]).entries()) {
    const at = { output_index, item_id: item.id };
    const isMessage = item.type === 'message';
    const open = { ...item, status: 'in_progress', ...(isMessage ? { content: [] } : { arguments: '' }) };
    yield event('response.output_item.added', { output_index, item: open });
    if (isMessage) {
      const [part] = item.content as Json[];
      const text = String(part?.text);
      yield event('response.content_part.added', { ...at, content_index: 0, part: { ...part, text: '' } });
      for (const delta of text.match(/\S+\s*/g) ?? [])
        yield event('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] });
      yield event('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] });
      yield event('response.content_part.done', { ...at, content_index: 0, part });
    } else {
      yield event('response.function_call_arguments.delta', { ...at, delta: item.arguments });
      yield event('response.function_call_arguments.done', {
        ...at,
        name: item.name,
        arguments: item.arguments,
      });
    }
    yield event('response.output_item.done', { output_index, item });
  }
  yield event('response.completed', { response: whole });
}

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};

function headOf({ model, instructions = null, tools = [] }: Json): Json {
  return {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1_760_000_000,
    model,
    instructions,
    tools,
    error: null,
    incomplete_details: null,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    metadata: {},
    temperature: 1,
    top_p: 1,
  };
}

function messageOf(text: string): Json {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  return { type: 'message', id: 'msg_upstream', role: 'assistant', status: 'completed', content: [part] };
}
