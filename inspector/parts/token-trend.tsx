/** The newest requests of a conversation in a cell: their tokens as lines, and the last one's. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ListedRun } from '../api/answers.ts';
import type { Client, Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { sparkline } from '../read/marks.ts';
import { sentTokens } from '../read/sent.ts';
import { short } from './numbers.ts';

/** How many requests it is made of. */
const NEWEST = 40;

interface Props {
  readonly client: Client;
  readonly named: Named;
  /** How many requests it has. It is read again when there are more. */
  readonly requests: number;
}

/** It is read when it comes into sight. */
export function TokenTrend({ client, named, requests }: Props) {
  const box = useRef<HTMLSpanElement>(null);
  const isSeen = useSeen(box);
  const { id, user } = named;
  const { value: events = [] } = useLoad<readonly ListedRun[]>(
    async (signal) =>
      isSeen && requests > 0 ? (await client.requests(named, null, NEWEST, signal)).data.toReversed() : [],
    [client, id, user, isSeen, requests],
  );
  return (
    <span ref={box} class={events.at(-1)?.observed ? 'trend observed' : 'trend'}>
      <Sparkline events={events} />
      <Newest event={events.at(-1)} />
    </span>
  );
}

function Newest({ event }: { event: ListedRun | undefined }) {
  if (!event) return null;
  const { came, sent, potential } = sentTokens(event);
  if (came === null) return <span class="note">short</span>;
  const shown = potential ?? sent;
  const title = potential === null ? undefined : 'Only observed: what would be sent';
  return (
    <span title={title}>
      {came === shown ? short(came) : `${short(came)} → ${short(shown)}`}
      {potential !== null && <span class="note"> observed</span>}
    </span>
  );
}

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
