/** The requests of a conversation as rows, the newest first. */
import { useMemo } from 'preact/hooks';
import { isUnsent } from '../../src/memory/run/unsent.ts';
import type { ListedRun } from '../api/answers.ts';
import type { Named } from '../api/client.ts';
import { cents, count, decimalsOf, dollars, exactDollars, short, UNKNOWN } from '../parts/numbers.ts';
import { paybackTag, paybackWords } from '../parts/payback.ts';
import { Ago } from '../parts/time.tsx';
import { NARROW, useMedia } from '../parts/use-media.ts';
import { VirtualList } from '../parts/virtual-list.tsx';
import { fragmentOf } from '../place.ts';
import { CAUSE_LABELS, labelOf, WARNING_LABELS, warningSentence } from '../read/codes.ts';
import { isCalm, isOfBudget, rowWarningsOf } from '../read/marks.ts';
import { billOf, netOf, potentialBillOf } from '../read/money.ts';
import { missSentence } from '../read/request-words.ts';
import { hasNewSummary, type Payback } from '../read/savings.ts';
import { sentTokens } from '../read/sent.ts';

/** In pixels. Narrow windows show a row in several lines. */
const ROW_HEIGHT = 40;
const NARROW_ROW_HEIGHT = 80;
const LIST_HEIGHT = 482;

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
  const decimals = useMemo(() => decimalsOf(events.map(savedBy)), [events]);
  const isMixed = events.some((event) => !event.observed);
  const isNarrow = useMedia(NARROW);
  return (
    <>
      {/* The rows are a list, whose label says their order. */}
      <div class="request-heads" aria-hidden="true">
        <span>request</span>
        <span class="when">when ↓</span>
        <span class="tokens">tokens → sent</span>
        <span class="net">{isMixed ? 'saved' : 'would save'}</span>
        <span>what happened</span>
      </div>
      <VirtualList
        label={`${events.length} requests, newest first`}
        items={newestFirst}
        rowHeight={isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
        height={LIST_HEIGHT}
        keyOf={({ n }) => n}
        current={current === undefined ? undefined : events.length - 1 - current}
        row={(event, at) => (
          <RequestRow
            event={event}
            earlier={newestFirst[at + 1]}
            payback={paybacks.get(event.n)}
            named={named}
            decimals={decimals}
            isMixed={isMixed}
          />
        )}
      />
    </>
  );
}

interface RowProps {
  readonly event: ListedRun;
  readonly earlier: ListedRun | undefined;
  readonly payback: Payback | undefined;
  readonly named: Named;
  /** Of the amounts. */
  readonly decimals: number;
  /** Whether some requests were not only observed, so that it must be said of those that were. */
  readonly isMixed: boolean;
}

/** In dollars: what a request has saved, or would have if it was only observed. */
function savedBy(event: ListedRun): number | undefined {
  return event.observed ? potentialBillOf(event)?.net : netOf(event);
}

function RequestRow({ event, named, decimals, ...rest }: RowProps) {
  const { n, created_at: at, observed } = event;
  const net = savedBy(event);
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
      <span class={net !== undefined && net > 0 ? 'net saved' : 'net'} title={exactDollars(net)}>
        <span class="sr-only">{observed ? 'would save' : 'saved'} </span>
        {net === undefined ? UNKNOWN : cents(net, decimals)}
      </span>
      <span class="tags">
        <Tags event={event} {...rest} />
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

function Tags({ event, earlier, payback, isMixed }: Omit<RowProps, 'named' | 'decimals'>) {
  const { frontier, status, observed, retrieval_rounds: rounds } = event;
  return (
    <>
      {observed && isMixed && <span class="tag observed">only observed</span>}
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
      {event.cache_miss && !(frontier.moved && event.cache_miss.cause === 'move') && (
        <span class="tag notice" title={missSentence(event)}>
          cache missed: {labelOf(CAUSE_LABELS, event.cache_miss.cause)}
        </span>
      )}
      {rounds > 0 && (
        <span class="tag fetched" title={fetchedWords(event)}>
          fetched {rounds === 1 ? 'once' : `${count(rounds)} times`}
        </span>
      )}
      {hasNewSummary(event, earlier) && <span class="tag summary">new summary</span>}
      {rowWarningsOf(event, earlier).map((code) => (
        <span key={code} class={`tag ${tagOf(code)}`} title={warningSentence(code)}>
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

/** Red is for what needs somebody. */
function tagOf(warning: string): string {
  if (isOfBudget(warning)) return 'waits';
  return isCalm(warning) ? 'notice' : 'warning';
}
