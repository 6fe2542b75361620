/**
 * How much the model thinks, what is left of the sampling beside it, and thinking that a caller
 * sends back by itself (https://platform.claude.com/docs/en/build-with-claude/thinking).
 */
import { asObject, asObjects, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import type { ClaudeTerms } from '../../../memory/models/claude-terms.ts';
import { isThinking, PROVIDER_FIELDS, THINKING_BLOCKS } from '../../chat/reasoning.ts';
import type { ChatBody } from '../bridge.ts';
import { isEmpty, saying, says, type Writing } from '../chat-fields.ts';

/** The shares of the answer's tokens that an effort may take, where a model takes a budget. */
const SHARES = new Map(Object.entries({ minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8 }));
const LEAST_BUDGET = 1_024;
/** Above it, the vendor advises against answering within one connection. */
const MOST_BUDGET = 32_000;

/** What the fields for thinking depend on, beside the body. */
interface Asked {
  readonly terms: ClaudeTerms;
  readonly maxTokens: number;
  /** Whether the model has to call a tool: then it can't be asked to think. */
  readonly isForced: boolean;
  /** See `isUnthought`. */
  isUnthought(): boolean;
}

interface ThinkingFields {
  readonly thinking?: JsonObject | undefined;
  readonly effort?: string | undefined;
}

/** `thinking` and `output_config.effort`. A caller's own `thinking` is passed on. */
export function thinkingFrom(
  { thinking, reasoning, reasoning_effort }: ChatBody,
  asked: Asked,
  { options: { showsReasoning }, notices }: Writing,
): ThinkingFields {
  const { terms, isForced } = asked;
  const { effort: ofGateway, ...others } = asObject(reasoning);
  if (!isEmpty(saying(others))) notices.add('reasoning_fields_dropped');
  const wished = asString(reasoning_effort ?? ofGateway) || undefined;
  const own = isObject(thinking) ? thinking : undefined;
  if (wished === 'none' && !own) return leastThinking(terms, notices);
  if (terms.thinking === 'adaptive') {
    const effort = effortOf(wished, terms, notices);
    const asks = wished !== undefined || (terms.thinksUnasked && showsReasoning);
    if (own || !asks) return { thinking: own, effort };
    if (isForced && !terms.thinksUnasked) notices.add('thinking_left_out');
    const display = showsReasoning ? { display: 'summarized' } : {};
    return { thinking: isForced ? undefined : { type: 'adaptive', ...display }, effort };
  }
  if (own || wished === undefined) return { thinking: own };
  const budget_tokens = budgetOf(wished, asked);
  if (budget_tokens !== undefined) return { thinking: { type: 'enabled', budget_tokens } };
  notices.add('thinking_left_out');
  return {};
}

function leastThinking({ thinksUnasked, off }: ClaudeTerms, notices: Set<string>): ThinkingFields {
  if (!thinksUnasked) return {};
  if (off !== undefined) return { thinking: { type: off } };
  notices.add('thinking_not_disabled');
  return { effort: 'low' };
}

const USUAL_EFFORTS = ['low', 'medium', 'high'];

function effortOf(
  wished: string | undefined,
  { efforts }: ClaudeTerms,
  notices: Set<string>,
): string | undefined {
  if (wished === undefined || wished === 'none') return undefined;
  if (USUAL_EFFORTS.includes(wished) || efforts.includes(wished)) return wished;
  notices.add('reasoning_effort_changed');
  return wished === 'minimal' ? 'low' : 'high';
}

/** Undefined where the model can't think in this request. */
function budgetOf(wished: string, { terms, maxTokens, isForced, isUnthought }: Asked): number | undefined {
  if (terms.thinking === 'never' || isForced || maxTokens <= LEAST_BUDGET || isUnthought()) return undefined;
  const share = SHARES.get(wished) ?? 0.8;
  return Math.min(Math.max(Math.floor(maxTokens * share), LEAST_BUDGET), MOST_BUDGET);
}

/** `temperature` or `top_p`, of which newer models take one, and `top_k`. None beside thinking. */
export function samplingFrom(
  { temperature, top_p, top_k }: ChatBody,
  { takesSampling }: ClaudeTerms,
  thinking: JsonObject | undefined,
  notices: Set<string>,
): JsonObject {
  const isFixed = !takesSampling || (thinking !== undefined && thinking.type !== 'disabled');
  const fields: JsonObject = {};
  for (const [name, value] of Object.entries({ temperature, top_p, top_k })) {
    const isShare = name !== 'top_k';
    if (!says(value) || (isShare && value === 1)) continue;
    const isDropped = isFixed || (isShare && 'temperature' in fields);
    const isHigh = isShare && typeof value === 'number' && value > 1;
    if (!isDropped) fields[name] = isHigh ? 1 : value;
    if (isDropped || isHigh) notices.add(`${name}_${isDropped ? 'dropped' : 'lowered'}`);
  }
  return fields;
}

/** How clients echo it (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
export const DETAIL_FORMAT = 'anthropic-claude-v1';

/**
 * The thinking that a message of the caller has: in OpenRouter's list, in LiteLLM's, or among the
 * parts of its content. The API refuses what is not signed.
 */
export function echoedThinking(message: JsonObject): JsonObject[] {
  const { reasoning_details, content, [THINKING_BLOCKS]: listed, [PROVIDER_FIELDS]: fields } = message;
  const lists = [
    asObjects(reasoning_details).flatMap(blockOfDetail),
    asObjects(listed ?? asObject(fields)[THINKING_BLOCKS]),
    asObjects(content),
  ];
  const signed = lists.map((list) =>
    list.filter((block) => isThinking(block) && asString(block.signature ?? block.data) !== ''),
  );
  return signed.find((list) => list.length > 0) ?? [];
}

/** The block that a detail of `reasoning_details` was made of. */
function blockOfDetail({ type, format, text, signature, data }: JsonObject): JsonObject[] {
  if (format !== DETAIL_FORMAT) return [];
  if (type === 'reasoning.text') return [{ type: 'thinking', thinking: asString(text), signature }];
  return type === 'reasoning.encrypted' ? [{ type: 'redacted_thinking', data }] : [];
}

/** A block of thinking as a detail; undefined for any other block. */
export function detailOf({ type, thinking, signature, data }: JsonObject): JsonObject | undefined {
  const format = DETAIL_FORMAT;
  if (type === 'thinking') return { type: 'reasoning.text', text: thinking, signature, format };
  return type === 'redacted_thinking' ? { type: 'reasoning.encrypted', data, format } : undefined;
}
