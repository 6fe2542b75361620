/**
 * The outline of a view: what became of each message of the caller's array, from the request's
 * event alone.
 */
import * as z from 'zod';
import { FATES, fateOf } from '../edits/fates.ts';
import { count } from '../shapes.ts';
import { type RunEvent, runEditSchema } from './event.ts';

export const outlinedMessageSchema = z.strictObject({
  /** Index in the caller's array. */
  index: count,
  fate: z.enum(FATES),
  /** Where a message that has left the view can be fetched; null if nothing is stored of it. */
  ref: z.string().nullable(),
  /** The contents of the message that a placeholder replaces, and those that have left. */
  edits: z.array(runEditSchema.omit({ message: true })),
});

export type OutlinedMessage = z.output<typeof outlinedMessageSchema>;

/** One entry for each message of the caller's array, in its order. */
export function outlineOfRun({
  messages,
  edits,
  left_out,
}: Pick<RunEvent, 'messages' | 'edits' | 'left_out'>): OutlinedMessage[] {
  const outline = Array.from(
    { length: messages },
    (_, index): OutlinedMessage => ({ index, fate: 'kept', ref: null, edits: [] }),
  );
  for (const { from, to, fate, ref } of left_out)
    for (const message of outline.slice(from, to + 1)) Object.assign(message, { fate, ref });
  for (const { message, ...edit } of edits) {
    const edited = outline[message];
    if (!edited) continue;
    edited.edits.push(edit);
    edited.fate = fateOf(edited.edits);
  }
  return outline;
}
