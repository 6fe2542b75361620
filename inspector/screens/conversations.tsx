/** All conversations under the key. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Conversation, ListedRun } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { count, dollars, moment, share, short } from '../parts/numbers.ts';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Word } from '../parts/text.tsx';
import { fragmentOf } from '../place.ts';
import { sparkline } from '../read/marks.ts';
import { netOf, netOfAll } from '../read/money.ts';
import { sentTokens } from '../read/sent.ts';

const STATUSES = ['', 'healthy', 'degraded', 'stuck'];

export function Conversations({ client }: { client: Client }) {
  const [status, setStatus] = useState('');
  const [search, setSearch] = useState('');
  const [pages, setPages] = useState(1);
  const loaded = useLoad(
    async (signal) => {
      const found: Conversation[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < pages; page++) {
        const read = await client.conversations(cursor, status, signal);
        found.push(...read.data);
        cursor = read.cursor;
        if (!read.has_more) break;
      }
      return { found, hasMore: cursor !== null };
    },
    [client, status, pages],
  );
  const words = search.trim().toLowerCase();
  const matches = (text: string | null): boolean => text?.toLowerCase().includes(words) ?? false;
  const wanted = loaded.value?.found.filter(
    ({ id, opening, user }) => words === '' || matches(id) || matches(opening) || matches(user),
  );
  return (
    <main>
      <h1>Conversations</h1>
      <form class="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span class="sr-only">Search by conversation or user</span>
          <input
            type="search"
            placeholder="Search by conversation or user"
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label class="field inline">
          Status
          <select value={status} onChange={({ currentTarget }) => setStatus(currentTarget.value)}>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {one || 'any'}
              </option>
            ))}
          </select>
        </label>
      </form>
      {loaded.state === 'failed' && <Failed failure={loaded.failure} />}
      {loaded.state === 'loading' && !wanted && <Loading />}
      {wanted && <List client={client} wanted={wanted} isFiltered={words !== '' || status !== ''} />}
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
  readonly wanted: readonly Conversation[];
  readonly isFiltered: boolean;
}

function List({ client, wanted, isFiltered }: ListProps) {
  if (wanted.length > 0)
    return (
      <ul class="cards">
        {wanted.map((one) => (
          <Card key={`${one.user} ${one.id} ${one.last_used_at}`} client={client} conversation={one} />
        ))}
      </ul>
    );
  if (isFiltered) return <Empty>No conversation matches.</Empty>;
  return (
    <Empty>
      <p>Nothing is kept under this key yet.</p>
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
  const { id, opening, user, status, last_used_at: at, tokens, versions } = conversation;
  const box = useRef<HTMLLIElement>(null);
  const isSeen = useSeen(box);
  const address = id ?? opening;
  const named: Named | undefined = address === null ? undefined : { id: address, user: user ?? undefined };
  const events = useLoad<readonly ListedRun[]>(
    async (signal) =>
      named && isSeen ? (await client.requests(named, null, NEWEST, signal)).data.toReversed() : [],
    [client, address, user, isSeen],
  );
  const name = id === null ? <em>not named {opening?.slice(0, 8)}</em> : <Word text={id} />;
  return (
    <li ref={box} class="card">
      <div class="card-name">
        {named ? <a href={fragmentOf({ ...named, screen: 'conversation' })}>{name}</a> : name}
        {user !== null && (
          <span class="note">
            user <Word text={user} />
          </span>
        )}
      </div>
      <Sparkline events={events.value ?? []} />
      <Figures conversation={conversation} events={events.value ?? []} />
      <div class="card-state">
        <span class={`status ${status}`}>{status}</span>
        <span class="note">
          {versions === 0 ? 'no summary' : `summary of ${count(tokens)} tokens`}, {moment(at)}
        </span>
      </div>
    </li>
  );
}

/** Net savings are those of the whole conversation, where the list has them. */
function Figures({ conversation, events }: { conversation: Conversation; events: readonly ListedRun[] }) {
  const newest = events.at(-1);
  const { came, sent, potential } = newest ? sentTokens(newest) : { came: null, sent: null, potential: null };
  const net = conversation.bill === undefined ? netOfAll(events).net : netOf(conversation);
  return (
    <dl class="figures">
      <div>
        <dt>tokens</dt>
        <dd>
          {short(came)} → {short(sent)}{' '}
          <span class="note">
            {potential === null ? share(sent, came) : `observed: would be ${short(potential)}`}
          </span>
        </dd>
      </div>
      <div>
        <dt>net savings</dt>
        <dd>{dollars(net)}</dd>
      </div>
    </dl>
  );
}

/** Tokens that came and that went up, of the newest requests. */
function Sparkline({ events }: { events: readonly ListedRun[] }) {
  const counted = events.filter(({ tokens }) => tokens !== null).map(sentTokens);
  const came = counted.map((tokens) => tokens.came ?? 0);
  const sent = counted.map((tokens) => tokens.sent ?? 0);
  const most = Math.max(...came, ...sent, 1);
  const before = sparkline(came, most);
  const after = sparkline(sent, most);
  if (before === '') return <span class="spark note">no plot yet</span>;
  return (
    <svg
      class="spark"
      viewBox="0 0 100 20"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Tokens of the newest ${counted.length} requests, before and after`}
    >
      <polyline class="before" points={before} />
      <polyline class="after" points={after} />
    </svg>
  );
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
