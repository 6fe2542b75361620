/**
 * Compactions as the Responses API answers them
 * (https://platform.openai.com/docs/api-reference/responses/compact).
 */

import { asObject } from '../../lib/json.ts';
import type { Report, TokenUsage } from '../../memory/plan/report.ts';
import type { ModelRequest } from '../model-request.ts';
import { sealedItem } from '../sealed.ts';
import { eventFrame } from '../sse.ts';

type Json = Record<string, unknown>;

/** One compaction, ready to be told. */
export interface CompactionAnswer {
  readonly sealed: string;
  readonly usage: TokenUsage;
  /** Absent where it is not asked for. */
  readonly report: Report | undefined;
  /** For ids: nobody else's, and no two alike. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

/**
 * The answer of `POST /v1/responses/compact`.
 *
 * @param beside what stands beside the item, each message as JSON
 */
export function compactionBody(beside: readonly string[], answer: CompactionAnswer): object {
  const { id, created, usage, report } = answer;
  return {
    id: `resp_${id}`,
    object: 'response.compaction',
    created_at: created,
    output: [...beside.flatMap(itemsBeside), itemOf(answer)],
    usage: usageOf(usage),
    ...(report ? { memory: report } : {}),
  };
}

/**
 * The answer to a request whose last item is a `compaction_trigger`: a response that puts out the
 * item alone.
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

/** The events of the same answer. */
export function compactionEvents(request: ModelRequest, answer: CompactionAnswer): Uint8Array[] {
  const begun = { ...headOf(request, answer), status: 'in_progress', output: [], usage: null };
  const at = { output_index: 0, item: itemOf(answer) };
  const events: [type: string, fields: object][] = [
    ['response.created', { response: begun }],
    ['response.in_progress', { response: begun }],
    ['response.output_item.added', at],
    ['response.output_item.done', at],
    ['response.completed', { response: compactionResponse(request, answer) }],
  ];
  return events.map(([type, fields], sequence_number) =>
    eventFrame(type, JSON.stringify({ type, sequence_number, ...fields })),
  );
}

/** What a response repeats of its request, or has by itself. */
function headOf(request: ModelRequest, { id, created }: CompactionAnswer): object {
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
 * What stands beside the item: a user message in the form in which the API puts items out (parts,
 * not a text), all else as it came.
 *
 * @param json of a message; items of kinds that nobody knows may stand behind it, separated by
 *   commas, which a user message goes without
 */
function itemsBeside(json: string): object[] {
  const [first, ...others] = (JSON.parse(`[${json}]`) as unknown[]).map(asObject);
  const { content, ...item } = first as Json;
  if (item.role !== 'user') return [first as Json, ...others];
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
  return [{ ...item, type: 'message', role: 'user', content: parts }];
}

function usageOf({ prompt_tokens, completion_tokens, total_tokens }: TokenUsage): object {
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}
