/** Items of an answer: their calls in chat's form, their usage, and how they are kept. */
import { asList, asObjects, asString, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import { inputText } from '../../call-input.ts';
import type { SaidCall } from '../answer-writer.ts';
import type { KeptOutput } from '../bridge.ts';
import type { ShortNames } from '../short-names.ts';

/** What the request says of its answer. */
export interface Asked {
  readonly names: ShortNames;
  /** Names of the request's tools, before any is shortened. */
  readonly tools: ReadonlySet<string>;
}

/** A call in chat's terms; undefined for any other item. */
export function callIn({ type, call_id, id, name, ...item }: JsonObject): SaidCall | undefined {
  const isCustom = type === 'custom_tool_call';
  if (!isCustom && type !== 'function_call') return undefined;
  return {
    // Servers that pair by the item's id give a call no other one.
    id: asString(call_id) || asString(id),
    type: isCustom ? 'custom' : 'function',
    name: asString(name),
    input: inputText(isCustom ? item.input : item.arguments),
  };
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
  const { id: _, ...call } = item;
  const uses = asObjects(parseObject(asString(item.arguments))?.tool_uses);
  const areCalls = uses.every(({ recipient_name }) => typeof recipient_name === 'string');
  if (uses.length === 0 || !areCalls) return [item];
  return uses.map(({ recipient_name, parameters }, index) => ({
    ...call,
    call_id: `${callIn(item)?.id}_${index}`,
    name: asString(recipient_name).replace(/^functions\./, ''),
    arguments: JSON.stringify(parameters ?? {}),
  }));
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
    return content === '' ? undefined : { type, role, content, phase: phase ?? undefined };
  }
  const call = callIn(item);
  if (call) {
    const input = call.type === 'function' ? { arguments: call.input } : {};
    return { type, ...rest, ...input, call_id: names.short(call.id, 'call_') };
  }
  if (type !== 'reasoning') return typeof type === 'string' ? item : undefined;
  const { summary = [], content, encrypted_content } = rest;
  const thoughts = asList(content).length > 0 ? content : undefined;
  if (typeof encrypted_content !== 'string' && !thoughts) return undefined;
  return { type, id, summary, content: thoughts, encrypted_content };
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

/** The words of a part, also of a message of chat. */
export function textOf({ text, refusal }: JsonObject): string {
  return asString(text) || asString(refusal);
}

/** Usage under chat's names. A count that is absent stays absent. */
export function usageFrom(usage: unknown): JsonObject | undefined {
  const named = (key: string): string =>
    key.replace(/^input_tokens/, 'prompt_tokens').replace(/^output_tokens/, 'completion_tokens');
  if (!isObject(usage)) return undefined;
  return Object.fromEntries(Object.entries(usage).map(([key, value]) => [named(key), value]));
}
