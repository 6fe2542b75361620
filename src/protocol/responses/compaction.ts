/**
 * Compaction responses of the Responses API
 * (https://platform.openai.com/docs/api-reference/responses/compact).
 */

import { asObject, type JsonObject } from '../../lib/json.ts';
import type { Report, TokenUsage } from '../../memory/plan/report.ts';
import { Frame } from '../answers/sse.ts';
import type { ModelRequest } from '../model-request.ts';
import { sealedItem } from '../sealed.ts';

/** What a response has from its beginning. */
export interface ResponseName {
  /** A unique id, to build the response's and the item's from. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

export interface CompactionAnswer extends ResponseName {
  readonly sealed: string;
  readonly usage: TokenUsage;
  /** Absent if the caller did not ask for it. */
  readonly report: Report | undefined;
}

/**
 * The response to `POST /v1/responses/compact`.
 *
 * @param messages that stay beside the item, each as JSON
 */
export function compactionBody(messages: readonly string[], answer: CompactionAnswer): object {
  const { id, created, usage, report } = answer;
  return {
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: created,
    output: [...messages.flatMap(itemsOf), itemOf(answer)],
    usage: usageOf(usage),
    ...(report ? { memory: report } : {}),
  };
}

/**
 * The response to a request whose last item is a `compaction_trigger`: its only output is the
 * compaction item.
 */
export function compactionResponse(request: ModelRequest, answer: CompactionAnswer): object {
  const { usage, report } = answer;
  return {
    ...headOf(request, answer),
    status: 'completed',
    output: [itemOf(answer)],
    usage: usageOf(usage),
    ...(report ? { memory: report } : {}),
  };
}

/** The events of that response, of which those that open it may come before the compaction. */
export class CompactionEvents {
  private readonly request: ModelRequest;
  private readonly named: ResponseName;
  private next = 0;

  constructor(request: ModelRequest, named: ResponseName) {
    this.request = request;
    this.named = named;
  }

  /** The response begins, or goes on without news. */
  keepalive(): Frame {
    const response = { ...headOf(this.request, this.named), status: 'in_progress', output: [], usage: null };
    return this.event(this.next === 0 ? 'response.created' : 'response.in_progress', { response });
  }

  /** All further events. @param answer with the name of these events */
  rest(answer: CompactionAnswer): Frame[] {
    const opening = this.next === 0 ? [this.keepalive(), this.keepalive()] : [];
    const at = { output_index: 0, item: itemOf(answer) };
    return [
      ...opening,
      this.event('response.output_item.added', at),
      this.event('response.output_item.done', at),
      this.event('response.completed', { response: compactionResponse(this.request, answer) }),
    ];
  }

  private event(type: string, fields: object): Frame {
    return Frame.of(JSON.stringify({ type, sequence_number: this.next++, ...fields }), type);
  }
}

/** Fields that a response repeats from its request, with their defaults. */
function headOf(request: ModelRequest, { id, created }: ResponseName): object {
  const given = (field: string, otherwise: unknown): unknown => request.field(field) ?? otherwise;
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    error: null,
    incomplete_details: null,
    instructions: given('instructions', null),
    max_output_tokens: given('max_output_tokens', null),
    metadata: given('metadata', {}),
    model: given('model', null),
    parallel_tool_calls: given('parallel_tool_calls', true),
    previous_response_id: null,
    reasoning: given('reasoning', { effort: null, summary: null }),
    store: false,
    temperature: given('temperature', 1),
    text: given('text', { format: { type: 'text' } }),
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
  };
}

function itemOf({ id, sealed }: CompactionAnswer): object {
  return sealedItem(`cmp_${id}`, sealed);
}

/**
 * Items beside the compaction. A user message is written as the API writes output (parts, not a
 * string); others stay unchanged.
 *
 * @param json of a message, possibly followed by items of unknown kinds, separated by commas. After
 *   a user message these are dropped
 */
function itemsOf(json: string): object[] {
  const [first, ...others] = (JSON.parse(`[${json}]`) as unknown[]).map(asObject);
  const { content, ...item } = first as JsonObject;
  if (item.role !== 'user') return [first as JsonObject, ...others];
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
  return [{ ...item, type: 'message', role: 'user', content: parts }];
}

function usageOf({ prompt_tokens, completion_tokens, total_tokens, ...details }: TokenUsage): object {
  const { cached_tokens = 0, cache_write_tokens = 0 } = details;
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}
