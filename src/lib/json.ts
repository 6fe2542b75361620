/** Helpers for JSON of unknown origin and shape. */

export type JsonObject = Record<string, unknown>;

/** Whether it is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object or array, else an empty object. */
export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}

/** The value if it is an array, else an empty one. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of an array as objects; none of anything else. */
export function asObjects(value: unknown): JsonObject[] {
  return asList(value).map(asObject);
}

/** The value if it is a string, else the empty string. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value if it is a number, else 0. */
export function asNumber(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Parses an object. Undefined if the text is not JSON, or no object. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

/** Parses JSON; undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON with sorted members in each object; undefined for a text that is invalid, or too deep. */
export function sortedJson(text: string): string | undefined {
  const sorted = (_: string, value: unknown): unknown =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  try {
    return JSON.stringify(JSON.parse(text), sorted);
  } catch {
    return undefined;
  }
}
