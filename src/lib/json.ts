/** JSON that others have written, and that may be none. */

/** Whether it is an object, and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object, or what is taken for an empty one. */
export function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** A text, or what is taken for an empty one. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value of a text; undefined where it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
