/** The arguments of a tool's call, as a model writes them. */
import { z } from 'zod';
import type { Result } from '../lib/result.ts';

/** A text that may be left out: models send null, and an empty text, for what they leave out. */
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => value || undefined);

/**
 * Reads arguments.
 *
 * @param form what they have to be, for a model that got them wrong
 * @returns else what the model is told
 */
export function parseArguments<Schema extends z.ZodType>(
  json: string,
  schema: Schema,
  form: string,
): Result<z.output<Schema>, string> {
  const again = `Call again with ${form}.`;
  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch {
    return { ok: false, reason: `The arguments are not JSON. ${again}` };
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  const field = parsed.error.issues[0]?.path.join('.') || 'arguments';
  return { ok: false, reason: `${field} is not valid. ${again}` };
}
