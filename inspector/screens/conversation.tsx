/** A conversation: its requests as a plot and as a list, and its summaries. */
import { useMemo, useState } from 'preact/hooks';
import { isNotice } from '../../src/memory/plan/notices.ts';
import type { ConversationMemory, ListedRun, RequestPage } from '../api/answers.ts';
import { type Client, Failure, type Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { count, dollars, moment, share, short } from '../parts/numbers.ts';
import { Plot } from '../parts/plot.tsx';
import { Empty, Failed, Of } from '../parts/states.tsx';
import { Word } from '../parts/text.tsx';
import { VersionDialog } from '../parts/version-dialog.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { fragmentOf } from '../place.ts';
import { plotOf } from '../read/marks.ts';
import { netOf, netOfAll, netOfSums, potentialBillOf, potentialNetOf } from '../read/money.ts';
import { sentSums, sentTokens } from '../read/sent.ts';

/** Of a page of requests. */
const PAGE = 100;

interface Props {
  readonly client: Client;
  readonly named: Named;
  readonly onRef: (ref: string) => void;
}

export function ConversationScreen({ client, named, onRef }: Props) {
  const { id, user } = named;
  const requests = useLoad<Recorded>(
    (signal, show) => allRequests(client, named, signal, show),
    [client, id, user],
  );
  const memory = useLoad((signal) => memoryOf(client, named, signal), [client, id, user]);
  const [isOpen, setOpen] = useState(false);
  const versions = memory.value?.memories ?? [];
  return (
    <main>
      <nav class="crumbs" aria-label="Where this is">
        <a href={fragmentOf({ screen: 'conversations' })}>Conversations</a>
      </nav>
      <h1>
        <Word text={id} />
        {user !== undefined && (
          <small>
            {' '}
            of user <Word text={user} />
          </small>
        )}
      </h1>
      <Of loaded={requests}>
        {(recorded) =>
          recorded.events.length > 0 ? <Requests recorded={recorded} named={named} /> : <NoRequests />
        }
      </Of>
      <h2>Summaries</h2>
      {memory.state === 'failed' && <Failed failure={memory.failure} />}
      {memory.value && versions.length === 0 && <Empty>No summary has been made of this conversation.</Empty>}
      {versions.length > 0 && (
        <p>
          {count(versions.length)} versions, the newest of {count(versions[0]?.tokens)} tokens; the summarizer
          is {memory.value?.health}.{' '}
          <button type="button" onClick={() => setOpen(true)}>
            Read them
          </button>
        </p>
      )}
      {isOpen && (
        <VersionDialog versions={versions} first={null} onRef={onRef} onClose={() => setOpen(false)} />
      )}
    </main>
  );
}

function NoRequests() {
  return (
    <Empty>
      <p>No request is recorded.</p>
      <p class="note">
        Requests are recorded after their answers, unless the deployment sets <code>EVENTS=off</code>.
      </p>
    </Empty>
  );
}

/** A conversation that its caller has not named has no route for its memory. */
async function memoryOf(client: Client, named: Named, signal: AbortSignal): Promise<ConversationMemory> {
  try {
    return await client.memory(named, signal);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) throw error;
    return { memory_strategy: null, health: 'n/a', memories: [] };
  }
}

/** The requests of a conversation. */
interface Recorded {
  /** Ascending. */
  readonly events: readonly ListedRun[];
  /** Of the newest page. */
  readonly page: Omit<RequestPage, 'data' | 'has_more' | 'cursor'>;
}

/** Shows the newest requests as soon as they are there. */
async function allRequests(
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

/** In pixels. */
const ROW_HEIGHT = 44;
const LIST_HEIGHT = 440;

function Requests({ recorded, named }: { recorded: Recorded; named: Named }) {
  const { events } = recorded;
  const [current, setCurrent] = useState<number>();
  const data = useMemo(() => plotOf(events), [events]);
  const newestFirst = useMemo(() => events.toReversed(), [events]);
  const open = (at: number): void => {
    const event = events[at];
    if (event) location.hash = fragmentOf({ ...named, screen: 'request', n: event.n });
  };
  return (
    <>
      <Totals recorded={recorded} />
      <Plot data={data} events={events} current={current} onCurrent={setCurrent} onOpen={open} />
      <h2>Requests</h2>
      <p class="note">{standing(recorded.page)}</p>
      <VirtualList
        label={`${events.length} requests, newest first`}
        items={newestFirst}
        rowHeight={ROW_HEIGHT}
        height={LIST_HEIGHT}
        keyOf={({ n }) => n}
        current={current === undefined ? undefined : events.length - 1 - current}
        row={(event) => <RequestRow event={event} named={named} />}
      />
    </>
  );
}

/** What the list may lack. */
function standing({ behind_ms, lost }: Recorded['page']): string {
  const behind = `Up to ${count(behind_ms / 1_000)} seconds behind.`;
  return lost === 0 ? behind : `${behind} The events of ${count(lost)} requests were lost.`;
}

function RequestRow({ event, named }: { event: ListedRun; named: Named }) {
  const { n, created_at: at, mode, frontier, summary, warnings, status, observed } = event;
  const { came, sent } = sentTokens(event);
  return (
    <a class="request-row" href={fragmentOf({ ...named, screen: 'request', n })}>
      <span class="index">{n}</span>
      <span class="when">{moment(at)}</span>
      <span class="mode">{mode}</span>
      <span class="tokens">
        {short(came)} → {short(sent)}
      </span>
      <span class="net">{dollars(netOf(event))}</span>
      <span class="tags">
        {observed && <span class="tag observed">{potentialWords(event)}</span>}
        {frontier.moved && !observed && <span class="tag move">moved</span>}
        {summary && !observed && <span class="tag summary">summary</span>}
        {warnings.length > 0 && (
          <span class={`tag ${warnings.every(isNotice) ? 'notice' : 'warning'}`}>
            {warnings.length === 1 ? warnings[0] : `${warnings.length} warnings`}
          </span>
        )}
        {status >= 400 && <span class="tag failed">{status}</span>}
      </span>
    </a>
  );
}

/** What an observed request would have sent and saved. */
function potentialWords(event: ListedRun): string {
  const { potential } = sentTokens(event);
  const net = potentialBillOf(event)?.net;
  if (potential === null) return 'only observed';
  return `would be ${short(potential)}${net === undefined ? '' : `, saving ${dollars(net)}`}`;
}

function Totals({ recorded }: { recorded: Recorded }) {
  const { events } = recorded;
  const { bill } = recorded.page;
  const sums = sentSums(events);
  const observed = events.filter((event) => event.observed);
  const used = events.flatMap(({ usage }) => (usage?.cached == null || usage.input == null ? [] : [usage]));
  const cached = used.reduce((total, usage) => total + (usage.cached ?? 0), 0);
  const input = used.reduce((total, usage) => total + (usage.input ?? 0), 0);
  const { net, known } = bill === undefined ? netOfAll(events) : netOfSums({ bill });
  const potential = potentialNetOf(observed);
  return (
    <dl class="figures totals">
      <div>
        <dt>requests</dt>
        <dd>{count(events.length)}</dd>
      </div>
      <div>
        <dt>tokens sent, of those that came</dt>
        <dd>
          {share(sums?.sent, sums?.came)}{' '}
          <span class="note">{sums ? `${short(sums.sent)} of ${short(sums.came)}` : ''}</span>
        </dd>
      </div>
      {observed.length > 0 && (
        <>
          <div>
            <dt>would be sent, of {count(observed.length)} observed requests</dt>
            <dd>
              {share(sums?.observed.potential, sums?.observed.came)}{' '}
              <span class="note">
                {sums ? `${short(sums.observed.potential)} of ${short(sums.observed.came)}` : ''}
              </span>
            </dd>
          </div>
          <div>
            <dt>
              potential savings
              {potential.known > 0 && potential.known < observed.length
                ? ` of ${count(potential.known)} requests`
                : ''}
            </dt>
            <dd>{dollars(potential.net)}</dd>
          </div>
        </>
      )}
      <div>
        <dt>read from the cache, of the upstream's input</dt>
        <dd>{used.length > 0 ? share(cached, input) : 'n/a'}</dd>
      </div>
      <div>
        <dt>net savings{known > 0 && known < events.length ? ` of ${count(known)} requests` : ''}</dt>
        <dd>{dollars(net)}</dd>
      </div>
      <div>
        <dt>moves of the frontier</dt>
        <dd>{count(events.filter((event) => event.frontier.moved && !event.observed).length)}</dd>
      </div>
    </dl>
  );
}
