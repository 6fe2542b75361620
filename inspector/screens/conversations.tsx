/** The start: what the caller's requests have sent and saved, and all its conversations. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { Conversation, ListedRun, ListQuery } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { count, dollars, share, short } from '../parts/numbers.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Term } from '../parts/term.tsx';
import { Word } from '../parts/text.tsx';
import { Ago } from '../parts/time.tsx';
import { fragmentOf } from '../place.ts';
import { labelOf, STATUS_LABELS } from '../read/codes.ts';
import { sparkline } from '../read/marks.ts';
import { netOf, potentialNetOf } from '../read/money.ts';
import { sentTokens } from '../read/sent.ts';
import { visible } from '../read/visible.ts';
import { Totals } from './totals.tsx';

const STATUSES = ['', 'healthy', 'degraded', 'stuck'] as const;

/** By its value: `sort` and `order` of the list. */
const SORTS = [
  ['used desc', 'last use'],
  ['net desc', 'most saved'],
  ['net asc', 'least saved'],
  ['requests desc', 'most requests'],
  ['created desc', 'newest'],
  ['created asc', 'oldest'],
] as const;

/** After a person has stopped typing, in milliseconds. */
const TYPING_MS = 250;

export function Conversations({ client }: { client: Client }) {
  const [status, setStatus] = useState('');
  const [sorting, setSorting] = useState<string>(SORTS[0][0]);
  const [search, setSearch] = useState('');
  const [pages, setPages] = useState(1);
  const q = useSettled(search.trim(), TYPING_MS);
  const loaded = useLoad(
    async (signal) => {
      const [sort = '', order = ''] = sorting.split(' ');
      const query: ListQuery = { q, status, sort, order };
      const found: Conversation[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < pages; page++) {
        const read = await client.conversations(query, cursor, signal);
        found.push(...read.data);
        cursor = read.cursor;
        if (!read.has_more) break;
      }
      return { found, hasMore: cursor !== null };
    },
    [client, q, status, sorting, pages],
  );
  const from = <Value,>(set: (value: Value) => void, value: Value): void => {
    set(value);
    setPages(1);
  };
  const isListed = loaded.state !== 'loading' || loaded.value !== undefined;
  return (
    <main>
      <h1 class="sr-only">Conversations</h1>
      <Totals client={client} isListed={isListed} />
      <form class="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span class="sr-only">Search by conversation, user or model</span>
          <input
            type="search"
            placeholder="Search by conversation, user or model"
            maxLength={256}
            value={search}
            onInput={({ currentTarget }) => from(setSearch, currentTarget.value)}
          />
        </label>
        <label class="field inline">
          Sort by
          <select value={sorting} onChange={({ currentTarget }) => from(setSorting, currentTarget.value)}>
            {SORTS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field inline">
          Summaries
          <select value={status} onChange={({ currentTarget }) => from(setStatus, currentTarget.value)}>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {one === '' ? 'any' : STATUS_LABELS[one]}
              </option>
            ))}
          </select>
        </label>
      </form>
      {loaded.state === 'failed' && <Failed failure={loaded.failure} />}
      {loaded.state === 'loading' && !loaded.value && <Loading />}
      {loaded.value && (
        <List client={client} found={loaded.value.found} isFiltered={q !== '' || status !== ''} />
      )}
      {loaded.value?.hasMore && (
        <button type="button" class="quiet" onClick={() => setPages(pages + 1)}>
          Load more conversations
        </button>
      )}
    </main>
  );
}

interface ListProps {
  readonly client: Client;
  readonly found: readonly Conversation[];
  readonly isFiltered: boolean;
}

function List({ client, found, isFiltered }: ListProps) {
  if (found.length > 0)
    return (
      <ul class="cards">
        {found.map((one) => (
          <Card key={`${one.user} ${one.id ?? one.opening}`} client={client} conversation={one} />
        ))}
      </ul>
    );
  if (isFiltered) return <Empty>No conversation matches.</Empty>;
  return (
    <Empty>
      <p>This key has no conversations yet.</p>
      <p class="note">
        A conversation appears here after its first request with a <code>memory_strategy</code>. Data of other
        keys is never shown.
      </p>
    </Empty>
  );
}

/** How many of the newest requests a card is made of. */
const NEWEST = 60;

function Card({ client, conversation }: { client: Client; conversation: Conversation }) {
  const {
    id,
    opening,
    user,
    status,
    model,
    requests,
    last_request_at: at,
    last_used_at: used,
  } = conversation;
  const box = useRef<HTMLLIElement>(null);
  const isSeen = useSeen(box);
  const address = id ?? opening;
  const named: Named | undefined = address === null ? undefined : { id: address, user: user ?? undefined };
  const events = useLoad<readonly ListedRun[]>(
    async (signal) =>
      named && isSeen ? (await client.requests(named, null, NEWEST, signal)).data.toReversed() : [],
    [client, address, user, isSeen],
  );
  const newest = events.value ?? [];
  const name = id === null ? <em>not named {opening?.slice(0, 8)}</em> : <Word text={id} />;
  return (
    <li ref={box} class={`card${newest.at(-1)?.observed ? ' observed' : ''}`}>
      <div class="card-name">
        {named ? (
          <a
            href={fragmentOf({ ...named, screen: 'conversation' })}
            title={id === null ? undefined : visible(id)}
          >
            {name}
          </a>
        ) : (
          name
        )}
        <span class="note">
          {user !== null && (
            <>
              user <Word text={user} />,{' '}
            </>
          )}
          {model === null ? 'no model' : <Word text={model} />}
        </span>
        {status !== 'healthy' && <span class={`status ${status}`}>{labelOf(STATUS_LABELS, status)}</span>}
      </div>
      <Sparkline events={newest} />
      <Figures conversation={conversation} events={newest} />
      <div class="card-use">
        <span>
          {count(requests)} {requests === 1 ? 'request' : 'requests'}
        </span>
        <span class="note">
          <Ago at={at ?? used} />
        </span>
      </div>
    </li>
  );
}

function Figures({ conversation, events }: { conversation: Conversation; events: readonly ListedRun[] }) {
  const newest = events.at(-1);
  const { came, sent, potential } = newest ? sentTokens(newest) : { came: null, sent: null, potential: null };
  const net = netOf(conversation);
  return (
    <dl class="figures">
      <div>
        <dt>newest request</dt>
        <dd>
          <Tokens came={came} sent={potential ?? sent} isPotential={potential !== null} events={events} />
        </dd>
      </div>
      {newest?.observed ? (
        <div class="money">
          <dt>
            <Term of="potential" />
          </dt>
          <dd>{dollars(potentialNetOf(events).net)}</dd>
        </div>
      ) : (
        <div class="money">
          <dt>
            <Term of="net" />
          </dt>
          <dd class={net !== undefined && net > 0 ? 'saved' : undefined}>{dollars(net)}</dd>
        </div>
      )}
    </dl>
  );
}

interface TokensProps {
  readonly came: number | null;
  readonly sent: number | null;
  readonly isPotential: boolean;
  readonly events: readonly ListedRun[];
}

/** Tokens that came and were sent, or would be. A short request is not counted. */
function Tokens({ came, sent, isPotential, events }: TokensProps) {
  const newest = events.at(-1);
  if (newest && newest.status >= 400) return <span class="fails">{failedWords(newest)}</span>;
  if (came === null || sent === null)
    return <span class="note">{newest ? 'short: sent unchanged' : ''}</span>;
  if (came === sent && !isPotential)
    return (
      <>
        {short(came)} <span class="note">sent unchanged</span>
      </>
    );
  return (
    <>
      {short(came)} → {short(sent)}{' '}
      <span class="note">{isPotential ? 'only observed' : share(sent, came)}</span>
    </>
  );
}

function failedWords(event: ListedRun): string {
  return `${isUnsent(event) ? 'refused' : 'failed'}: ${event.status}`;
}

/** Tokens that came and that were sent, of the newest requests. */
function Sparkline({ events }: { events: readonly ListedRun[] }) {
  const counted = events.filter(({ tokens }) => tokens !== null).map(sentTokens);
  const came = counted.map((tokens) => tokens.came ?? 0);
  const sent = counted.map((tokens) => tokens.potential ?? tokens.sent ?? 0);
  const most = Math.max(...came, ...sent, 1);
  const before = sparkline(came, most);
  const after = sparkline(sent, most);
  if (before === '') return <span class="spark" />;
  return (
    <svg
      class="spark"
      viewBox="0 0 100 20"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Tokens of the newest ${counted.length} requests: those that came in, and those that were sent`}
    >
      <polyline class="before" points={before} />
      <polyline class="after" points={after} />
    </svg>
  );
}

/** A value that has not changed for a while. */
function useSettled<Value>(value: Value, ms: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Whether an element has come into sight. */
function useSeen(element: { current: Element | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (!current || isSeen) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, [element, isSeen]);
  return isSeen;
}
