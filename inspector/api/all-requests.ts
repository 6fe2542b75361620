/** Reads all requests of a conversation. */
import type { ListedRun, RequestPage } from './answers.ts';
import type { Client, Named } from './client.ts';

/** Of a page. */
const PAGE = 100;

/** The requests of a conversation. */
export interface Recorded {
  /** Ascending. */
  readonly events: readonly ListedRun[];
  /** Of the newest page. */
  readonly page: Omit<RequestPage, 'data' | 'has_more' | 'cursor'>;
}

/** Shows the newest requests as soon as they are there. */
export async function allRequests(
  client: Client,
  named: Named,
  signal: AbortSignal,
  show: (part: Recorded) => void,
): Promise<Recorded> {
  const page = await client.requests(named, null, PAGE, signal);
  const newestFirst: ListedRun[] = [...page.data];
  const recorded = (): Recorded => ({ events: newestFirst.toReversed(), page });
  let next: string | null = page.has_more ? page.cursor : null;
  if (next !== null) show(recorded());
  while (next !== null) {
    const { data, has_more, cursor }: RequestPage = await client.requests(named, next, PAGE, signal);
    newestFirst.push(...data);
    next = has_more ? cursor : null;
  }
  return recorded();
}
