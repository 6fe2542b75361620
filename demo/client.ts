/**
 * One request of the demo's agent through Precis, streamed or not, with the ordinary OpenAI client.
 */

import type OpenAI from 'openai';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Call, Message } from '../fixtures/recording.ts';

export interface Agent {
  client: OpenAI;
  model: string;
  tools: readonly object[];
  /** Sent as `memory_strategy` in the body. */
  strategy: object;
  maxCompletionTokens?: number;
  /** Names the conversation, so that its requests can be inspected. */
  conversation?: string;
}

export interface ReportedRef {
  ref: string;
  tool_name: string;
  tool_call_id: string;
  tokens: number;
  bytes: number;
}

export interface Reply {
  message: Message & { role: 'assistant' };
  stream: boolean;
  /** The `x-memory-*` headers. */
  tokensBefore: number;
  tokensAfter: number;
  applied: string;
  frontier: string;
  refs: number;
  /** The ref of the summary's transcript, if there is one in the view. */
  summaryRef: string | undefined;
  /** The refs that the model has fetched for this answer. */
  fetched: readonly string[];
  warning: string | null;
  /** `memory.refs` of the report: all refs in this request's view. */
  reportedRefs: ReportedRef[];
}

/** What Precis adds to a completion, or to a stream's last chunk. */
interface WithMemory {
  memory?: { refs: ReportedRef[]; summary?: { ref?: string }; retrieval?: { refs: string[] } };
}

export async function ask(agent: Agent, messages: Message[], stream: boolean): Promise<Reply> {
  const params = {
    model: agent.model,
    tools: agent.tools as OpenAI.ChatCompletionTool[],
    messages,
    ...(agent.maxCompletionTokens && { max_completion_tokens: agent.maxCompletionTokens }),
    memory_strategy: agent.strategy,
    memory_report: true,
    ...(agent.conversation !== undefined && { conversation_id: agent.conversation }),
  };
  const { completions } = agent.client.chat;
  if (!stream) {
    const { data, response } = await completions.create({ ...params, stream: false }).withResponse();
    const message = data.choices[0]?.message;
    const calls = message?.tool_calls?.filter((call) => call.type === 'function') ?? [];
    return replyOf(assistant(message?.content ?? '', calls), stream, response.headers, data as WithMemory);
  }
  const { data, response } = await completions
    .create({ ...params, stream: true, stream_options: { include_usage: true } })
    .withResponse();
  let content = '';
  const calls: Call[] = [];
  let last: WithMemory = {};
  for await (const chunk of data) {
    content += chunk.choices[0]?.delta.content ?? '';
    for (const delta of chunk.choices[0]?.delta.tool_calls ?? []) addDelta(calls, delta);
    if (chunk.choices.length === 0) last = { ...last, ...(chunk as WithMemory) };
  }
  return replyOf(assistant(content, calls), stream, response.headers, last);
}

function assistant(content: string, calls: Call[]): Reply['message'] {
  if (calls.length === 0) return { role: 'assistant', content };
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls };
}

function addDelta(calls: Call[], delta: ChatCompletionChunk.Choice.Delta.ToolCall): void {
  const call = calls[delta.index] ?? { id: '', type: 'function', function: { name: '', arguments: '' } };
  calls[delta.index] = call;
  call.id += delta.id ?? '';
  call.function.name += delta.function?.name ?? '';
  call.function.arguments += delta.function?.arguments ?? '';
}

function replyOf(message: Reply['message'], stream: boolean, headers: Headers, body: WithMemory): Reply {
  return {
    message,
    stream,
    tokensBefore: Number(headers.get('x-memory-tokens-before')),
    tokensAfter: Number(headers.get('x-memory-tokens-after')),
    applied: headers.get('x-memory-applied') ?? '?',
    frontier: headers.get('x-memory-frontier') ?? '?',
    refs: Number(headers.get('x-memory-refs')),
    warning: headers.get('x-memory-warning'),
    reportedRefs: body.memory?.refs ?? [],
    summaryRef: body.memory?.summary?.ref,
    fetched: body.memory?.retrieval?.refs ?? [],
  };
}
