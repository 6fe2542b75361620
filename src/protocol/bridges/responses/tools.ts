/** Tools, their choice and the format of an answer, which the Responses API has in flat objects. */
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import { isEmpty, says } from '../chat-fields.ts';
import type { ShortNames } from '../short-names.ts';

/**
 * An object with a member spread into it: `{type, function: {name}}` → `{type, name}`. Its own
 * members stay, since its type is what has been looked at.
 */
function flat(value: JsonObject, member: string): JsonObject {
  const { [member]: inner, ...rest } = value;
  return isObject(inner) ? { ...inner, ...rest } : value;
}

/** A function or a custom tool by its type; the name alone, or with its definition. */
function flatTool(tool: unknown, names: ShortNames): JsonObject {
  const fields = asObject(tool);
  const found = flat(fields, asString(fields.type));
  return { ...found, name: names.short(found.name, 'tool_') };
}

/**
 * A tool, without marks of another cache. Without `strict`, chat takes a schema as it is; the
 * Responses API would make it strict. Without `parameters`, chat knows a function without any.
 */
export function toolFrom(tool: unknown, names: ShortNames, notices: Set<string>): JsonObject {
  const { cache_control: mark, ...found } = flatTool(tool, names);
  if (says(mark)) notices.add('cache_marks_dropped');
  const { type, parameters, strict, format } = found;
  if (type === 'custom' && isObject(format)) return { ...found, format: flat(format, 'grammar') };
  if (type !== 'function') return found;
  const none = { type: 'object', properties: {} };
  return { ...found, parameters: isEmpty(parameters ?? '') ? none : parameters, strict: strict ?? false };
}

/** The tool that is meant by `web_search_options`. */
export function webSearchFrom(options: JsonObject): JsonObject {
  const { user_location, ...rest } = options;
  const place = isObject(user_location) ? { user_location: flat(user_location, 'approximate') } : {};
  return { type: 'web_search', ...rest, ...place };
}

export function choiceFrom(choice: unknown, names: ShortNames): unknown {
  if (!isObject(choice)) return choice;
  const found = flatTool(choice, names);
  if (found.type !== 'allowed_tools' || !Array.isArray(found.tools)) return found;
  return { ...found, tools: found.tools.map((tool) => flatTool(tool, names)) };
}

/** `text.format` of a `response_format`. */
export function formatFrom(format: unknown): JsonObject {
  const found = flat(asObject(format), 'json_schema');
  return found.type === 'json_schema' ? { ...found, strict: found.strict ?? false } : found;
}
