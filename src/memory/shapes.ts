/** Schemas that several shapes are made of. */
import * as z from 'zod';

/** Names a schema: the reference lists it by this id, and refers to it. */
export function name(schema: z.ZodType, id: string): void {
  z.globalRegistry.add(schema, { id });
}

/** A member of a setting whose default is also what null means. */
export function withDefault<Schema extends z.ZodType>(schema: Schema, usual: z.output<Schema>) {
  return schema.nullish().transform((given) => given ?? usual);
}

export const count = z.int().nonnegative();
/** A time. The limit is in the year 5138, or in 1973 if it were in milliseconds. */
export const seconds = count.max(99_999_999_999).describe('Seconds since 1970.');
/** A SHA-256. */
export const hash = z.string().regex(/^[0-9a-f]{64}$/);
export const refName = z.string().regex(/^ref_[a-z2-7]{26}$/);
