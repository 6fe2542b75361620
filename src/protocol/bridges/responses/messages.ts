/**
 * The messages of a chat body as the items of `input`. An answer whose output is kept is sent as
 * this output; any other in the plain form, the only one that has no ids
 * (https://platform.openai.com/docs/api-reference/responses/create, `EasyInputMessage`).
 */
import { wordsOf } from '../../../lib/elements.ts';
import { asObject, asObjects, asString, isObject, type JsonObject, parseJson } from '../../../lib/json.ts';
import { isThinking } from '../../chat/reasoning.ts';
import type { BridgeOptions, ChatBody, KeptOutputs, SentOutput } from '../bridge.ts';
import { callsIn, hasOthers, noteMembers, says, type Writing } from '../chat-fields.ts';
import { callIn, textOf } from './items.ts';

/** How clients echo encrypted reasoning (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
export const ENCRYPTED_DETAIL = { type: 'reasoning.encrypted', format: 'openai-responses-v1' } as const;

/** Writes the items of `input`. @returns JSON: kept items need not be decoded */
export function inputOf({ messages }: ChatBody, kept: KeptOutputs, writing: Writing): string {
  noteMembers(messages, kept, writing.notices);
  const items = messages.flatMap((message, index) => {
    if (message.role !== 'assistant') return JSON.stringify(itemFrom(message, writing));
    const output = kept(index);
    return output?.api === 'responses' ? keptItems(output, message, writing) : answerItems(message, writing);
  });
  return `[${items.join(',')}]`;
}

/** What is kept is sent with its own bytes, unless something has to change in it. */
function keptItems(output: SentOutput, message: JsonObject, writing: Writing): string[] {
  const { json, calls = callsIn(message) } = output;
  const { leavesOutIds } = writing.options;
  const ids = writing.calls.take(calls);
  const isSame = ids.every((id, at) => id === writing.names.short(calls[at]?.id, 'call_'));
  if (isSame && !leavesOutIds) return json === '[]' ? [] : [json.slice(1, -1)];
  return (parseJson(json) as JsonObject[]).map((item) => {
    const { id: _, ...bare } = item;
    const named = leavesOutIds && item.type === 'reasoning' ? bare : item;
    return JSON.stringify(callIn(item) ? { ...item, call_id: ids.shift() } : named);
  });
}

function itemFrom(message: JsonObject, writing: Writing): JsonObject {
  const { role, content } = message;
  if (role === 'tool') return outputFrom(message, writing);
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return { role, content: partsFrom(parts, writing) };
}

function outputFrom({ tool_call_id, content }: JsonObject, writing: Writing): JsonObject {
  const { id, isCustom } = writing.calls.answered(tool_call_id);
  const type = isCustom ? 'custom_tool_call_output' : 'function_call_output';
  return { type, call_id: id, output: partsFrom(content ?? '', writing) };
}

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
  const { content, refusal } = message;
  const parts = Array.isArray(content) ? asObjects(content) : [{ text: content }];
  const words = parts.filter((part) => !isThinking(part));
  if (words.some((part) => hasOthers(part, OF_SAID))) writing.notices.add('part_fields_dropped');
  const text = [words.map(textOf).join(''), asString(refusal)].filter(Boolean).join('\n\n');
  const calls = callsIn(message);
  const ids = writing.calls.take(calls);
  const items = [
    ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
    ...calls.map((call, at) => callFrom(call, ids[at], writing)),
  ];
  // Reasoning that nothing follows is refused.
  const reasoning = items.length === 0 ? [] : reasoningFrom(message, writing.options);
  return [...reasoning, ...items].map((item) => JSON.stringify(item));
}

/** What is written of the parts of an answer, and what says nothing new. */
const OF_SAID = wordsOf('type text refusal logprobs cache_control prompt_cache_breakpoint');

/** The encrypted reasoning that a client has sent back, unless the upstream has refused it. */
function reasoningFrom(
  { reasoning_details }: JsonObject,
  { leavesOutReasoning, leavesOutIds }: BridgeOptions,
): JsonObject[] {
  const { type, format } = ENCRYPTED_DETAIL;
  const echoed = leavesOutReasoning ? [] : asObjects(reasoning_details);
  return echoed.flatMap(({ id, data, ...detail }) => {
    // An id alone would name what the upstream has stored, of whomever.
    if (detail.type !== type || detail.format !== format || asString(data) === '') return [];
    const named = leavesOutIds || typeof id !== 'string' ? {} : { id };
    return { type: 'reasoning', ...named, summary: [], encrypted_content: data };
  });
}

function callFrom(call: JsonObject, call_id: unknown, { names }: Writing): JsonObject {
  const { name, arguments: args, input } = asObject(call.type === 'custom' ? call.custom : call.function);
  const known = { call_id, name: names.short(name, 'tool_') };
  if (call.type === 'custom') return { type: 'custom_tool_call', ...known, input };
  const json = isObject(args) ? JSON.stringify(args) : args;
  return { type: 'function_call', ...known, arguments: json };
}
