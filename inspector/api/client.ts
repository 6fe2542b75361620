/** Asks the routes of callers, as a caller. */
import type {
  ArchivedMessage,
  Conversation,
  ConversationMemory,
  DeploymentFacts,
  Explained,
  ListQuery,
  Page,
  RequestPage,
  RunEvent,
  ShownEdits,
  StatsByDay,
  StatsComparison,
} from './answers.ts';
import { bearer, Connection, type Credentials } from './connection.ts';

export interface Named {
  readonly id: string;
  readonly user: string | undefined;
}

/** The content of a ref, or the part of it that was asked for. */
export interface RefContent {
  readonly text: string;
  /** Of the whole content in bytes; undefined for the answer to a search. */
  readonly size: number | undefined;
  readonly facts: Readonly<Record<string, string | number | null>>;
  /** Whether there is more than `text`. */
  readonly isCut: boolean;
}

export interface Health {
  readonly isHealthy: boolean;
  readonly word: string;
}

/** In bytes. More of a content is fetched when somebody asks for it. */
const PIECE = 128 * 1024;

export class Client {
  /** Whether a person has entered a key. False where callers without a key are served. */
  readonly hasKey: boolean;
  private readonly worker: Connection;

  /** @param credentials of a caller; absent for one without a key */
  constructor(credentials?: Credentials) {
    this.hasKey = credentials !== undefined;
    this.worker = new Connection(credentials ?? (() => ({})));
  }

  deployment(signal?: AbortSignal): Promise<DeploymentFacts> {
    return this.worker.json('v1/deployment', { signal });
  }

  /** Its word is read from a failing answer too. */
  async health(signal: AbortSignal): Promise<Health> {
    const response = await this.worker.asked('healthz', { signal });
    const body: unknown = await response.json().catch(() => undefined);
    const { status } = Object(body) as { status?: unknown };
    return { isHealthy: response.ok, word: typeof status === 'string' ? status : `${response.status}` };
  }

  /** @param token the operator's, which is sent in place of the key */
  async metrics(token: string, signal: AbortSignal): Promise<string> {
    return (await new Connection(() => bearer(token)).response('metrics', { signal })).text();
  }

  conversations(query: ListQuery, cursor: string | null, signal: AbortSignal): Promise<Page<Conversation>> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries({ limit: '50', ...query, cursor: cursor ?? '' }))
      if (value !== '') parameters.set(name, value);
    return this.worker.json(`v1/conversations?${parameters}`, { signal });
  }

  /** What was sent and cost on each of the last days. */
  days(count: number, signal: AbortSignal): Promise<StatsByDay> {
    return this.worker.json(`v1/stats?days=${count}`, { signal });
  }

  /** Both sides of the strategies on trial in the last days. */
  comparison(days: number, signal: AbortSignal): Promise<StatsComparison> {
    return this.worker.json(`v1/stats/comparison?days=${days}`, { signal });
  }

  /** Of the last days, in sentences. */
  async summary(days: number): Promise<string> {
    const headers = { accept: 'text/plain' };
    return (await (await this.worker.response(`v1/stats/summary?days=${days}`, { headers })).text()).trim();
  }

  async summaryPicture(days: number): Promise<Blob> {
    return (await this.worker.response(`v1/stats/summary.svg?days=${days}`, {})).blob();
  }

  memory(named: Named, signal: AbortSignal): Promise<ConversationMemory> {
    return this.worker.json(pathOf(named, 'memory'), { signal });
  }

  /** @returns false while the rest is deleted in the background */
  async delete(named: Named): Promise<boolean> {
    const answer = await this.worker.json<{ deleted: boolean }>(pathOf(named, 'memory'), {
      method: 'DELETE',
    });
    return answer.deleted;
  }

  messages(named: Named, cursor: string | null, signal: AbortSignal): Promise<Page<ArchivedMessage>> {
    return this.worker.json(pathOf(named, 'messages', { limit: '100', cursor }), { signal });
  }

  /** Newest first. */
  requests(named: Named, cursor: string | null, limit: number, signal: AbortSignal): Promise<RequestPage> {
    return this.worker.json(pathOf(named, 'requests', { limit: String(limit), cursor }), { signal });
  }

  request(named: Named, n: number, signal: AbortSignal): Promise<RunEvent> {
    return this.worker.json(pathOf(named, `requests/${n}`), { signal });
  }

  explain(body: object, signal: AbortSignal): Promise<Explained> {
    return this.post('v1/explain', body, signal);
  }

  /** The first `pieces` pieces of a content. */
  async ref(ref: string, pieces: number, signal: AbortSignal): Promise<RefContent> {
    const range = `bytes=0-${pieces * PIECE - 1}`;
    const response = await this.worker.response(`v1/refs/${encodeURIComponent(ref)}`, {
      signal,
      headers: { range },
    });
    const total = Number(/\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN);
    const text = await response.text();
    const size = Number.isNaN(total) ? new TextEncoder().encode(text).length : total;
    return { text, size, facts: factsIn(response), isCut: size > pieces * PIECE };
  }

  /**
   * What a request's view had instead of each edited content.
   *
   * @param array of the request, in the field of its protocol
   */
  shownEdits(named: Named, n: number, array: object, signal: AbortSignal): Promise<ShownEdits> {
    return this.post(pathOf(named, `requests/${n}/view`), array, signal);
  }

  /** The lines of a content that contain a text, with two lines around each. */
  async refSearch(ref: string, wanted: string, signal: AbortSignal): Promise<RefContent> {
    const query = new URLSearchParams({ grep: wanted, context: '2' });
    const response = await this.worker.response(`v1/refs/${encodeURIComponent(ref)}?${query}`, { signal });
    const isCut = response.headers.has('x-memory-truncated');
    return { text: await response.text(), size: undefined, facts: {}, isCut };
  }

  /** Only bodies of Messages have a `system`. A header says so to the routes of any protocol. */
  private post<Answer>(path: string, body: object, signal: AbortSignal): Promise<Answer> {
    const headers: HeadersInit = 'system' in body ? { 'anthropic-version': '2023-06-01' } : {};
    return this.worker.json(path, { signal, method: 'POST', headers, body });
  }
}

/** A conversation's path, with the user and other parameters that are set. */
function pathOf(
  { id, user }: Named,
  route: string,
  parameters: Readonly<Record<string, string | null>> = {},
): string {
  const query = new URLSearchParams();
  if (user !== undefined) query.set('user', user);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) query.set(name, value);
  return `v1/conversations/${encodeURIComponent(id)}/${route}${query.size > 0 ? `?${query}` : ''}`;
}

function factsIn(response: Response): RefContent['facts'] {
  const header = response.headers.get('x-memory-ref');
  return header === null ? {} : (JSON.parse(header) as RefContent['facts']);
}
