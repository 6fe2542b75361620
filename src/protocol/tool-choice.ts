/**
 * What `tool_choice` leaves of our tools
 * (https://platform.openai.com/docs/api-reference/chat/create,
 * https://platform.openai.com/docs/api-reference/responses/create,
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use). A list of
 * allowed tools gets Precis's, too. Where no tool or a certain one is chosen, the model can't call
 * Precis's.
 */
import { asObject, asString, isObject, type JsonObject } from '../lib/json.ts';
import { type JsonSpan, levels, type Span } from './json/outline.ts';
import { cutMembers, fieldOf, jsonOf, type Splice, scanObject, splice, within } from './json/spans.ts';

const FIELD = 'tool_choice';

/** A list of the tools that the model may call. */
const LISTED = 'allowed_tools';

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
  const isNested = asObject(jsonOf(bytes, fieldOf(root, FIELD)?.value ?? list))[LISTED] !== undefined;
  const entries = names().map((name) =>
    JSON.stringify(isNested ? { type: 'function', function: { name } } : { type: 'function', name }),
  );
  const end = list.end - 1;
  return [{ start: end, end, with: `${list.items.length > 0 ? ',' : ''}${entries.join(',')}` }];
}

/**
 * A body without our tools, where its caller requires a call: after the last round the caller gets
 * the answer, and what it holds must be a call of the caller's own. Unchanged where none is
 * required, or the caller has no tool.
 *
 * @param ours names of our tools
 */
export function leftToCaller(body: Uint8Array, ours: ReadonlySet<string>): Uint8Array {
  const root = scanObject(body, { fields: {} });
  const choice = root && fieldOf(root, FIELD)?.value;
  if (!choice) return body;
  const value = jsonOf(body, choice);
  if (!isForced(value)) return body;
  const tools = fieldOf(root, 'tools')?.value;
  const list = allowedTools(body, root) ?? (tools && within(body, tools, { items: {} }));
  const items = list?.items ?? [];
  const isOurs = items.map((item) => ours.has(nameOf(jsonOf(body, item))));
  if (isOurs.every(Boolean)) return body;
  return splice(
    body,
    whole(body),
    cutMembers(items, (index) => isOurs[index] === true),
  );
}

function isForced(choice: unknown): boolean {
  if (!isObject(choice)) return FORCED.has(choice);
  return FORCED.has(choice.type === LISTED ? listIn(choice).mode : choice.type);
}

/** The object with the list: of its own in chat, and the choice itself in the Responses API. */
function listIn(choice: unknown): JsonObject {
  const { [LISTED]: nested, ...flat } = asObject(choice);
  return nested === undefined ? flat : asObject(nested);
}

function allowedTools(bytes: Uint8Array, root: JsonSpan): JsonSpan | undefined {
  const span = fieldOf(root, FIELD)?.value;
  if (span?.kind !== 'object' || asObject(jsonOf(bytes, span)).type !== LISTED) return undefined;
  const choice = within(bytes, span, levels(3));
  const nested = fieldOf(choice, LISTED)?.value;
  const list = fieldOf(nested?.kind === 'object' ? nested : choice, 'tools')?.value;
  return list?.kind === 'array' ? list : undefined;
}

/** The name of a tool, in any protocol. @param tool its definition, or an entry of a list */
export function nameOf(tool: unknown): string {
  const { name, function: called } = asObject(tool);
  return asString(name ?? asObject(called).name);
}

function whole(bytes: Uint8Array): Span {
  return { start: 0, end: bytes.length };
}
