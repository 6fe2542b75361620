/** Tokens of a conversation's requests, with the frontier's moves, summaries and warnings on them. */
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import type { ListedRun } from '../api/answers.ts';
import type { Mark, MarkKind, PlotData } from '../read/marks.ts';
import { sentTokens } from '../read/sent.ts';
import { count, short } from './numbers.ts';

interface Props {
  readonly data: PlotData;
  /** Ascending, as in `data`. */
  readonly events: readonly ListedRun[];
  /** The index of the request that is pointed at. */
  readonly current: number | undefined;
  readonly onCurrent: (at: number) => void;
  readonly onOpen: (at: number) => void;
}

const HEIGHT = 260;
const MARK_WORDS: Readonly<Record<MarkKind, string>> = {
  move: 'frontier moved',
  summary: 'new summary',
  warning: 'warning',
};

export function Plot({ data, events, current, onCurrent, onOpen }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const latest = useRef({ onCurrent, onOpen });
  latest.current = { onCurrent, onOpen };
  const theme = useTheme();
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new UPlot(optionsOf(element, data.marks, latest), seriesOf(data), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [data, theme]);
  const event = current === undefined ? undefined : events[current];
  const move = (by: number): void => {
    const last = events.length - 1;
    const next = Math.min(last, Math.max(0, (current ?? last) + by));
    onCurrent(next);
    const made = plot.current;
    if (made) made.setCursor({ left: made.valToPos(data.n[next] ?? 0, 'x'), top: HEIGHT / 3 }, false);
  };
  return (
    <figure class="plot">
      <div
        ref={box}
        class="plot-box"
        role="slider"
        tabIndex={0}
        aria-label="Tokens by request. Arrow keys point at a request, Enter opens it."
        aria-valuemin={events[0]?.n ?? 0}
        aria-valuemax={events.at(-1)?.n ?? 0}
        aria-valuenow={event?.n ?? events.at(-1)?.n ?? 0}
        aria-valuetext={event ? told(event) : 'no request is pointed at'}
        onKeyDown={(press) => {
          const by = STEPS[press.key];
          if (by !== undefined) move(by);
          else if (press.key === 'Enter' && current !== undefined) onOpen(current);
          else return;
          press.preventDefault();
        }}
      />
      <Legend hasPotential={hasPotential(data)} />
      <figcaption aria-live="polite">
        {event ? told(event) : 'Point at a request to see its numbers.'}
      </figcaption>
    </figure>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: 25,
  PageDown: -25,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

function told(event: ListedRun): string {
  const {
    n,
    usage,
    frontier,
    summary,
    warnings,
    observed,
    view_cached: cached,
    retrieval_rounds: rounds,
  } = event;
  const { came, sent, potential } = sentTokens(event);
  return [
    `Request ${n}: ${count(came)} tokens came, ${count(sent)} went up`,
    ...(observed ? [`only observed: ${count(potential)} would have gone up`] : []),
    `${count(cached)} read from the cache`,
    ...(rounds > 0 ? [`${count(usage?.cached)} in all of ${rounds + 1} calls`] : []),
    ...(frontier.moved ? [observed ? 'the frontier would have moved' : 'the frontier moved'] : []),
    ...(summary && !observed ? [`summary of the messages ${summary.covers[0]} to ${summary.covers[1]}`] : []),
    ...warnings,
  ].join(', ');
}

function hasPotential({ potential }: PlotData): boolean {
  return potential.some((tokens) => tokens !== null);
}

function Legend({ hasPotential }: { hasPotential: boolean }) {
  return (
    <ul class="legend">
      <li class="key before">before</li>
      <li class="key after">after</li>
      {hasPotential && <li class="key potential">would be after</li>}
      <li class="key cached">read from the cache</li>
      <li class="key move">{MARK_WORDS.move}</li>
      <li class="key summary">{MARK_WORDS.summary}</li>
      <li class="key warning">{MARK_WORDS.warning}</li>
    </ul>
  );
}

function seriesOf({ n, before, after, cached, potential }: PlotData): UPlot.AlignedData {
  return [[...n], [...before], [...after], [...cached], [...potential]];
}

type Latest = { current: Pick<Props, 'onCurrent' | 'onOpen'> };

function optionsOf(element: HTMLElement, marks: readonly Mark[], latest: Latest): UPlot.Options {
  const color = colorsOf(element);
  const axis = {
    stroke: color('--quiet'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const line = (label: string, name: string, fill?: string): UPlot.Series => ({
    label,
    stroke: color(name),
    width: 1.5,
    points: { show: false },
    ...(fill === undefined ? {} : { fill: color(fill) }),
  });
  return {
    width: Math.max(100, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(10, most * 1.08)] } },
    axes: [
      {
        ...axis,
        size: 32,
        values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? String(tick) : '')),
      },
      { ...axis, size: 56, values: (_, ticks) => ticks.map(short) },
    ],
    series: [
      {},
      line('before', '--before'),
      line('after', '--after', '--after-fill'),
      // Points too, since an upstream may say it of some requests alone.
      { ...line('cached', '--cached'), points: { show: true, size: 4, fill: color('--cached') } },
      { ...line('potential', '--after'), dash: [5, 4] },
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks, color)],
      setCursor: [
        ({ cursor: { idx } }) => {
          if (idx !== null && idx !== undefined) latest.current.onCurrent(idx);
        },
      ],
      ready: [
        ({ over, cursor }) =>
          over.addEventListener('click', () => {
            if (cursor.idx !== null && cursor.idx !== undefined) latest.current.onOpen(cursor.idx);
          }),
      ],
    },
  };
}

const colorsOf = (element: HTMLElement): ((name: string) => string) => {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
};

/** Moves are lines; summaries are squares and warnings are triangles at the top. */
function drawMarks(plot: UPlot, marks: readonly Mark[], color: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const size = 4 * devicePixelRatio;
  ctx.save();
  for (const { at, kind } of marks) {
    const x = Math.round(plot.valToPos(plot.data[0][at] ?? 0, 'x', true));
    if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
    ctx.fillStyle = color(`--${kind}`);
    ctx.strokeStyle = color(`--${kind}`);
    ctx.beginPath();
    if (kind === 'move') {
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    } else if (kind === 'summary') {
      ctx.fillRect(x - size, bbox.top, 2 * size, 2 * size);
    } else {
      const y = bbox.top + 3 * size;
      ctx.moveTo(x, y);
      ctx.lineTo(x + size, y + 2 * size);
      ctx.lineTo(x - size, y + 2 * size);
      ctx.fill();
    }
  }
  ctx.restore();
}

/** Changes when the reader's theme does. */
function useTheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia(DARK).matches);
  useEffect(() => {
    const query = matchMedia(DARK);
    const read = (): void => setDark(query.matches);
    query.addEventListener('change', read);
    return () => query.removeEventListener('change', read);
  }, []);
  return isDark;
}

const DARK = '(prefers-color-scheme: dark)';
