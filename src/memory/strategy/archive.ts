/** `archive`: whether a conversation's messages are kept, and what the model may reach of them. */
import * as z from 'zod';
import { withDefault } from '../shapes.ts';

const settings = z
  .strictObject({
    /** What the model's search may reach: this conversation, or all of its user's. */
    scope: withDefault(z.enum(['conversation', 'user']), 'conversation'),
    /** Whether the model may keep passages for all of the user's conversations. */
    writable: withDefault(z.boolean(), false),
  })
  .refine(({ scope, writable }) => !writable || scope === 'user', {
    path: ['writable'],
    message: "it needs the scope 'user', since passages are kept for all of the user's conversations",
  });

const REFUSED = 'it must be true, false, or an object of scope and writable';

/** The field of a strategy, the same in all modes. `true` means the defaults. */
export const archiveField = z.union([z.boolean(), settings], { error: REFUSED });

/** The field with its default, for modes whose strategies say all their fields. */
export const archive = archiveField.default(false);

/** What the model may reach beside its own conversation. */
export interface UserArchiveScope {
  readonly writable: boolean;
}

/** The scope in a strategy's field; undefined for the conversation alone, or for nothing. */
export function userArchiveScope(
  field: z.output<typeof archiveField> | undefined,
): UserArchiveScope | undefined {
  return typeof field === 'object' && field.scope === 'user' ? { writable: field.writable } : undefined;
}
