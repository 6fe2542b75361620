/** A conversation: what it has cost, its requests as a plot and as a list, and its summaries. */
import { useMemo, useState } from 'preact/hooks';
import { allRequests, newerRequests, type Recorded } from '../api/all-requests.ts';
import type { Version } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { missing } from '../api/connection.ts';
import { type Loaded, useLive, useLoad } from '../api/use-load.ts';
import { ConversationActions } from '../parts/conversation-actions.tsx';
import { late } from '../parts/late.tsx';
import { count, dollars } from '../parts/numbers.ts';
import { Empty, Failed, Of } from '../parts/states.tsx';
import { Term } from '../parts/term.tsx';
import { Word } from '../parts/text.tsx';
import { VersionDialog } from '../parts/version-dialog.tsx';
import { fragmentOf } from '../place.ts';
import { HEALTH_LABELS, labelOf } from '../read/codes.ts';
import { hasLine, plotOf } from '../read/marks.ts';
import { amountsOf, inDollars } from '../read/money.ts';
import { paybacksOf, summariesApart } from '../read/savings.ts';
import { openingName } from '../read/titles.ts';
import { ConversationHead } from './conversation-head.tsx';
import { RequestList } from './request-list.tsx';

const Plot = late(
  async () => (await import('../parts/plot.tsx')).Plot,
  (state) => <div class="plot waiting">{state}</div>,
);

interface Props {
  readonly client: Client;
  readonly named: Named;
  readonly onRef: (ref: string) => void;
}

export function ConversationScreen({ client, named, onRef }: Props) {
  const { id, user } = named;
  const requests = useLoad<Recorded>(
    (signal, show, before) =>
      before?.isWhole
        ? newerRequests(client, named, before, signal)
        : allRequests(client, named, signal, show),
    [client, id, user],
  );
  useLive(requests);
  const memory = useLoad(
    (signal) => client.memory(named, signal).catch(missing(NO_MEMORY)),
    [client, id, user],
  );
  return (
    <main>
      <nav class="crumbs" aria-label="Where this is">
        <a href={fragmentOf({ screen: 'conversations' })}>Conversations</a>
      </nav>
      <header class="titled">
        <h1>
          <Word text={openingName(id) ?? id} />
          {user !== undefined && (
            <small>
              {' '}
              of user <Word text={user} />
            </small>
          )}
        </h1>
        {requests.value && openingName(id) === undefined && (
          <div class="actions">
            <TryLink recorded={requests.value} named={named} />
            <ConversationActions client={client} chosen={[named]} onDeleted={leave} />
          </div>
        )}
      </header>
      {isMissing(requests) ? (
        <NotFound />
      ) : (
        <>
          <Of loaded={requests} lines={8} what="The requests">
            {(recorded) =>
              recorded.events.length > 0 ? (
                <Requests recorded={recorded} named={named} isReading={requests.state === 'loading'} />
              ) : (
                <NoRequests />
              )
            }
          </Of>
          <Summaries memory={memory} onRef={onRef} />
        </>
      )}
    </main>
  );
}

/** What another strategy would have cost, from its newest request on. */
function TryLink({ recorded: { events }, named }: { recorded: Recorded; named: Named }) {
  const newest = events.at(-1)?.n;
  if (newest === undefined) return null;
  const href = fragmentOf({ ...named, screen: 'try-request', n: newest });
  return (
    <a class="button" title="From the archive; without one, paste the messages there" href={href}>
      Try another strategy
    </a>
  );
}

function leave(): void {
  location.hash = fragmentOf({ screen: 'conversations' });
}

function isMissing(loaded: Loaded<unknown>): boolean {
  return loaded.state === 'failed' && loaded.failure.status === 404 && loaded.value === undefined;
}

function NotFound() {
  return (
    <div class="state failed" role="alert">
      <p>Your key has no such conversation.</p>
      <ul>
        <li>It may belong to another key, or to the callers without their own key.</li>
        <li>
          It may belong to a user: then its address ends with <code>?user=</code> and the user’s id.
        </li>
        <li>It may have been deleted, or have expired, if the deployment deletes unused data.</li>
        <li>Its id may be spelled differently; upper and lower case matter.</li>
      </ul>
      <p>
        <a href={fragmentOf({ screen: 'conversations' })}>All conversations under this key</a>
      </p>
      <p class="note">conversation_not_found</p>
    </div>
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

/** Of a conversation that its caller has not named: it has no route for its memory. */
const NO_MEMORY = { health: 'n/a', memories: [] };

interface SummariesProps {
  readonly memory: Loaded<{ readonly health: string; readonly memories: readonly Version[] }>;
  readonly onRef: (ref: string) => void;
}

function Summaries({ memory, onRef }: SummariesProps) {
  const [isOpen, setOpen] = useState(false);
  const { memories: versions = [], health = '' } = memory.value ?? {};
  return (
    <>
      <h2>Summaries</h2>
      {memory.state === 'failed' && (
        <Failed what="The summaries" failure={memory.failure} onAgain={memory.again} />
      )}
      {memory.value && versions.length === 0 && <p class="note">None yet.</p>}
      {versions.length > 0 && (
        <p>
          {versions.length === 1 ? 'One version' : `${count(versions.length)} versions`} of the{' '}
          <Term of="summary" />, the newest of {count(versions[0]?.tokens)} tokens; summarizing is{' '}
          {labelOf(HEALTH_LABELS, health)}.{' '}
          <button type="button" onClick={() => setOpen(true)}>
            Read them
          </button>
        </p>
      )}
      {isOpen && (
        <VersionDialog versions={versions} first={null} onRef={onRef} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

interface RequestsProps {
  readonly recorded: Recorded;
  readonly named: Named;
  readonly isReading: boolean;
}

/** The plot waits for the older requests, whose rows come first: it is drawn once. */
function Requests({ recorded, named, isReading }: RequestsProps) {
  const { events, isWhole } = recorded;
  const [current, setCurrent] = useState<number>();
  const data = useMemo(() => plotOf(events), [events]);
  const paybacks = useMemo(() => paybacksOf(events), [events]);
  const apart = useMemo(() => summariesApart(amountsOf(recorded.page), events), [recorded]);
  const open = (at: number): void => {
    const event = events[at];
    if (event) location.hash = fragmentOf({ ...named, screen: 'request', n: event.n });
  };
  return (
    <>
      <ConversationHead recorded={recorded} />
      {isReading && !isWhole && <div class="plot waiting" />}
      {hasLine(data) && (isWhole || !isReading) && (
        <Plot
          data={data}
          events={events}
          paybacks={paybacks}
          current={current}
          onCurrent={setCurrent}
          onOpen={open}
          note={apart && apartWords(apart)}
        />
      )}
      <h2>
        Requests <small>{count(events.length)}</small>
      </h2>
      <RequestList events={events} paybacks={paybacks} named={named} current={current} />
    </>
  );
}

/** How the sum of the requests comes to the savings of the whole conversation. */
function apartWords({ price, net }: { readonly price: number; readonly net: number }): string {
  return `The sum less ${dollars(inDollars(price))} for summaries that no request waited for: ${dollars(inDollars(net))} net in all.`;
}
