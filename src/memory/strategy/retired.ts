/**
 * What an earlier version had. For one more version it is accepted, and does nothing: a caller
 * reads so in the warning `retired`, a deployer in `GET /v1/deployment`. The next version refuses
 * the fields as unknown ones (docs/answers-and-errors.md#retired).
 */
import * as z from 'zod';

const retired = z.unknown().optional().meta({ deprecated: true });

/** Fields of `auto`: its schema has them. */
export const RETIRED_FIELDS = { condense: retired };

/** Members of `memory_report`. */
export const RETIRED_OPTIONS = { capture: retired };

/** Variables of a deployment. */
export const RETIRED_VARIABLES: readonly string[] = ['CAPTURE'];

/** Whether an object sets one of the names. Null is the default of each. */
export function setsRetired(object: Readonly<Record<string, unknown>>, names: object): boolean {
  return Object.keys(names).some((name) => (object[name] ?? null) !== null);
}
