/**
 * What a backup holds, as the contents of its records (`records.ts`). Times are in milliseconds
 * since 1970.
 */
import * as z from 'zod';

/** Of this format. A change that earlier versions can't read has another number. */
export const FORMAT = 1;

const head = z.object({
  type: z.literal('head'),
  format: z.number(),
  /** Random: what is put aside belongs to one backup. */
  backup: z.string(),
  /** Of Precis. */
  version: z.string(),
  at: z.number(),
});

/** A Durable Object: its class, and its name. */
const named = {
  backup: z.string(),
  of: z.enum(['tenant', 'conversation', 'user']),
  name: z.string(),
  /** When its first part was read. */
  at: z.number(),
  used: z.number().nullable(),
};

const part = z.object({ type: z.literal('part'), ...named, part: z.number(), text: z.string() });

/** All of its parts, and its objects in R2, come before. */
const whole = z.object({ type: z.literal('whole'), ...named, parts: z.number() });

/** Objects of R2, whose bytes follow one another in the attachment. */
const objects = z.object({
  type: z.literal('objects'),
  backup: z.string(),
  tenant: z.string(),
  /** The conversation that they go with; null: refs. */
  conversation: z.string().nullable(),
  at: z.number(),
  objects: z.array(
    z.object({
      name: z.string(),
      bytes: z.number(),
      uploaded: z.number(),
      metadata: z.record(z.string(), z.string()),
      /** The conversations that refer to it. */
      users: z.array(z.string()),
    }),
  ),
});

const end = z.object({ type: z.literal('end'), at: z.number(), tenants: z.number(), records: z.number() });

export const recordContent = z.discriminatedUnion('type', [head, part, whole, objects, end]);

export type RecordContent = z.output<typeof recordContent>;
export type SavedObjects = z.output<typeof objects>;
export type SavedWhole = z.output<typeof whole>;
