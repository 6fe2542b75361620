/**
 * Parts of the answers of our own routes. The schemas of this folder are loaded when the reference
 * is asked for (`routes/site.ts`), so they import nothing that a model request runs.
 */
import * as z from 'zod';
import { count, name, refName, seconds } from '../../memory/shapes.ts';
import { milliseconds } from '../../storage/conversation/memory-schema.ts';

export { count, milliseconds, name, refName, seconds };
export const tokens = count;
/** The id of a caller's conversation or user. */
export const givenId = z.string().min(1).max(256);

/** A page of a list. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    cursor: z.string().nullable().describe('For the next page; null on the last one.'),
  });
}

/** The answer to a deletion. */
export function deletion<Kind extends string>(object: Kind, members: z.ZodRawShape = {}) {
  return z.strictObject({
    ...members,
    object: z.literal(object),
    deleted: z.boolean().describe('False while the deletion continues after a 202.'),
  });
}
