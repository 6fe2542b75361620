/**
 * What `tool_choice` leaves of our tools
 * (https://platform.openai.com/docs/api-reference/chat/create,
 * https://platform.openai.com/docs/api-reference/responses/create,
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use). A list of
 * allowed tools gets Precis's, too. Where no tool or a certain one is chosen, the model can't call
 * Precis's.
 */
import { asObject, asString, isObject, type JsonObject } from '../lib/json.ts';
import { type JsonSpan, levels } from './json/outline.ts';
import { cutMembers, fieldOf, jsonOf, type Splice, scanObject, spliceAll, within } from './json/spans.ts';

const FIELD = 'tool_choice';

/** A list of the tools that the model may call. */
export const LISTED = 'allowed_tools';

/** Words after which the model must call a tool: OpenAI's, and Anthropic's. */
const FORCED: ReadonlySet<unknown> = new Set(['required', 'any']);

/** Whether a model may call Precis's tools. @param choice the value of the field; null: absent */
export function leavesOurs(choice: unknown): boolean {
  if (choice === undefined || choice === null) return true;
  const word = typeof choice === 'string' ? choice : asObject(choice).type;
  if (word === LISTED) return Array.isArray(listIn(choice).tools);
  return word === 'auto' || FORCED.has(word);
}

/** Adds Precis's tools to the caller's list of allowed ones. @param names Precis's */
export function allowSplices(bytes: Uint8Array, root: JsonSpan, names: () => readonly string[]): Splice[] {
  const list = allowedTools(bytes, root);
  if (!list?.items) return [];
  const isNested = asObject(jsonOf(bytes, fieldOf(root, FIELD) ?? list))[LISTED] !== undefined;
  const entries = names().map((name) =>
    JSON.stringify(isNested ? { type: 'function', function: { name } } : { type: 'function', name }),
  );
  const end = list.end - 1;
  return [{ start: end, end, with: `${list.items.length > 0 ? ',' : ''}${entries.join(',')}` }];
}

/**
 * A body whose model may call the caller's tools alone, where its caller requires a call: after the
 * last round the caller gets the answer, and what it holds must be a call of the caller's own.
 * Unchanged where none is required, or the caller has no tool.
 *
 * @param ours names of our tools
 * @param keepsTools whether `tools` stay as they are, and the choice lists the caller's. Only some
 *   upstreams know such a list
 */
export function leftToCaller(body: Uint8Array, ours: ReadonlySet<string>, keepsTools = false): Uint8Array {
  const root = scanObject(body, { fields: {} });
  const choice = root && fieldOf(root, FIELD);
  if (!choice) return body;
  const value = jsonOf(body, choice);
  if (!isForced(value)) return body;
  const tools = fieldOf(root, 'tools');
  const listed = allowedTools(body, root);
  const items = (listed ?? (tools && within(body, tools, { items: {} })))?.items ?? [];
  const isOurs = items.map((item) => ours.has(nameOf(jsonOf(body, item))));
  if (isOurs.every(Boolean)) return body;
  if (keepsTools && !listed && value === 'required') {
    const theirs = items.filter((_, index) => !isOurs[index]).map((item) => jsonOf(body, item));
    return spliceAll(body, [{ ...choice, with: JSON.stringify(requiredOf(theirs)) }]);
  }
  const cut = cutMembers(items, (index) => isOurs[index] === true);
  return spliceAll(body, cut);
}

/** The choice of one of some tools. @param tools their definitions */
function requiredOf(tools: readonly unknown[]): JsonObject {
  const entries = tools.map(entryOf);
  const list = { mode: 'required', tools: entries };
  const isNested = entries.some((entry) => isObject(entry.function) || isObject(entry.custom));
  return { type: LISTED, ...(isNested ? { [LISTED]: list } : list) };
}

/** What a list of allowed tools says of one: its type, and the name that it has in its protocol. */
function entryOf(tool: unknown): JsonObject {
  const { type, name, server_label, function: called, custom } = asObject(tool);
  const named = (of: unknown) => (isObject(of) ? { name: of.name } : undefined);
  return { type, name, server_label, function: named(called), custom: named(custom) };
}

function isForced(choice: unknown): boolean {
  if (!isObject(choice)) return FORCED.has(choice);
  return FORCED.has(choice.type === LISTED ? listIn(choice).mode : choice.type);
}

/** The object with the list: of its own in chat, and the choice itself in the Responses API. */
export function listIn(choice: unknown): JsonObject {
  const { [LISTED]: nested, ...flat } = asObject(choice);
  return nested === undefined ? flat : asObject(nested);
}

function allowedTools(bytes: Uint8Array, root: JsonSpan): JsonSpan | undefined {
  const span = fieldOf(root, FIELD);
  if (span?.kind !== 'object' || asObject(jsonOf(bytes, span)).type !== LISTED) return undefined;
  const choice = within(bytes, span, levels(3));
  const nested = fieldOf(choice, LISTED);
  const list = fieldOf(nested?.kind === 'object' ? nested : choice, 'tools');
  return list?.kind === 'array' ? list : undefined;
}

/** The name of a tool, in any protocol. @param tool its definition, a list's entry, or a call */
export function nameOf(tool: unknown): string {
  const { name, function: called, custom } = asObject(tool);
  return asString(name ?? asObject(called ?? custom).name);
}
