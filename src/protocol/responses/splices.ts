/** Edits of the upstream's `response` objects and of events with one, in their original bytes. */

import { type JsonSpan, levels, type Outline } from '../json/outline.ts';
import { cutMembers, fieldOf, type Splice, scanObject, spliceAll, stringIn } from '../json/spans.ts';

const MOST_FIELDS = 1_000;

/** A response with its tools. */
export const RESPONSE: Outline = {
  fields: new Map([['tools', { items: levels(1) }]]),
  others: {},
  most: MOST_FIELDS,
};

/** An event with or without a response. */
const EVENT: Outline = { fields: new Map([['response', RESPONSE]]), others: {}, most: MOST_FIELDS };

/** New values of fields; undefined keeps the old one. Fields that are absent are not added. */
export type Changes = Readonly<Record<string, unknown>>;

/** Splices that change a response and cut our tools from it. @param names of our tools */
export function responseSplices(
  bytes: Uint8Array,
  response: JsonSpan,
  names: ReadonlySet<string>,
  changes: Changes = {},
): Splice[] {
  const tools = fieldOf(response, 'tools')?.items ?? [];
  const cut = cutMembers(tools, (index) => isNamed(bytes, tools[index], names));
  return [...fieldSplices(response, changes), ...cut];
}

/**
 * An event with other values.
 *
 * @param changes of the event's own fields
 * @param inner of its response's fields
 * @returns undefined if nothing changes
 */
export function changedEvent(
  data: string,
  names: ReadonlySet<string>,
  changes: Changes,
  inner: Changes = {},
): string | undefined {
  const bytes = new TextEncoder().encode(data);
  const event = scanObject(bytes, EVENT);
  const response = event && fieldOf(event, 'response');
  const splices = [
    ...(event ? fieldSplices(event, changes) : []),
    ...(response?.kind === 'object' ? responseSplices(bytes, response, names, inner) : []),
  ];
  if (splices.length === 0) return undefined;
  return new TextDecoder().decode(spliceAll(bytes, splices));
}

function fieldSplices(object: JsonSpan, changes: Changes): Splice[] {
  return Object.entries(changes).flatMap(([key, value]) => {
    const field = value === undefined ? undefined : fieldOf(object, key);
    return field ? [{ start: field.start, end: field.end, with: JSON.stringify(value) }] : [];
  });
}

function isNamed(bytes: Uint8Array, tool: JsonSpan | undefined, names: ReadonlySet<string>): boolean {
  if (!tool || stringIn(bytes, tool, 'type') !== 'function') return false;
  return names.has(stringIn(bytes, tool, 'name') ?? '');
}
