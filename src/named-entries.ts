/** JSON objects of the configuration, whose members have names of callers. */
import { levels } from './protocol/json/outline.ts';
import { jsonOf, scanObject } from './protocol/json/spans.ts';

/**
 * The members of an object, in order. It is scanned, since `JSON.parse` hides duplicate names, and
 * records of JavaScript have none called `__proto__`.
 *
 * @returns undefined for what is no object
 */
export function namedEntries(text: string): (readonly [name: string, value: unknown])[] | undefined {
  const bytes = new TextEncoder().encode(text);
  return scanObject(bytes, levels(1))?.fields?.map(({ key, value }) => [key, jsonOf(bytes, value)] as const);
}
