/** Decides, for each item of an answer, whether the caller sees it and who answers its calls. */

import { elementAt } from '../../lib/elements.ts';
import { asObject, asString, type JsonObject, parseObject } from '../../lib/json.ts';
import { CallSorter } from '../answers/joined-answers.ts';
import type { ToolCall, ToolResult, ToolTurn } from '../answers/tool-turn.ts';
import { inputText } from '../call-input.ts';
import type { Media } from '../held-media.ts';
import { jsonOf, topField } from '../json/spans.ts';
import { appendTo, calledName, type LongerBody } from '../tools.ts';

/**
 * The environment of a shell that the upstream hosts
 * (https://platform.openai.com/docs/guides/tools-shell).
 */
export const HOSTED_SHELL = 'container_reference';

/** What happens to an item. `held`: not decided before the next item. */
export type Fate = 'shown' | 'held' | 'hidden';

/**
 * Sorts the items of one answer as they begin.
 *
 * Reasoning belongs to the item after it, and shares its fate, since upstreams refuse one without
 * the other. If that is a call of Precis's that nobody answers, it belongs to the next one as well.
 *
 * An answer in a form such as JSON has no messages of turns that are answered here.
 */
export class ItemSorter extends CallSorter {
  /** Programs after a call of Precis's. What they ask of the caller is not answered. */
  private readonly dropped = new Set<unknown>();

  /** Whether our calls among all items of an answer are to be answered. */
  areOurs(items: readonly JsonObject[]): boolean {
    for (const item of items) this.next(item);
    return this.isOurs;
  }

  next(item: JsonObject): Fate {
    if (item.type === 'reasoning') return 'held';
    if (item.type === 'message' && this.hidesTexts) return 'hidden';
    if (item.type === 'program' && this.isOurs) this.dropped.add(item.call_id);
    if (this.drops(item)) return 'hidden';
    const isOurs = this.calls(item);
    if (!isOurs && !waitsForCaller(item)) return 'shown';
    return this.showsCall(isOurs) ? 'shown' : 'hidden';
  }

  /** Whether the reasoning before a hidden item may lead to the next one. */
  passes(item: JsonObject): boolean {
    return !this.isOurs && this.calls(item);
  }

  /** Whether an item belongs to a program that is left out. */
  drops({ call_id }: JsonObject): boolean {
    return this.dropped.has(call_id);
  }

  /** Whether it is one of Precis's calls. Tools in a namespace are others, whatever their names. */
  calls({ type, name, namespace }: JsonObject): boolean {
    return (
      type === 'function_call' && this.names.has(calledName(asString(name))) && (namespace ?? null) === null
    );
  }
}

/**
 * Whether the model waits for the caller's answer. Tools hosted by the upstream are answered in the
 * same response.
 */
export function waitsForCaller({ type, call_id, execution, environment }: JsonObject): boolean {
  if (type === 'mcp_approval_request') return true;
  if (type === 'program') return false;
  if (typeof call_id !== 'string' || asString(type).endsWith('_output')) return false;
  return execution !== 'server' && asObject(environment).type !== HOSTED_SHELL;
}

/** The turn of an answer: all its items but the caller's calls, which have no results yet. */
export function turnOf(items: readonly JsonObject[], sorter: ItemSorter, isUnstored?: boolean): ToolTurn {
  const messages: JsonObject[] = [];
  let reasoning: JsonObject[] = [];
  for (const item of items) {
    if (item.type === 'reasoning') {
      reasoning.push(item);
      continue;
    }
    if (sorter.calls(item) || !(waitsForCaller(item) || sorter.drops(item)))
      messages.push(...reasoning, item);
    reasoning = [];
  }
  return {
    messages: messages.map((item) => (sorter.calls(item) ? withObject(item) : item)),
    calls: messages.filter((item) => sorter.calls(item)).map(callOf),
    ...(isUnstored ? { isUnstored } : {}),
  };
}

function callOf({ call_id, name, arguments: input }: JsonObject): ToolCall {
  return { id: asString(call_id), name: calledName(asString(name)), arguments: inputText(input) };
}

/** Upstreams parse the arguments in the history, and refuse any but an object, and a wrong name. */
function withObject(call: JsonObject): JsonObject {
  const input = inputText(call.arguments);
  const name = calledName(asString(call.name));
  if (!parseObject(input)) return { ...call, name, arguments: '{}' };
  return input === call.arguments && name === call.name ? call : { ...call, name, arguments: input };
}

export function goOnResponses(body: Uint8Array, turn: ToolTurn, results: readonly ToolResult[]): LongerBody {
  const messages = isStored(body) && !turn.isUnstored ? turn.messages : withoutStored(turn.messages);
  const answers = turn.calls.map(({ id }, index) => ({
    type: 'function_call_output',
    call_id: id,
    output: outputOf(elementAt(results, index)),
  }));
  return appendTo(body, 'input', [...messages, ...answers]);
}

function outputOf(result: ToolResult): unknown {
  if (typeof result === 'string') return result;
  return [{ type: 'input_text', text: result.text }, ...result.media.map(partOf)];
}

function partOf({ kind, mediaType, base64, name = 'file.pdf' }: Media): object {
  const data = `data:${mediaType};base64,${base64}`;
  if (kind === 'image') return { type: 'input_image', image_url: data, detail: 'auto' };
  return { type: 'input_file', filename: name, file_data: data };
}

function isStored(body: Uint8Array): boolean {
  const store = topField(body, 'store');
  return !store || jsonOf(body, store) !== false;
}

/**
 * Items for an upstream that stores nothing. Reasoning that is not encrypted is a mere id there, so
 * it is left out; the call after it then loses its id, which refers to that reasoning.
 */
function withoutStored(items: readonly object[]): object[] {
  const isLost = (item: JsonObject): boolean => item.type === 'reasoning' && !item.encrypted_content;
  return items.flatMap((item, index) => {
    const { id, ...rest } = item as JsonObject;
    if (isLost(item as JsonObject)) return [];
    return isLost(asObject(items[index - 1])) ? [rest] : [id === undefined ? rest : { id, ...rest }];
  });
}
