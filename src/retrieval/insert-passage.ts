/**
 * The tool with which a model keeps a passage for all conversations of its user: definition,
 * arguments, results. Its name and argument are Letta's archival memory
 * (https://docs.letta.com/guides/agents/archival-memory).
 */
import * as z from 'zod';
import { within } from '../lib/time-limit.ts';
import { charactersIn } from '../memory/strategy/memory-blocks.ts';
import { type FunctionTool, functionTool } from '../protocol/tools.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { parseArguments } from './arguments.ts';

/** The tool's names. The second is for callers with a tool of the first name. */
export const INSERT_NAMES = ['archive_insert', 'precis_archive_insert'] as const;

type InsertName = (typeof INSERT_NAMES)[number];

/** In characters. */
const LONGEST_PASSAGE = 5_000;

/** Passages of one user. */
export const MOST_PASSAGES = 1_000;

export function insertDefinitionOf(name: InsertName): FunctionTool<InsertName> {
  return functionTool(
    name,
    `Keeps a passage that later conversations with this user can find by the search of memory in the scope user. Write it so that it can be understood alone. A passage has at most ${LONGEST_PASSAGE} characters.`,
    { content: { type: 'string', description: 'The passage to keep' } },
    ['content'],
  );
}

export type Inserted = 'kept' | 'known' | 'too_many';

const schema = z.object({ content: z.string().trim().min(1) });

/**
 * The result of a model's call. Never throws.
 *
 * @param insert keeps the passage. @throws if storage fails
 * @param failed logs why it was not kept
 */
export async function answerInsert(
  args: string,
  insert: (passage: string) => Promise<Inserted>,
  failed: (error: unknown) => void,
): Promise<string> {
  const parsed = parseArguments(args, schema, '{"content": "…"}');
  if (!parsed.ok) return parsed.reason;
  const passage = parsed.value.content.toWellFormed();
  const characters = charactersIn(passage);
  if (characters > LONGEST_PASSAGE)
    return `The passage has ${characters} characters, and may have ${LONGEST_PASSAGE}. Keep less of it, or several passages.`;
  try {
    return RESULTS[await within(TIME_LIMITS.toolStorageMs, insert(passage))];
  } catch (error) {
    failed(error);
    return 'Storage does not answer at the moment. The passage may not be kept; say so if it matters.';
  }
}

const RESULTS: Readonly<Record<Inserted, string>> = {
  kept: 'Kept.',
  known: 'This passage is kept already.',
  too_many: `There are ${MOST_PASSAGES} passages of this user, which is the limit. Nothing was kept.`,
};
