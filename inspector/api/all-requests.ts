/** Reads all requests of a conversation. */
import type { ListedRun, RequestPage } from './answers.ts';
import type { Client, Named } from './client.ts';

/** Of a page. */
const PAGE = 100;

/** The requests of a conversation. */
export interface Recorded {
  /** Ascending. */
  readonly events: readonly ListedRun[];
  /** Whether none of those that are kept is missing. */
  readonly isWhole: boolean;
  /** Of the newest page. */
  readonly page: Omit<RequestPage, 'data' | 'has_more' | 'cursor'>;
}

/** What is known, with the requests that have come since. */
export async function newerRequests(
  client: Client,
  named: Named,
  { events }: Recorded,
  signal: AbortSignal,
): Promise<Recorded> {
  const last = events.at(-1)?.n ?? 0;
  const newer: ListedRun[] = [];
  let page: RequestPage | undefined;
  let next: string | null = null;
  do {
    const read: RequestPage = await client.requests(named, next, PAGE, signal);
    page ??= read;
    newer.push(...read.data.filter(({ n }) => n > last));
    next = read.has_more && (read.data.at(-1)?.n ?? 0) > last + 1 ? read.cursor : null;
  } while (next !== null);
  return { events: newer.length > 0 ? [...events, ...newer.toReversed()] : events, isWhole: true, page };
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
  let next: string | null = page.has_more ? page.cursor : null;
  const recorded = (): Recorded => ({ events: newestFirst.toReversed(), isWhole: next === null, page });
  if (next !== null) show(recorded());
  while (next !== null) {
    const { data, has_more, cursor }: RequestPage = await client.requests(named, next, PAGE, signal);
    newestFirst.push(...data);
    next = has_more ? cursor : null;
  }
  return recorded();
}
