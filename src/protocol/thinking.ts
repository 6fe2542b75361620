/**
 * A body without the thinking of earlier answers, for upstreams that bind it to everything before
 * it and refuse it where that has changed
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). They accept a history
 * without any.
 */
import { bufferOf } from '../lib/bytes.ts';
import { isReasoning, isThinkingPart, PROVIDER_FIELDS, THINKING_BLOCKS } from './chat/reasoning.ts';
import { type JsonSpan, levels } from './json/outline.ts';
import {
  cutMembers,
  fieldOf,
  jsonOf,
  type Splice,
  spliceAll,
  stringIn,
  topField,
  within,
} from './json/spans.ts';
import type { ModelRequest } from './model-request.ts';
import { FREE, needsReasoning } from './responses/reasoning.ts';

/** One of these is in every body with thinking. */
const SIGNS = ['reasoning', 'thinking'];

/**
 * @param field that holds the conversation
 * @param keepsNeeded whether reasoning stays where an item after it is known by its id
 * @returns undefined if there is no thinking
 */
export function withoutThinking(
  bytes: Uint8Array,
  field: ModelRequest['conversationField'],
  keepsNeeded = false,
): Uint8Array | undefined {
  const body = bufferOf(bytes);
  if (!SIGNS.some((sign) => body.includes(sign))) return undefined;
  const items = topField(bytes, field, { items: {} })?.items;
  if (!items) return undefined;
  const splices = field === 'messages' ? ofMessages(bytes, items) : ofItems(bytes, items, keepsNeeded);
  return splices.length === 0 ? undefined : spliceAll(bytes, splices);
}

/**
 * The messages or items of rounds without their thinking.
 *
 * @param json see `ShownRounds`
 * @param keepsNeeded see `withoutThinking`
 */
export function roundsWithoutThinking(
  json: string,
  field: ModelRequest['conversationField'],
  keepsNeeded?: boolean,
): string {
  const head = `{"${field}":[`;
  const cut = withoutThinking(new TextEncoder().encode(`${head}${json}]}`), field, keepsNeeded);
  return cut ? new TextDecoder().decode(cut).slice(head.length, -']}'.length) : json;
}

/** A message or item with its own fields. */
const opened = (bytes: Uint8Array, item: JsonSpan): JsonSpan => within(bytes, item, levels(1));

function ofMessages(bytes: Uint8Array, items: readonly JsonSpan[]): Splice[] {
  const empty = new Set<number>();
  const splices = items.flatMap((item, index) => {
    const message = opened(bytes, item);
    if (stringIn(bytes, message, 'role') !== 'assistant') return [];
    const cuts = thinkingIn(bytes, message);
    if (cuts.length > 0 && isEmpty(bytes, message)) {
      empty.add(index);
      return [];
    }
    return cuts;
  });
  return [...splices, ...cutMembers(items, (index) => empty.has(index))];
}

/**
 * Cuts the thinking in an assistant message.
 *
 * @param message with its own fields
 * @param losesToo fields that are cut with it
 * @param hasContent whether its content is cut, too
 */
export function thinkingIn(
  bytes: Uint8Array,
  message: JsonSpan,
  losesToo: (index: number) => boolean = () => false,
  hasContent = true,
): Splice[] {
  const fields = message.fields ?? [];
  return [
    ...cutMembers(fields, (index) => isReasoning(fields[index]?.key ?? '') || losesToo(index)),
    ...(hasContent ? thinkingInContent(bytes, message) : []),
    ...repeatedThinking(bytes, message),
  ];
}

/** Cuts the thinking among the parts of a content. */
function thinkingInContent(bytes: Uint8Array, message: JsonSpan): Splice[] {
  const list = fieldOf(message, 'content');
  if (list?.kind !== 'array') return [];
  const elements = within(bytes, list, levels(2)).items ?? [];
  const cut = new Set(
    elements.flatMap((part, index) => (isThinkingPart(stringIn(bytes, part, 'type')) ? [index] : [])),
  );
  // Upstreams refuse an empty list.
  if (cut.size > 0 && cut.size === elements.length)
    return [{ start: list.start, end: list.end, with: 'null' }];
  return cutMembers(elements, (index) => cut.has(index));
}

/** Cuts LiteLLM's second list. */
function repeatedThinking(bytes: Uint8Array, message: JsonSpan): Splice[] {
  const value = fieldOf(message, PROVIDER_FIELDS);
  if (value?.kind !== 'object') return [];
  const fields = opened(bytes, value).fields ?? [];
  return cutMembers(fields, (index) => fields[index]?.key === THINKING_BLOCKS);
}

/** Whether an assistant message says nothing beside its thinking: upstreams refuse that. */
function isEmpty(bytes: Uint8Array, message: JsonSpan): boolean {
  const isFilled = (key: string): boolean => {
    const value = fieldOf(message, key);
    if (value?.kind === 'string') return jsonOf(bytes, value) !== '';
    if (value?.kind === 'object') return true;
    if (value?.kind !== 'array') return false;
    const elements = within(bytes, value, levels(2)).items ?? [];
    return elements.some((element) => !isThinkingPart(stringIn(bytes, element, 'type')));
  };
  return !['content', 'tool_calls', 'function_call', 'refusal', 'audio'].some(isFilled);
}

function ofItems(bytes: Uint8Array, items: readonly JsonSpan[], keepsNeeded: boolean): Splice[] {
  const thoughts = new Set<number>();
  const splices: Splice[] = [];
  /** The reasoning of an answer so far. */
  let led: number[] = [];
  let follows = false;
  for (const [index, span] of items.entries()) {
    const item = opened(bytes, span);
    const type = stringIn(bytes, item, 'type') ?? (fieldOf(item, 'role') ? 'message' : undefined);
    const role = stringIn(bytes, item, 'role');
    const isAnswers = FREE.has(type) && (role === undefined || role === 'assistant');
    if (keepsNeeded && needsReasoning(type ?? '')) for (const thought of led) thoughts.delete(thought);
    if (role === 'user' || type === 'function_call_output') led = [];
    if (type === 'reasoning') {
      thoughts.add(index);
      led.push(index);
    } else if (isAnswers) {
      const fields = item.fields ?? [];
      // OpenAI refuses an item with its id and without its reasoning
      // (`responses/past-reasoning.ts`).
      splices.push(
        ...cutMembers(fields, (at) => {
          const key = fields[at]?.key ?? '';
          return isReasoning(key) || (follows && key === 'id');
        }),
        ...thinkingInContent(bytes, item),
      );
    }
    follows = type === 'reasoning' || (follows && isAnswers);
  }
  return [...splices, ...cutMembers(items, (index) => thoughts.has(index))];
}
