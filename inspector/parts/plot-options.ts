/** How a conversation's plots are drawn: tokens by request, and below them the money. */
import UPlot from 'uplot';
import type { Mark, PlotData } from '../read/marks.ts';
import { roundDollars, tick } from './numbers.ts';

/** In pixels. */
export const HEIGHT = 250;
export const STRIP_HEIGHT = 130;
/** Below this width there is no room for a second axis. */
const WIDE = 560;
const RIGHT = 92;
const LEFT = 92;

/** What a plot reports: the index of the request at the pointer, and that it was chosen. */
export interface PlotEvents {
  readonly pointed: (at: number) => void;
  readonly chosen: (at: number) => void;
  /** The part of the requests that is in sight. */
  readonly zoomed?: (min: number, max: number) => void;
}

export function tokenSeries({ n, before, after, cached, potential, budget }: PlotData): UPlot.AlignedData {
  return [[...n], [...before], [...after], [...cached], [...potential], [...budget]];
}

/** Gains and losses are bars of their own. */
export function moneySeries({ n, net, netSum }: PlotData): UPlot.AlignedData {
  const only = (isGain: boolean): (number | null)[] =>
    net.map((value) => (value !== null && value >= 0 === isGain ? value : null));
  return [[...n], only(true), only(false), [...netSum]];
}

export function tokenOptions(element: HTMLElement, data: PlotData, events: PlotEvents): UPlot.Options {
  const { color, axis, line, isWide } = toolsOf(element);
  return {
    ...common(element, HEIGHT),
    padding: [8, isWide ? RIGHT : 12, 0, 0],
    cursor: { y: false, drag: { x: true, y: false }, sync: { key: SYNC } },
    scales: { x: X, y: { range: (_, __, most) => [0, Math.max(10, most * 1.08)] } },
    axes: [
      { ...axis, ...xAxis, size: 30 },
      { ...axis, size: LEFT - 18, label: 'tokens', labelSize: 18, values: (_, ticks) => ticks.map(tick) },
    ],
    series: [
      {},
      line('came', '--before'),
      line('sent', '--after'),
      // Points too, since an upstream may say it of some requests alone.
      { ...line('cached', '--cached'), points: { show: true, size: 4, fill: color('--cached') } },
      { ...line('potential', '--after'), dash: [5, 4] },
      { ...line('budget', '--budget'), dash: [2, 3] },
    ],
    bands: [
      { series: [1, 2], fill: color('--saved-fill') },
      { series: [1, 4], fill: () => stripes(color('--saved-fill')) },
    ],
    hooks: {
      ...hooksOf(events),
      draw: [(plot) => drawMarks(plot, data.marks, color)],
      setScale: [
        (plot, key) => {
          const { min, max } = plot.scales.x ?? {};
          if (key === 'x' && typeof min === 'number' && typeof max === 'number') events.zoomed?.(min, max);
        },
      ],
    },
  };
}

export function moneyOptions(element: HTMLElement, events: PlotEvents): UPlot.Options {
  const { color, axis, line, isWide } = toolsOf(element);
  const bars = UPlot.paths.bars?.({ size: [0.7, 22], align: 0 });
  const bar = (label: string, name: string): UPlot.Series => ({
    ...line(label, name),
    width: 0,
    fill: color(name),
    ...(bars ? { paths: bars } : {}),
  });
  return {
    ...common(element, STRIP_HEIGHT),
    padding: [8, isWide ? 0 : 12, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: SYNC } },
    scales: {
      x: X,
      y: { range: (plot) => aroundZero(plot, [1, 2], [3]) },
      sum: { range: (plot) => aroundZero(plot, [3], [1, 2]) },
    },
    axes: [
      { ...axis, ...xAxis, size: 30, label: 'request', labelSize: 18 },
      {
        ...axis,
        size: LEFT - 18,
        label: isWide ? 'saved by each' : 'saved',
        labelSize: 18,
        values: (_, ticks) => ticks.map(roundDollars),
      },
      ...(isWide
        ? [
            {
              ...axis,
              side: 1 as const,
              scale: 'sum',
              grid: { show: false },
              size: RIGHT - 18,
              label: 'sum',
              labelSize: 18,
              values: (_: UPlot, ticks: number[]) => ticks.map(roundDollars),
            },
          ]
        : []),
    ],
    series: [{}, bar('saved', '--cached'), bar('lost', '--move'), { ...line('sum', '--sum'), scale: 'sum' }],
    hooks: hooksOf(events),
  };
}

const SYNC = 'requests';

/** Ticks at whole requests. */
const xAxis: UPlot.Axis = {
  incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
  space: 34,
  values: (_, ticks) => ticks.map(String),
};

/** Whole requests, with room for the bars of the first and the last one. */
const X: UPlot.Scale = {
  time: false,
  range: (_, least, most) => {
    const from = Math.ceil(least) - 0.5;
    return [from, Math.max(from + 1, Math.floor(most) + 0.5)];
  },
};

function common(element: HTMLElement, height: number) {
  return { width: Math.max(100, element.clientWidth), height, legend: { show: false } };
}

function toolsOf(element: HTMLElement) {
  const style = getComputedStyle(element);
  /** Of the theme: the element, which has no text, is given the color to compute it. */
  const color = (name: string): string => {
    element.style.color = `var(${name})`;
    return style.color;
  };
  const font = `12px ${style.fontFamily}`;
  return {
    color,
    isWide: element.clientWidth >= WIDE,
    axis: {
      stroke: color('--quiet'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { show: false },
      font,
      labelFont: font,
    },
    line: (label: string, name: string): UPlot.Series => ({
      label,
      stroke: color(name),
      width: 1.5,
      points: { show: false },
    }),
  };
}

function hooksOf({ pointed, chosen }: PlotEvents): UPlot.Hooks.Arrays {
  return {
    setCursor: [
      ({ cursor: { idx, event } }) => {
        // Only where the pointer is: the other plot follows.
        if (event && idx !== null && idx !== undefined) pointed(idx);
      },
    ],
    ready: [
      ({ over, cursor }) =>
        over.addEventListener('click', () => {
          if (cursor.idx !== null && cursor.idx !== undefined) chosen(cursor.idx);
        }),
    ],
  };
}

/**
 * The range of series with zero in it, at the height at which the other series have it.
 *
 * @param own @param others indices of series
 */
function aroundZero(plot: UPlot, own: readonly number[], others: readonly number[]): [number, number] {
  const [low, high] = extent(plot, own);
  const below = Math.max(shareBelow([low, high]), shareBelow(extent(plot, others)));
  const above = Math.max(shareBelow([-high, -low]), shareBelow(negated(extent(plot, others))));
  const size = Math.max(below === 0 ? 0 : -low / below, above === 0 ? 0 : high / above) * 1.08 || 1e-6;
  return [-size * below, size * above];
}

function negated([low, high]: readonly [number, number]): [number, number] {
  return [-high, -low];
}

/** Which part of a range is below zero. */
function shareBelow([low, high]: readonly [number, number]): number {
  return high === low ? 0 : -low / (high - low);
}

/** The least and the most of series, and of zero, among the requests in sight. */
function extent(plot: UPlot, of: readonly number[]): [number, number] {
  const [numbers] = plot.data;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = plot.series[0] ?? {};
  const values = of.flatMap((at) =>
    [...(plot.data[at] ?? [])].filter((_, index) => {
      const n = numbers[index] ?? 0;
      return n >= min && n <= max;
    }),
  );
  return values.reduce<[number, number]>(
    ([low, high], value) => [Math.min(low, value ?? 0), Math.max(high, value ?? 0)],
    [0, 0],
  );
}

/** What was only observed is striped. */
function stripes(color: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = 8;
  tile.height = 8;
  const context = tile.getContext('2d');
  if (!context) return color;
  context.strokeStyle = color;
  context.lineWidth = 3;
  for (const shift of [-8, 0, 8]) {
    context.moveTo(shift, 8);
    context.lineTo(shift + 8, 0);
  }
  context.stroke();
  return context.createPattern(tile, 'repeat') ?? color;
}

/**
 * Moves are lines; summaries are squares, waiting is a ring and warnings are triangles at the top.
 */
function drawMarks(plot: UPlot, marks: readonly Mark[], color: (name: string) => string): void {
  const { ctx, bbox } = plot;
  const size = 4 * devicePixelRatio;
  ctx.save();
  let lastRing = Number.NEGATIVE_INFINITY;
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
    } else if (kind === 'waits') {
      // Hundreds of them would be a solid bar.
      if (x - lastRing < 3 * size) continue;
      lastRing = x;
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.setLineDash([]);
      ctx.arc(x, bbox.top + 4 * size, size, 0, 2 * Math.PI);
      ctx.stroke();
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
