/**
 * The messages of a chat body as the items of `input`. An answer whose output is kept is sent as
 * this output; any other in the plain form, the only one that has no ids
 * (https://platform.openai.com/docs/api-reference/responses/create, `EasyInputMessage`).
 */
import { wordsOf } from '../../../lib/elements.ts';
import { asObject, asObjects, asString, isObject, type JsonObject, parseJson } from '../../../lib/json.ts';
import { isThinking } from '../../chat/reasoning.ts';
import type { BridgeOptions, ChatBody, KeptOutput } from '../bridge.ts';
import { callsIn, hasOthers, noteMembers, says } from '../chat-fields.ts';
import { type SentOutput, sentOutput } from '../kept-outputs.ts';
import { SentCalls } from '../sent-calls.ts';
import type { ShortNames } from '../short-names.ts';
import { isCall } from './items.ts';

/** How clients echo encrypted reasoning (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
export const ENCRYPTED_DETAIL = { type: 'reasoning.encrypted', format: 'openai-responses-v1' } as const;

/** What the writers of messages share. */
interface Writing {
  readonly names: ShortNames;
  readonly options: Pick<BridgeOptions, 'leavesOutReasoning' | 'leavesOutIds'>;
  readonly calls: SentCalls;
  readonly notices: Set<string>;
}

/**
 * Writes the items of `input`.
 *
 * @param notices gets codes of what is not said
 * @returns JSON: kept items need not be decoded
 */
export function inputOf(
  { messages }: ChatBody,
  kept: (index: number) => KeptOutput | undefined,
  options: BridgeOptions,
  shared: Pick<Writing, 'names' | 'notices'>,
): string {
  noteMembers(messages, shared.notices);
  const writing: Writing = { ...shared, options, calls: new SentCalls(shared.names) };
  const items = messages.flatMap((message, index) => {
    if (message.role !== 'assistant') return JSON.stringify(itemFrom(message, writing));
    const output = sentOutput(messages, kept, index, 'responses');
    return output ? keptItems(output, writing) : answerItems(message, writing);
  });
  return `[${items.join(',')}]`;
}

function keptItems({ elements, calls }: SentOutput, writing: Writing): string[] {
  const { options } = writing;
  if (elements === '') return [];
  const ids = writing.calls.take(calls);
  const isSame = ids.every((id, at) => id === writing.calls.known(calls[at]?.id));
  if (isSame && !options.leavesOutIds) return [elements];
  return (parseJson(`[${elements}]`) as JsonObject[]).flatMap((item) => {
    if (item.type === 'reasoning') return reasoningItems(item, options);
    return JSON.stringify(isCall(item) ? { ...item, call_id: ids.shift() } : item);
  });
}

/** Reasoning, as far as the upstream has not refused it. @returns JSON */
function reasoningItems(
  item: JsonObject,
  { leavesOutReasoning, leavesOutIds }: Writing['options'],
): string[] {
  if (leavesOutReasoning) return [];
  const { id, ...rest } = item;
  return [JSON.stringify(leavesOutIds || typeof id !== 'string' ? rest : item)];
}

function itemFrom(message: JsonObject, writing: Writing): JsonObject {
  const { role, content } = message;
  if (role === 'tool') return outputFrom(message, writing);
  return { role, content: typeof content === 'string' ? [textPart(content)] : partsFrom(content, writing) };
}

function outputFrom({ tool_call_id, content }: JsonObject, writing: Writing): JsonObject {
  const { id, isCustom } = writing.calls.answered(tool_call_id);
  const type = isCustom ? 'custom_tool_call_output' : 'function_call_output';
  const output = Array.isArray(content) ? partsFrom(content, writing) : (content ?? '');
  return { type, call_id: id, output };
}

const textPart = (text: string): JsonObject => ({ type: 'input_text', text });

/** Parts of a content. One of an unknown type is passed on: the upstream says what is wrong. */
function partsFrom(content: unknown, { notices }: Writing): unknown {
  if (!Array.isArray(content)) return content;
  if (content.some((part) => says(asObject(part).cache_control))) notices.add('cache_marks_dropped');
  return content.map(partFrom);
}

function partFrom(part: unknown): unknown {
  if (!isObject(part)) return part;
  const { type, image_url, file, cache_control: _, ...rest } = part;
  if (type === 'text') return { type: 'input_text', ...rest };
  if (type === 'image_url') {
    const { url, ...image } = isObject(image_url) ? image_url : { url: image_url };
    return { type: 'input_image', image_url: url, ...image, ...rest };
  }
  return type === 'file' ? { type: 'input_file', ...asObject(file), ...rest } : part;
}

/** An answer in the plain form. Texts of reasoning are left out: they are no words of it. */
function answerItems(message: JsonObject, writing: Writing): string[] {
  const text = saidIn(message);
  if (asObjects(message.content).some((part) => !isThinking(part) && hasOthers(part, OF_SAID)))
    writing.notices.add('part_fields_dropped');
  const calls = callsIn(message);
  const ids = writing.calls.take(calls);
  const items = [
    ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
    ...calls.map((call, at) => callFrom(call, ids[at], writing)),
  ];
  // Reasoning that nothing follows is refused.
  if (items.length === 0) return [];
  return [
    ...reasoningFrom(message).flatMap((item) => reasoningItems(item, writing.options)),
    ...items.map((item) => JSON.stringify(item)),
  ];
}

/** What is written of the parts of an answer, and what says nothing new. */
const OF_SAID = wordsOf('type text refusal annotations logprobs cache_control prompt_cache_breakpoint');

/** Text and refusal of an answer, in its content and beside it. */
function saidIn({ content, refusal }: JsonObject): string {
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }];
  const words = parts.map(asObject).filter((part) => !isThinking(part));
  const texts = words.map((part) => asString(part.text) || asString(part.refusal));
  return [texts.join(''), asString(refusal)].filter(Boolean).join('\n\n');
}

/** The encrypted reasoning that a client has sent back. */
function reasoningFrom({ reasoning_details }: JsonObject): JsonObject[] {
  return (
    asObjects(reasoning_details)
      .filter(({ type, format }) => type === ENCRYPTED_DETAIL.type && format === ENCRYPTED_DETAIL.format)
      // An id alone would name what the upstream has stored, of whomever.
      .filter(({ data }) => asString(data) !== '')
      .map(({ id, data }) => ({ type: 'reasoning', id, summary: [], encrypted_content: data }))
  );
}

function callFrom(call: JsonObject, call_id: unknown, { names }: Writing): JsonObject {
  const { name, arguments: args, input } = asObject(call.type === 'custom' ? call.custom : call.function);
  const known = { call_id, name: typeof name === 'string' ? names.short(name, 'tool_') : name };
  if (call.type === 'custom') return { type: 'custom_tool_call', ...known, input };
  const json = isObject(args) ? JSON.stringify(args) : args;
  return { type: 'function_call', ...known, arguments: json };
}
