/** Tokens and money of a conversation's requests, with its moves, summaries and warnings. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import type { ListedRun } from '../api/answers.ts';
import { labelOf, WARNING_LABELS } from '../read/codes.ts';
import { type PlotData, warningsOf } from '../read/marks.ts';
import { netOf, potentialBillOf } from '../read/money.ts';
import type { Payback } from '../read/savings.ts';
import { sentTokens } from '../read/sent.ts';
import { count, dollars } from './numbers.ts';
import { paybackWords } from './payback.ts';
import {
  HEIGHT,
  moneyOptions,
  moneySeries,
  type PlotEvents,
  STRIP_HEIGHT,
  tokenOptions,
  tokenSeries,
} from './plot-options.ts';
import { useMedia } from './use-media.ts';

interface Props {
  readonly data: PlotData;
  /** Ascending, as in `data`. */
  readonly events: readonly ListedRun[];
  readonly paybacks: ReadonlyMap<number, Payback>;
  /** The index of the request that is pointed at. */
  readonly current: number | undefined;
  readonly onCurrent: (at: number) => void;
  readonly onOpen: (at: number) => void;
  /** A line about what the strip leaves out. */
  readonly note?: string | undefined;
}

export function Plot({ data, events, paybacks, current, onCurrent, onOpen, note }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const strip = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const [isPointing, setPointing] = useState(false);
  const hasMoney = data.net.some((net) => net !== null && net !== 0);
  const plot = usePlots({ box, strip }, data, {
    pointed: (at) => {
      setPointing(true);
      onCurrent(at);
    },
    chosen: onOpen,
  });
  const event = current === undefined ? undefined : events[current];
  const isShown = isPointing && event !== undefined;
  useLayoutEffect(() => {
    const [made, element] = [plot.current, tip.current];
    if (made && element && event && isShown) placeTip(element, made, event.n);
  }, [event, isShown]);
  const move = (by: number): void => {
    const last = events.length - 1;
    const next = Math.min(last, Math.max(0, (current ?? last) + by));
    setPointing(true);
    onCurrent(next);
    const made = plot.current;
    if (made) made.setCursor({ left: made.valToPos(data.n[next] ?? 0, 'x'), top: HEIGHT / 3 }, false);
  };
  const payback = event && paybacks.get(event.n);
  return (
    <figure class="plot" onMouseLeave={() => setPointing(false)}>
      <div
        ref={box}
        class="plot-box"
        role="slider"
        tabIndex={0}
        aria-label="Tokens by request. Arrow keys point at a request, Enter opens it."
        aria-valuemin={events[0]?.n ?? 0}
        aria-valuemax={events.at(-1)?.n ?? 0}
        aria-valuenow={event?.n ?? events.at(-1)?.n ?? 0}
        aria-valuetext={event ? factsOf(event, payback).join(', ') : 'no request is pointed at'}
        onBlur={() => setPointing(false)}
        onKeyDown={(press) => {
          const by = STEPS[press.key];
          if (by !== undefined) move(by);
          else if (press.key === 'Enter' && current !== undefined) onOpen(current);
          else return;
          press.preventDefault();
        }}
      />
      {hasMoney && <div ref={strip} class="plot-strip" aria-hidden="true" />}
      <div ref={tip} class="plot-tip" hidden={!isShown} aria-hidden="true">
        {event && factsOf(event, payback).map((fact) => <p key={fact}>{fact}</p>)}
      </div>
      <figcaption>
        <Legend data={data} hasMoney={hasMoney} />
        {hasMoney && note !== undefined && <p class="note">{note}</p>}
      </figcaption>
    </figure>
  );
}

type Box = { readonly current: HTMLDivElement | null };

/** Draws both plots, again when the theme or the room for them changes. @returns the upper one */
function usePlots(
  { box, strip }: { readonly box: Box; readonly strip: Box },
  data: PlotData,
  events: PlotEvents,
): { readonly current: UPlot | undefined } {
  const plot = useRef<UPlot>(undefined);
  const latest = useRef(events);
  latest.current = events;
  const isDark = useMedia(DARK);
  const isWide = useMedia(ROOMY);
  useEffect(() => {
    const [element, under] = [box.current, strip.current];
    if (!element) return;
    const handlers: PlotEvents = {
      pointed: (at) => latest.current.pointed(at),
      chosen: (at) => latest.current.chosen(at),
    };
    const below = under && new UPlot(moneyOptions(under, handlers), moneySeries(data), under);
    const zoomed = (min: number, max: number): void => below?.setScale('x', { min, max });
    const made = new UPlot(tokenOptions(element, data, { ...handlers, zoomed }), tokenSeries(data), element);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: HEIGHT });
      below?.setSize({ width: element.clientWidth, height: STRIP_HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      below?.destroy();
    };
  }, [data, isDark, isWide]);
  return plot;
}

/** Beside the request, on the side with more room. */
function placeTip(tip: HTMLElement, plot: UPlot, n: number): void {
  const { over } = plot;
  const x = plot.valToPos(n, 'x');
  const isLeft = x > over.clientWidth / 2;
  const room = isLeft ? x : over.clientWidth - x;
  const edge = over.getBoundingClientRect().left - (tip.parentElement?.getBoundingClientRect().left ?? 0);
  tip.style.maxWidth = `${Math.max(180, room - 24)}px`;
  tip.style.left = `${Math.max(8, isLeft ? edge + x - tip.offsetWidth - 12 : edge + x + 12)}px`;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: 25,
  PageDown: -25,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** What there is to say about a request, line by line. */
function factsOf(event: ListedRun, payback: Payback | undefined): string[] {
  const { n, usage, frontier, summary, observed, tokens } = event;
  const { view_cached: cached, retrieval_rounds: rounds } = event;
  const { came, sent, potential } = sentTokens(event);
  const budget = tokens?.budget ?? null;
  return [
    came === null
      ? `Request ${n}: short, sent unchanged`
      : `Request ${n}: ${count(came)} tokens came in, ${count(sent)} were sent`,
    ...(observed ? [`only observed: ${count(potential)} would have been sent`] : []),
    ...(budget === null ? [] : [`budget: ${count(budget)}`]),
    `${count(cached)} read from the cache`,
    ...(rounds > 0
      ? [
          `with what the model fetched, in ${rounds + 1} calls: ${count(usage?.input)} tokens, ${count(usage?.cached)} of them from the cache`,
        ]
      : []),
    observed
      ? `would have saved ${dollars(potentialBillOf(event)?.net)}`
      : `saved ${dollars(netOf(event))} net`,
    ...(frontier.moved && !observed ? [payback ? paybackWords(payback) : 'compacted here'] : []),
    ...(summary && !observed ? [`summary of the messages ${summary.covers[0]} to ${summary.covers[1]}`] : []),
    ...warningsOf(event).map((code) => labelOf(WARNING_LABELS, code)),
  ];
}

/** Only what the plots show. */
function Legend({ data, hasMoney }: { readonly data: PlotData; readonly hasMoney: boolean }) {
  const has = (values: readonly (number | null)[]): boolean => values.some((value) => value !== null);
  const kinds = new Set(data.marks.map(({ kind }) => kind));
  const isObserved = has(data.potential);
  const keys: [shape: string, color: string, label: string, isShown: boolean][] = [
    ['line', 'before', 'came in', true],
    ['line', 'after', 'sent', true],
    ['square', 'saved-fill', 'not sent', data.after.some((sent, at) => sent !== data.before[at])],
    ['dashed', 'after', 'would be sent', isObserved],
    ['dotted', 'budget', 'budget', has(data.budget)],
    ['line', 'cached', 'read from the cache', has(data.cached)],
    ['move', 'move', 'compacted here', kinds.has('move')],
    ['square', 'summary', 'new summary', kinds.has('summary')],
    ['ring', 'waits', 'over its budget, or waits', kinds.has('waits')],
    ['warning', 'warning', 'warning', kinds.has('warning')],
    ['square', 'cached', isObserved ? 'would be saved by a request' : 'saved by a request', hasMoney],
    ['square', 'move', 'lost by a request', data.net.some((net) => net !== null && net < 0)],
    ['line', 'sum', 'sum of the savings', hasMoney],
  ];
  return (
    <ul class="legend">
      {keys.map(
        ([shape, color, label, isShown]) =>
          isShown && (
            <li key={label} class={`key ${shape}`} style={{ '--key': `var(--${color})` }}>
              {label}
            </li>
          ),
      )}
    </ul>
  );
}

const DARK = '(prefers-color-scheme: dark)';
/** Whether there may be room for a second axis. */
const ROOMY = '(min-width: 640px)';
