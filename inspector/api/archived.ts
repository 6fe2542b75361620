/** The array of a request, from the archive of its conversation. */
import type { ArchivedMessage, Page, RunEvent } from './answers.ts';
import { type Client, Failure, type Named } from './client.ts';

/** The array of a request, in the field of its protocol. */
export interface RequestArray {
  readonly field: 'messages' | 'input';
  readonly messages: readonly unknown[];
  /** Of Anthropic's Messages alone. */
  readonly system?: readonly unknown[];
}

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

/** The request's array, if all of it is archived. */
export function wholeArray(
  archived: readonly unknown[],
  { messages, protocol }: Pick<RunEvent, 'messages' | 'protocol'>,
): RequestArray | undefined {
  for (let index = 0; index < messages; index++) if (archived[index] === undefined) return undefined;
  if (protocol === 'messages') return withSystem(archived);
  // A message of the Responses API may consist of several items.
  return protocol === 'responses'
    ? { field: 'input', messages: archived.flat() }
    : { field: 'messages', messages: archived };
}

/** The entries of `system` are archived as messages, before all others. */
function withSystem(archived: readonly unknown[]): RequestArray {
  const messages = archived as readonly { readonly role?: string; readonly content?: unknown }[];
  const found = messages.findIndex(({ role }) => role !== 'system');
  const first = found < 0 ? messages.length : found;
  const system = messages
    .slice(0, first)
    .flatMap(({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
  return { field: 'messages', system, messages: messages.slice(first) };
}
