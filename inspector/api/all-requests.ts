/** Reads all requests of a conversation. */
import type { ListedRun, RequestPage } from './answers.ts';
import type { Client, Named } from './client.ts';
import { pagesOf } from './pages.ts';

/** Of the newest page, which is shown at once, and of each look for newer requests. */
const FIRST_PAGE = 100;

/** Of each older page: the most that the route gives, since each takes time of its own. */
const PAGE = 500;

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
  { events, page: known }: Recorded,
  signal: AbortSignal,
): Promise<Recorded> {
  const last = events.at(-1)?.n ?? 0;
  const newer: ListedRun[] = [];
  let newest: RequestPage | undefined;
  for await (const page of pagesOf((cursor) => client.requests(named, cursor, FIRST_PAGE, signal))) {
    newest ??= page;
    newer.push(...page.data.filter(({ n }) => n > last));
    if ((page.data.at(-1)?.n ?? 0) <= last + 1) break;
  }
  const all = newer.length > 0 ? [...events, ...newer.toReversed()] : events;
  return { events: all, isWhole: true, page: newest ?? known };
}

/** Shows the newest requests as soon as they are there. */
export async function allRequests(
  client: Client,
  named: Named,
  signal: AbortSignal,
  show: (part: Recorded) => void,
): Promise<Recorded> {
  const page = await client.requests(named, null, FIRST_PAGE, signal);
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
