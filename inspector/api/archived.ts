/** The messages of a conversation, from its archive. */
import type { ArchivedMessage, Page } from './answers.ts';
import type { Client, Named } from './client.ts';
import { missing } from './connection.ts';
import { pagesOf } from './pages.ts';

/** Without an archive nothing is found, and the page says how to get one. */
const NONE: Page<ArchivedMessage> = { data: [], has_more: false, cursor: null };

/**
 * The archived messages by their indices; empty without an archive. Where a message was edited the
 * newest version counts, since the archive does not say which request had which.
 *
 * @param show takes what is there so far
 */
export async function archivedMessages(
  client: Client,
  named: Named,
  length: number,
  signal: AbortSignal,
  show: (part: readonly unknown[]) => void,
): Promise<readonly unknown[]> {
  const contents: unknown[] = [];
  const read = (cursor: string | null): Promise<Page<ArchivedMessage>> =>
    client.messages(named, cursor, signal).catch(missing(NONE));
  for await (const { data } of pagesOf(read)) {
    for (const { position, message } of data)
      if (position < length) contents[position] = message ?? undefined;
    show([...contents]);
  }
  return contents;
}
