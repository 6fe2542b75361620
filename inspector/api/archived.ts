/** The messages of a conversation, from its archive. */
import type { ArchivedMessage, Page } from './answers.ts';
import type { Client, Named } from './client.ts';
import { Failure } from './connection.ts';

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
  let cursor: string | null = null;
  do {
    const page: Page<ArchivedMessage> | undefined = await client
      .messages(named, cursor, signal)
      .catch((error: unknown) => {
        // Without an archive nothing is found, and the page says how to get one.
        if (error instanceof Failure && error.status === 404) return undefined;
        throw error;
      });
    for (const { position, message } of page?.data ?? [])
      if (position < length) contents[position] = message ?? undefined;
    show([...contents]);
    cursor = page?.has_more ? page.cursor : null;
  } while (cursor !== null);
  return contents;
}
