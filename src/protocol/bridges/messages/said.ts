/** What a whole answer and a stream of Messages have in common, in chat's terms. */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { runUsageOf } from '../../messages/usage.ts';
import type { BridgeOptions, KeptOutput } from '../bridge.ts';
import type { ChunkHead } from '../chunks.ts';
import type { ShortNames } from '../short-names.ts';

/** What an answer is read with. */
export interface Reading {
  readonly names: ShortNames;
  readonly asksUsage: boolean;
  readonly options: Pick<BridgeOptions, 'showsReasoning' | 'now'>;
}

/** What all chunks of an answer say. The API gives no time. */
export function headOf({ id, model, usage }: JsonObject, { options }: Reading): ChunkHead {
  const tier = TIERS.get(asObject(usage).service_tier);
  return {
    id: `chatcmpl-${asString(id).replace(/^msg_/, '')}`,
    created: options.now ?? 0,
    model,
    ...(tier === undefined ? {} : { service_tier: tier }),
  };
}

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
]);

/** What separates a text from one before it. Citations divide a text into neighboring blocks. */
export function seam(blockBefore: unknown, hasText: boolean): string {
  return hasText && blockBefore !== 'text' ? '\n\n' : '';
}

/** A call as chat has it. @param input its arguments as JSON */
export function callOf({ id, name }: JsonObject, input: string, { names }: Reading): JsonObject {
  return { id, type: 'function', function: { name: names.long(asString(name)), arguments: input } };
}

/** The reasons after which an answer can be sent back as it is. */
const COMPLETE: ReadonlySet<unknown> = new Set(['end_turn', 'stop_sequence', 'tool_use']);

export function isComplete(reason: unknown): boolean {
  return COMPLETE.has(reason);
}

export function keptOf(json: string): KeptOutput {
  return { api: 'messages', json };
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** Whether an answer may end within a call. */
export function isCut(reason: unknown): boolean {
  return reason === 'max_tokens' || reason === 'model_context_window_exceeded';
}

export function finishOf(reason: unknown): string {
  return REASONS.get(reason) ?? 'stop';
}

const REFUSED = 'The API refused to answer this request.';

/** The words of a refusal; null without one. */
export function refusalIn(reason: unknown, details: unknown): string | null {
  return reason === 'refusal' ? asString(asObject(details).explanation) || REFUSED : null;
}

/** The usage in chat's terms, where the prompt has all that was read. Absent stays absent. */
export function usageOf(usage: unknown): JsonObject | undefined {
  const counted = isObject(usage) ? runUsageOf(usage) : undefined;
  if (!counted) return undefined;
  const { input, cached, cache_writes, output } = counted;
  const { thinking_tokens: thought } = asObject(asObject(usage).output_tokens_details);
  const details = {
    ...(cached === null ? {} : { cached_tokens: cached }),
    ...(cache_writes === null ? {} : { cache_write_tokens: cache_writes }),
  };
  return {
    ...(input === null ? {} : { prompt_tokens: input }),
    ...(output === null ? {} : { completion_tokens: output }),
    ...(input === null || output === null ? {} : { total_tokens: input + output }),
    ...(Object.keys(details).length > 0 ? { prompt_tokens_details: details } : {}),
    ...(typeof thought !== 'number' ? {} : { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
