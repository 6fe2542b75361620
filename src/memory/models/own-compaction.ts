/** Which models' API compacts a conversation, on demand or within a request. */
import { baseName, claude, rowOfModel, rows } from './families.ts';

/**
 * Families of models with Anthropic's compaction on demand
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, "Compatibility",
 * read 2026-11). A newer minor version is taken to have what its family has: if it does not, it
 * refuses one request, and a summary by Precis replaces the block.
 */
const ROWS = rows(
  claude(['fable-5', 'mythos', 'opus-4.6', 'opus-4.7', 'opus-4.8', 'opus-5', 'sonnet-4.6', 'sonnet-5']),
  {},
);

/** @param model its name, as it is sent */
export function summarizesOnDemand(model: string | undefined): boolean {
  return rowOfModel(model, ROWS) !== undefined;
}

/**
 * Whether its API may compact within a request (`context_management`). xAI's has a call of its own,
 * and ignores the field without an error (docs/vendors.md#a-vendors-own-compaction).
 */
export function mayCompactItself(model: string | undefined): boolean {
  return model === undefined || !baseName(model).startsWith('grok');
}
