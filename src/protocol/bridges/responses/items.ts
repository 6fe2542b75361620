/** Items of an answer: their calls in chat's form, their usage, and how they are kept. */
import { asObject, asObjects, asString, isObject, type JsonObject, parseJson } from '../../../lib/json.ts';
import { inputText } from '../../call-input.ts';
import type { CallType } from '../answer-writer.ts';
import type { KeptOutput } from '../bridge.ts';
import { says } from '../chat-fields.ts';
import type { ShortNames } from '../short-names.ts';

/** What the request says of its answer. */
export interface Asked {
  readonly names: ShortNames;
  /** Names of the request's tools, before any is shortened. */
  readonly tools: ReadonlySet<string>;
}

/** Calls of several tools in one, which models make by a tool that nobody has offered. */
const PACKS = new Set(['parallel', 'multi_tool_use.parallel']);

/** Whether an item is a call that holds several. */
export function isPack({ type, name }: JsonObject, { tools }: Asked): boolean {
  return type === 'function_call' && PACKS.has(asString(name)) && !tools.has(asString(name));
}

/** An item, or the calls that it holds. */
export function unpacked(item: JsonObject, asked: Asked): readonly JsonObject[] {
  if (!isPack(item, asked)) return [item];
  const { tool_uses } = asObject(parseJson(asString(item.arguments)));
  const uses = asObjects(tool_uses);
  const areCalls = uses.every(({ recipient_name }) => typeof recipient_name === 'string');
  if (uses.length === 0 || !areCalls) return [item];
  const { id: _, ...call } = item;
  return uses.map(({ recipient_name, parameters }, index) => ({
    ...call,
    call_id: `${callId(item)}_${index}`,
    name: asString(recipient_name).replace(/^functions\./, ''),
    arguments: JSON.stringify(parameters ?? {}),
  }));
}

export function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Servers that pair by the item's id give a call no other one. */
export function callId({ call_id, id }: JsonObject): string {
  return asString(call_id) || asString(id);
}

/** What a call is made with. */
export function inputIn({ type, arguments: args, input }: JsonObject): string {
  return inputText(type === 'custom_tool_call' ? input : args);
}

/** The type of a call in chat. */
export function callType({ type }: JsonObject): CallType {
  return type === 'custom_tool_call' ? 'custom' : 'function';
}

/**
 * The items of a whole answer, to be sent again. Messages and calls have no ids: with an id, the
 * upstream demands the reasoning before it. Reasoning that the upstream has only stored is gone
 * once the answer is over, and it refuses reasoning that nothing follows.
 */
export function keptOutput(items: readonly JsonObject[], { names }: Asked): KeptOutput | undefined {
  const kept = items.map((item) => keptItem(item, names)).filter((item) => item !== undefined);
  const said = kept.slice(0, kept.findLastIndex(({ type }) => type !== 'reasoning') + 1);
  return said.length > 0 ? { api: 'responses', json: JSON.stringify(said) } : undefined;
}

function keptItem(item: JsonObject, names: ShortNames): JsonObject | undefined {
  const { type, id, status: _, ...rest } = item;
  if (type === 'message') {
    const { role, phase } = item;
    const content = partsOf(item).map(textOf).join('');
    if (content === '') return undefined;
    return { type, role, content, ...(says(phase) ? { phase } : {}) };
  }
  if (isCall(item)) {
    const input = type === 'function_call' ? { arguments: inputIn(item) } : {};
    return { type, ...rest, ...input, call_id: names.short(callId(item), 'call_') };
  }
  if (type !== 'reasoning') return typeof type === 'string' ? item : undefined;
  const { summary = [], content, encrypted_content } = rest;
  const thoughts = Array.isArray(content) && content.length > 0 ? { content } : {};
  if (typeof encrypted_content !== 'string' && !thoughts.content) return undefined;
  return { type, id, summary, ...thoughts, encrypted_content };
}

/** The items of a response; undefined if it has no list. */
export function outputIn({ output }: JsonObject): JsonObject[] | undefined {
  return Array.isArray(output) ? output.filter(isObject) : undefined;
}

/** The parts of a message, or of reasoning. A message that was kept is a text. */
export function partsOf({ content }: JsonObject): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'output_text', text: content }];
  return asObjects(content);
}

function textOf({ text, refusal }: JsonObject): string {
  return asString(text) || asString(refusal);
}

const COUNTS: ReadonlyMap<string, string> = new Map([
  ['input_tokens', 'prompt_tokens'],
  ['input_tokens_details', 'prompt_tokens_details'],
  ['output_tokens', 'completion_tokens'],
  ['output_tokens_details', 'completion_tokens_details'],
]);

/** Usage under chat's names. A count that is absent stays absent. */
export function usageFrom(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  return Object.fromEntries(Object.entries(usage).map(([key, value]) => [COUNTS.get(key) ?? key, value]));
}

/** Why an answer has ended. @param calls how many of them the caller has got */
export function finishOf({ status, incomplete_details }: JsonObject, calls: number): string {
  const { reason } = asObject(incomplete_details);
  if (status === 'incomplete') return reason === 'content_filter' ? 'content_filter' : 'length';
  return calls > 0 ? 'tool_calls' : 'stop';
}
