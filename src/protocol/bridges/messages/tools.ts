/**
 * Tools and their choice
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use).
 */
import { asList, asObject, asObjects, asString, isObject, type JsonObject } from '../../../lib/json.ts';
import type { ClaudeTerms } from '../../../memory/models/claude-terms.ts';
import { MARK_FIELD } from '../../messages/block.ts';
import { LISTED, listIn, nameOf } from '../../tool-choice.ts';
import type { ChatBody } from '../bridge.ts';
import { callsIn, isEmpty, type Writing } from '../chat-fields.ts';
import type { ShortNames } from '../short-names.ts';
import { marked } from './parts.ts';
import { enforceable } from './schemas.ts';

interface ToolFields {
  readonly tools: readonly JsonObject[];
  /** Absent where it is the API's own. */
  readonly choice?: JsonObject;
  /** Whether the model has to call a tool. */
  readonly isForced: boolean;
}

/** `tools` and `tool_choice`. */
export function toolsFrom(
  { messages, tools, tool_choice: choice, parallel_tool_calls }: ChatBody,
  { takesForced }: ClaudeTerms,
  writing: Writing,
): ToolFields {
  const all = asObjects(tools);
  if (all.length === 0) return calledIn(messages, writing);
  const isListed = asObject(choice).type === LISTED;
  const { mode, tools: listed } = isListed ? listIn(choice) : { mode: choice };
  const allowed = Array.isArray(listed) ? new Set(listed.map(nameOf)) : undefined;
  const left = allowed ? all.filter((tool) => allowed.has(nameOf(tool))) : all;
  const wished = chosen(mode, writing.names);
  const isForced = wished.type === 'any' || wished.type === 'tool';
  if (isForced && !takesForced) writing.notices.add('tool_choice_not_forced');
  const taken = isForced && !takesForced ? { type: 'auto' } : wished;
  const isSingle = parallel_tool_calls === false && taken.type !== 'none';
  const said = isSingle ? { ...taken, disable_parallel_tool_use: true } : taken;
  return {
    tools: left.map((tool) => toolFrom(tool, writing)),
    ...(said.type === 'auto' && !isSingle ? {} : { choice: said }),
    isForced: isForced && takesForced,
  };
}

/**
 * The tools that earlier answers call. Without any tool the API refuses calls and results
 * (https://github.com/anthropics/anthropic-sdk-python/issues/494), which chat takes.
 */
function calledIn(messages: readonly JsonObject[], { names, notices }: Writing): ToolFields {
  const called = new Set(messages.flatMap(callsIn).map((call) => names.short(nameOf(call), 'tool_')));
  if (called.size === 0) return { tools: [], isForced: false };
  notices.add('called_tools_added');
  const input_schema = { type: 'object', properties: {} };
  const tools = [...called].map((name) => ({ name, input_schema }));
  return { tools, choice: { type: 'none' }, isForced: false };
}

/** @param mode a word, or the tool that has to be called */
function chosen(mode: unknown, names: ShortNames): JsonObject {
  if (isObject(mode)) return { type: 'tool', name: names.short(nameOf(mode), 'tool_') };
  // The API says what is wrong with any other word.
  return { type: mode === 'required' ? 'any' : (mode ?? 'auto') };
}

function toolFrom(tool: JsonObject, { names, notices, options }: Writing): JsonObject {
  const { name: _, description, parameters, strict, [MARK_FIELD]: inside, ...rest } = asObject(tool.function);
  if (!isEmpty(rest)) notices.add('tool_fields_dropped');
  const schema = objectSchema(asObject(parameters), notices);
  const isStrict = strict === true && !options.leavesOutStrict;
  if (strict === true && !isStrict) notices.add('strict_dropped');
  return {
    name: names.short(nameOf(tool), 'tool_'),
    description: typeof description === 'string' ? description : undefined,
    input_schema: isStrict ? enforceable(schema, notices) : schema,
    strict: isStrict || undefined,
    ...marked(tool[MARK_FIELD] ?? inside),
  };
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'];

/**
 * A schema whose root is an object, as the API demands. Of a union at the root, each variant's
 * properties may be given, and those that all of them require have to be.
 */
function objectSchema(schema: JsonObject, notices: Set<string>): JsonObject {
  const union = UNIONS.find((name) => Array.isArray(schema[name]));
  if (union === undefined)
    return schema.type === 'object' ? schema : { properties: {}, ...schema, type: 'object' };
  notices.add('union_of_parameters_joined');
  const { [union]: listed, ...rest } = schema;
  const variants = (listed as unknown[]).map((variant) => asObject(resolved(variant, schema)));
  const required = variants.map((variant) => asList(variant.required));
  const isAll = union === 'allOf';
  const shared = required.flat().filter((name) => isAll || required.every((names) => names.includes(name)));
  const properties = Object.assign({}, ...variants.map((variant) => variant.properties), rest.properties);
  const all = [...new Set([...asList(rest.required), ...shared])];
  return objectSchema({ ...rest, type: 'object', properties, required: all }, notices);
}

/** A variant that the schema defines elsewhere in itself. */
function resolved(variant: unknown, schema: JsonObject): unknown {
  const path = /^#\/(.+)$/.exec(asString(asObject(variant).$ref))?.[1];
  if (path === undefined) return variant;
  return path.split('/').reduce<unknown>((value, key) => asObject(value)[key], schema);
}
