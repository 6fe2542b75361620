/** The requests of a conversation as rows, the newest first. */
import { useMemo } from 'preact/hooks';
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { ListedRun } from '../api/answers.ts';
import type { Named } from '../api/client.ts';
import { count, dollars, short } from '../parts/numbers.ts';
import { paybackTag, paybackWords } from '../parts/payback.ts';
import { Ago } from '../parts/time.tsx';
import { useMedia } from '../parts/use-media.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import { fragmentOf } from '../place.ts';
import { CAUSE_LABELS, labelOf, WARNING_LABELS } from '../read/codes.ts';
import { isCalm, isOfBudget, type MarkKind, marksOf, warningsOf } from '../read/marks.ts';
import { billOf, netOf, potentialBillOf } from '../read/money.ts';
import { missSentence } from '../read/request-words.ts';
import type { Payback } from '../read/savings.ts';
import { sentTokens } from '../read/sent.ts';

/** In pixels. Narrow windows show a row in several lines. */
const ROW_HEIGHT = 52;
const NARROW_ROW_HEIGHT = 80;
const LIST_HEIGHT = 570;

/** As in `narrow.css`. */
const NARROW = '(max-width: 760px)';

interface Props {
  /** Ascending. */
  readonly events: readonly ListedRun[];
  readonly paybacks: ReadonlyMap<number, Payback>;
  readonly named: Named;
  /** The index of the request that is pointed at. */
  readonly current: number | undefined;
}

export function RequestList({ events, paybacks, named, current }: Props) {
  const newestFirst = useMemo(() => events.toReversed(), [events]);
  const marks = useMemo(
    () => new Map(events.map((event, at) => [event.n, marksOf(event, events[at - 1])])),
    [events],
  );
  const isNarrow = useMedia(NARROW);
  return (
    <VirtualList
      label={`${events.length} requests, newest first`}
      items={newestFirst}
      rowHeight={isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
      height={LIST_HEIGHT}
      keyOf={({ n }) => n}
      current={current === undefined ? undefined : events.length - 1 - current}
      row={(event) => (
        <RequestRow
          event={event}
          payback={paybacks.get(event.n)}
          marks={marks.get(event.n) ?? []}
          named={named}
        />
      )}
    />
  );
}

interface RowProps {
  readonly event: ListedRun;
  readonly payback: Payback | undefined;
  readonly marks: readonly MarkKind[];
  readonly named: Named;
}

function RequestRow({ event, payback, marks, named }: RowProps) {
  const { n, created_at: at, observed } = event;
  const net = observed ? potentialBillOf(event)?.net : netOf(event);
  return (
    <a
      class={observed ? 'request-row observed' : 'request-row'}
      href={fragmentOf({ ...named, screen: 'request', n })}
    >
      <span class="index">{n}</span>
      <span class="when">
        <Ago at={at} />
      </span>
      <span class="tokens">{tokenWords(event)}</span>
      <span class={net !== undefined && net > 0 ? 'net saved' : 'net'}>{netWords(net, observed)}</span>
      <span class="tags">
        <Tags event={event} payback={payback} marks={marks} />
      </span>
    </a>
  );
}

function tokenWords(event: ListedRun): string {
  const { came, sent, potential } = sentTokens(event);
  if (isUnsent(event)) return 'not sent';
  if (came === null) return event.status >= 400 ? 'sent unchanged' : 'short: sent unchanged';
  if (potential !== null && potential !== came) return `${short(came)}, would be ${short(potential)}`;
  return came === sent ? `${short(came)}, unchanged` : `${short(came)} → ${short(sent)}`;
}

function netWords(net: number | undefined, observed: boolean): string {
  if (net === undefined || net === 0) return dollars(net);
  const verb = net < 0 ? 'cost' : observed ? 'would save' : 'saved';
  return `${verb} ${dollars(Math.abs(net))}${net < 0 ? ' more' : ''}`;
}

function Tags({ event, payback, marks }: Omit<RowProps, 'named'>) {
  const { frontier, status, observed, retrieval_rounds: rounds } = event;
  return (
    <>
      {observed && <span class="tag observed">only observed</span>}
      {status >= 400 && (
        <span class="tag failed">
          {isUnsent(event) ? 'refused' : 'failed'}: {status}
        </span>
      )}
      {frontier.moved && !observed && (
        <span class="tag move" title={payback && paybackWords(payback)}>
          {payback ? paybackTag(payback) : 'compacted here'}
        </span>
      )}
      {event.cache_miss && (
        <span class="tag notice" title={missSentence(event)}>
          cache missed: {labelOf(CAUSE_LABELS, event.cache_miss.cause)}
        </span>
      )}
      {rounds > 0 && (
        <span class="tag fetched" title={fetchedWords(event)}>
          fetched {rounds === 1 ? 'once' : `${count(rounds)} times`}
        </span>
      )}
      {marks.includes('summary') && <span class="tag summary">new summary</span>}
      {warningsOf(event)
        .filter((code) => code !== 'waiting')
        .map((code) => (
          <span key={code} class={`tag ${tagOf(code)}`}>
            {labelOf(WARNING_LABELS, code)}
          </span>
        ))}
    </>
  );
}

/** What the further calls have cost. */
function fetchedWords(event: ListedRun): string {
  const { fetchRounds } = billOf(event) ?? {};
  return `the model fetched removed contents, which cost ${dollars(fetchRounds)}`;
}

/** Red is for what needs somebody. That a request waits until it pays is the rule, and has no tag. */
function tagOf(warning: string): string {
  if (isOfBudget(warning)) return 'waits';
  return isCalm(warning) ? 'notice' : 'warning';
}
