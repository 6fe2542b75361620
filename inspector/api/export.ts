/** All that the Worker has of conversations, as one file. */

import { allRequests } from './all-requests.ts';
import type { ArchivedMessage } from './answers.ts';
import type { Client, Named } from './client.ts';
import { missing } from './connection.ts';
import { pagesOf } from './pages.ts';

/** @param step is called with how many are read */
export async function exported(
  client: Client,
  chosen: readonly Named[],
  step: (done: number) => void,
): Promise<Blob> {
  const { signal } = new AbortController();
  const conversations: object[] = [];
  for (const named of chosen) {
    const { events, page } = await allRequests(client, named, signal, () => undefined);
    // One without a name has no memory, and one without an archive no messages.
    const memory = await client.memory(named, signal).catch(missing(null));
    const messages = await allMessages(client, named, signal).catch(missing(null));
    conversations.push({ ...named, bill: page.bill, memory, requests: events, messages });
    step(conversations.length);
  }
  const file = { object: 'precis.export', exported_at: new Date().toISOString(), conversations };
  return new Blob([JSON.stringify(file, undefined, 1)], { type: 'application/json' });
}

async function allMessages(
  client: Client,
  named: Named,
  signal: AbortSignal,
): Promise<readonly ArchivedMessage[]> {
  const messages: ArchivedMessage[] = [];
  for await (const { data } of pagesOf((cursor) => client.messages(named, cursor, signal)))
    messages.push(...data);
  return messages;
}

/** Hands a file to the browser, which asks where to or puts it with the downloads. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
