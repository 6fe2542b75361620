/** Schemas of the table of routes. */
import type { z } from 'zod';

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A schema in zod, or one that zod has not: a part of another document, or a text. */
export type Shape = z.ZodType | JsonSchema;
