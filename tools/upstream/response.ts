/**
 * A model's answer in both forms of the Responses API: a `response`, or the events of a stream.
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
import { ANSWERED, type Answer, type ToolCall, type Usage } from './completion.ts';
import { idFor, type Json } from './json.ts';

/** An answer, with what only this protocol has. */
export interface ResponseAnswer extends Answer {
  /**
   * The end of the response's id and its items' ids. Item ids must differ within a conversation.
   */
  readonly id?: string;
  /**
   * Reasoning at the beginning: encrypted if the request asks for that, with an optional summary.
   */
  readonly reasoning?: { readonly encrypted: string; readonly summary?: string };
  /** Items of hosted tools or of unknown types, placed before the calls. */
  readonly hosted?: readonly Json[];
  /** Calls of custom tools; their arguments are free text. */
  readonly customCalls?: readonly ToolCall[];
  readonly usage?: Usage;
  /** Other fields of the response, such as `store`. */
  readonly fields?: Json;
}

/** The whole answer as one JSON object. */
export function responseOf(body: Json, answer: ResponseAnswer = {}): Json {
  const {
    id = idFor(body),
    reasoning,
    hosted = [],
    toolCalls = [],
    customCalls = [],
    usage = USAGE,
  } = answer;
  const calls = hosted.length + toolCalls.length + customCalls.length;
  const words = answer.content ?? (calls > 0 ? undefined : ANSWERED);
  const output = [
    ...(reasoning ? [reasoningOf(id, reasoning, body)] : []),
    ...(words === undefined ? [] : [messageOf(id, words)]),
    ...hosted,
    ...toolCalls.map(({ id: call_id, ...called }) => callOf('function_call', call_id, called)),
    ...customCalls.map(({ id: call_id, name, arguments: input }) =>
      callOf('custom_tool_call', call_id, { name, input }),
    ),
  ];
  return { ...headOf(id, body), ...answer.fields, status: 'completed', output, usage: usageOf(usage) };
}

/** The frames of the same answer. */
export function* eventsOf(body: Json, answer: ResponseAnswer = {}): Generator<string> {
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  const whole = responseOf(body, answer);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  for (const [output_index, item] of (whole.output as Json[]).entries()) {
    const at = { output_index, item_id: item.id };
    yield event('response.output_item.added', { output_index, item: { ...item, ...opening(item) } });
    for (const [type, fields] of within(item)) yield event(`response.${type}`, { ...at, ...fields });
    yield event('response.output_item.done', { output_index, item });
  }
  yield event('response.completed', { response: whole });
}

const CALLS = new Set(['function_call', 'custom_tool_call']);

/** The fields that an item lacks when it begins. */
function opening({ type }: Json): Json {
  if (type === 'reasoning') return { summary: [] };
  if (type === 'message') return { status: 'in_progress', content: [] };
  if (!CALLS.has(String(type))) return {};
  return { status: 'in_progress', ...(type === 'custom_tool_call' ? { input: '' } : { arguments: '' }) };
}

/** The events between an item's beginning and end, without their common fields. */
function* within(item: Json): Generator<[type: string, fields: Json]> {
  if (item.type === 'reasoning') {
    for (const [summary_index, part] of (item.summary as Json[]).entries()) {
      const { text } = part;
      yield ['reasoning_summary_part.added', { summary_index, part: { ...part, text: '' } }];
      yield ['reasoning_summary_text.delta', { summary_index, delta: text }];
      yield ['reasoning_summary_text.done', { summary_index, text }];
      yield ['reasoning_summary_part.done', { summary_index, part }];
    }
  } else if (item.type === 'message') {
    const [part] = item.content as Json[];
    const text = String(part?.text);
    yield ['content_part.added', { content_index: 0, part: { ...part, text: '' } }];
    for (const delta of text.match(/\S+\s*/g) ?? [])
      yield ['output_text.delta', { content_index: 0, delta, logprobs: [] }];
    yield ['output_text.done', { content_index: 0, text, logprobs: [] }];
    yield ['content_part.done', { content_index: 0, part }];
  } else if (item.type === 'custom_tool_call') {
    yield ['custom_tool_call_input.delta', { delta: item.input }];
    yield ['custom_tool_call_input.done', { input: item.input }];
  } else if (item.type === 'function_call') {
    yield ['function_call_arguments.delta', { delta: item.arguments }];
    yield ['function_call_arguments.done', { name: item.name, arguments: item.arguments }];
  }
}

const USAGE: Usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 0 },
};

function usageOf({ prompt_tokens, completion_tokens, total_tokens, ...details }: Usage): Json {
  const { prompt_tokens_details, completion_tokens_details = { reasoning_tokens: 0 } } = details;
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: prompt_tokens_details,
    output_tokens: completion_tokens,
    output_tokens_details: completion_tokens_details,
    total_tokens,
  };
}

function headOf(id: string, { model, instructions = null, tools = [] }: Json): Json {
  return {
    id: `resp_${id}`,
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

function messageOf(id: string, text: string): Json {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content: [part] };
}

function reasoningOf(
  id: string,
  { encrypted, summary }: NonNullable<ResponseAnswer['reasoning']>,
  { include }: Json,
): Json {
  const isAsked = Array.isArray(include) && include.includes('reasoning.encrypted_content');
  return {
    type: 'reasoning',
    id: `rs_${id}`,
    summary: summary === undefined ? [] : [{ type: 'summary_text', text: summary }],
    ...(isAsked ? { encrypted_content: encrypted } : {}),
  };
}

function callOf(type: 'function_call' | 'custom_tool_call', call_id: string, called: object): Json {
  const prefix = type === 'function_call' ? 'fc' : 'ctc';
  return { type, id: `${prefix}_${call_id}`, call_id, status: 'completed', ...called };
}
