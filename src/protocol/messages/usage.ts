/** The usage of one answer, which a stream tells in several events. */
import { isObject, type JsonObject } from '../../lib/json.ts';
import type { Usage } from '../answers/usage.ts';

/**
 * The usage so far with that of a further event. All counts are those of the whole answer, and an
 * event leaves out, or has as null, what it does not know.
 */
export function usageWith(known: Usage | undefined, told: unknown): Usage | undefined {
  if (!isObject(told)) return known;
  const said: JsonObject = { ...known };
  for (const [key, value] of Object.entries(told)) said[key] = value ?? said[key] ?? null;
  return said;
}
