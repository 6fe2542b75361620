/** Our tools beside the caller's, in either protocol, and how rounds append to a body. */

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { JsonSpan } from './json/outline.ts';
import { bytesOf, type Edits, fieldOf, spliceAll, textOf, topField, wrapSplices } from './json/spans.ts';
import { allowSplices, nameOf } from './tool-choice.ts';

/**
 * One of our tools, as chat completions define them
 * (https://platform.openai.com/docs/api-reference/chat/create, `tools`).
 */
export interface FunctionTool<Name extends string = string> {
  readonly type: 'function';
  readonly function: {
    readonly name: Name;
    readonly description: string;
    readonly parameters: {
      readonly type: 'object';
      readonly properties: Readonly<Record<string, object>>;
      readonly required: readonly string[];
      readonly additionalProperties: false;
    };
  };
}

/**
 * The name of a tool in a call. Some models add the namespace that they were trained with, or white
 * space, and upstreams refuse such a name in the next request.
 */
export function calledName(name: string): string {
  return name.trim().replace(/^functions?\./, '');
}

/** Whether the beginning of a name in a call may still become one of these names. */
export function mayCall(names: ReadonlySet<string>, name: string): boolean {
  const begun = name.trimStart();
  const prefixes = ['', 'function.', 'functions.'];
  return [...names].some((one) => prefixes.some((prefix) => `${prefix}${one}`.startsWith(begun)));
}

/** @param properties of its arguments, each a JSON schema @param required their names */
export function functionTool<Name extends string>(
  name: Name,
  description: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): FunctionTool<Name> {
  const parameters = { type: 'object', properties, required, additionalProperties: false } as const;
  return { type: 'function', function: { name, description, parameters } };
}

/**
 * The same with a schema that the upstream enforces, in which an argument is not left out but null
 * (https://platform.openai.com/docs/guides/function-calling, "Strict mode").
 */
export function strictTool({ type, function: tool }: FunctionTool): object {
  const { properties, required } = tool.parameters;
  const enforced = Object.entries(properties).map(([name, property]) => {
    const { type: only, enum: values } = property as { type: string; enum?: readonly string[] };
    if (required.includes(name)) return [name, property];
    return [name, { ...property, type: [only, 'null'], ...(values && { enum: [...values, null] }) }];
  });
  const parameters = {
    ...tool.parameters,
    properties: Object.fromEntries(enforced),
    required: Object.keys(properties),
  };
  return { type, function: { ...tool, parameters, strict: true } };
}

/**
 * The caller's tools, for counting; undefined if no field is a list.
 *
 * @param longest the count to report for a list that is too long to be read
 */
export function readTools(
  bytes: Uint8Array,
  root: JsonSpan,
  fields: readonly string[],
  longest: number,
): Tools | undefined {
  const listed = fields.flatMap((key) => fieldOf(root, key) ?? []).filter((span) => span.kind === 'array');
  if (listed.length === 0) return undefined;
  const hash = createHash('sha256');
  for (const span of listed) hash.update(bytes.subarray(span.start, span.end));
  return {
    count: listed.reduce((sum, span) => sum + (span.items?.length ?? longest), 0),
    bytes: bytesOf(listed),
    digest: hash.digest('base64url'),
    text: () => listed.map((span) => textOf(bytes, span)).join(''),
  };
}

/** The caller's tools and Precis's, for counting. @param definitions Precis's, each as its JSON */
export function toolsWith(tools: Tools | undefined, definitions: readonly string[]): Tools {
  const definition = definitions.join(',');
  return {
    count: (tools?.count ?? 0) + definitions.length,
    bytes: (tools?.bytes ?? 0) + Buffer.byteLength(definition),
    digest: `${tools?.digest ?? ''}+${definition}`,
    text: () => (tools?.count ? `${tools.text().slice(0, -1)},${definition}]` : `[${definition}]`),
  };
}

/**
 * Appends tools to the caller's, and to those that the caller allows.
 *
 * @param root of a body whose `tools` are a list, null or absent
 * @param definitions each as its JSON
 */
export function addTools(bytes: Uint8Array, root: JsonSpan, definitions: readonly string[]): Edits {
  if (definitions.length === 0) return { splices: [], members: [] };
  const definition = definitions.join(',');
  const tools = fieldOf(root, 'tools');
  if (tools?.kind !== 'array') return { splices: [], members: [{ key: 'tools', json: `[${definition}]` }] };
  const comma = tools.items?.length === 0 ? '' : ',';
  const names = () => definitions.map((json) => nameOf(JSON.parse(json)));
  return {
    splices: [
      { start: tools.end - 1, end: tools.end - 1, with: `${comma}${definition}` },
      ...allowSplices(bytes, root, names),
    ],
    members: [],
  };
}

/**
 * Appends to the conversation of a body that was sent. Everything before stays the same, so it
 * stays in the upstream's cache.
 *
 * @param field the list of messages or items; a string becomes a list with that text as a user
 *   message
 */
export function appendTo(
  body: Uint8Array,
  field: 'messages' | 'input',
  added: readonly (object | string)[],
): LongerBody {
  const list = topField(body, field);
  if (!list) throw new Error(`a body without ${field} was sent`);
  const json = added.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(',');
  const at = list.end - 1;
  const splices =
    list.kind === 'array'
      ? [{ start: at, end: at, with: `,${json}` }]
      : wrapSplices(list, '[{"role":"user","content":', `},${json}]`);
  return { body: spliceAll(body, splices), added: json };
}

/** A body whose conversation has become longer. */
export interface LongerBody {
  readonly body: Uint8Array;
  /** The messages or items that it has more: JSON, separated by commas. */
  readonly added: string;
}
