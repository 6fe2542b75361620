/** The arguments of a tool call, as a model writes them. */

import * as z from 'zod';
import { parseJson } from '../lib/json.ts';
import type { Result } from '../lib/result.ts';

/** An optional string. Models send null or an empty string for it, too. */
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => value || undefined);

/** For clients without a conversation, which name it in each call. */
export const CONVERSATION_PROPERTIES = {
  conversation_id: {
    type: 'string',
    description: 'The conversation; may be left out where the header x-conversation-id names it',
  },
  user: {
    type: 'string',
    description: 'The user whose conversation it is, where its requests name one',
  },
} as const;

/** What these properties are in the arguments of a call. */
export const conversationNames = { conversation_id: optionalText, user: optionalText };

/** Arguments with the name that the code has for its id. */
export function withConversation<Given extends { conversation_id: string | undefined }>({
  conversation_id: conversation,
  ...rest
}: Given) {
  return { ...rest, conversation };
}

/**
 * Parses arguments.
 *
 * @param form describes the right arguments, for the error
 * @returns the arguments, or the error for the model
 */
export function parseArguments<Schema extends z.ZodType>(
  json: string,
  schema: Schema,
  form: string,
): Result<z.output<Schema>, string> {
  const again = `Call again with ${form}.`;
  const given = parseJson(json);
  if (given === undefined) return { ok: false, reason: `The arguments are not JSON. ${again}` };
  const parsed = schema.safeParse(given);
  if (parsed.success) return { ok: true, value: parsed.data };
  const field = parsed.error.issues[0]?.path.join('.') || 'arguments';
  return { ok: false, reason: `${field} is not valid. ${again}` };
}
