/**
 * A model's answer in both forms of OpenAI's chat API: a `chat.completion`, or the chunks of a
 * stream. https://platform.openai.com/docs/api-reference/chat-streaming
 */

export interface ToolCall {
  id: string;
  name: string;
  /** A JSON string, as the model writes it. */
  arguments: string;
}

export interface Answer {
  content?: string;
  toolCalls?: ToolCall[];
  /** Fields of the message with its thinking, and the deltas that bring them in a stream. */
  thought?: { readonly fields: object; readonly deltas: readonly object[] } | undefined;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens?: number };
  completion_tokens_details?: { reasoning_tokens: number };
}

export interface Frame {
  id: string;
  model: string;
  usage: Usage;
}

/** What a model says if nobody has said what. */
export const ANSWERED = 'This is what the upstream has to say.';

/** A fixed time, so that equal requests get equal bytes. */
const CREATED = 1_760_000_000;

export const DONE = 'data: [DONE]\n\n';

export function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** @param thoughtTokens of reasoning, beside what is said */
export function usageOf(promptTokens: number, saidTokens: number, thoughtTokens = 0): Usage {
  const answered = saidTokens + thoughtTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answered,
    total_tokens: promptTokens + answered,
    prompt_tokens_details: { cached_tokens: 0 },
    ...(thoughtTokens > 0 ? { completion_tokens_details: { reasoning_tokens: thoughtTokens } } : {}),
  };
}

/** The whole answer as one JSON object. */
export function completion(answer: Answer, frame: Frame): object {
  const calls = answer.toolCalls?.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: 'assistant',
    content: answer.content ?? null,
    ...answer.thought?.fields,
    ...(calls && { tool_calls: calls }),
    refusal: null,
    annotations: [],
  };
  return {
    id: frame.id,
    object: 'chat.completion',
    created: CREATED,
    model: frame.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: frame.usage,
    service_tier: 'default',
  };
}

/**
 * The answer as the events of a stream, without `[DONE]`: the role, the content word by word, each
 * call's id and name followed by its arguments in pieces, the finish reason, and the usage on a
 * chunk without choices if the request asks for it.
 */
export function* chunks(answer: Answer, frame: Frame, includeUsage: boolean): Generator<string> {
  const chunk = (choices: object[], usage: Usage | null = null) =>
    event({
      id: frame.id,
      object: 'chat.completion.chunk',
      created: CREATED,
      model: frame.model,
      choices,
      ...(includeUsage && { usage }),
    });
  const delta = (fields: object, reason: string | null = null) =>
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: reason }]);

  yield delta({ role: 'assistant', content: answer.content === undefined ? null : '', refusal: null });
  for (const thought of answer.thought?.deltas ?? []) yield delta(thought);
  for (const content of words(answer.content ?? '')) yield delta({ content });
  for (const [index, call] of (answer.toolCalls ?? []).entries()) {
    const named = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
    yield delta({ tool_calls: [named] });
    for (const piece of pieces(call.arguments)) {
      yield delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield delta({}, finishReason(answer));
  if (includeUsage) yield chunk([], frame.usage);
}

function finishReason(answer: Answer): string {
  return answer.toolCalls?.length ? 'tool_calls' : 'stop';
}

function words(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
}

/** By code points, so that no chunk has half a surrogate pair. */
function pieces(text: string): string[] {
  return text.match(/.{1,12}/gsu) ?? [];
}
