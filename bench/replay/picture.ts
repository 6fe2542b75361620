/**
 * The picture for all conversations together. To the right: a policy's cost. Up: how many of the
 * values that the agent needs are in the view. Below: the bill under each schedule. An SVG with its
 * own background, so that it looks the same on light and dark pages.
 */
import { placeLabels, widthOf } from './labels.ts';
import type { Maker } from './policy.ts';
import type { DataSetFigures, PolicyFigures } from './results.ts';
import { billsHeight, drawBills, type ScheduleBill } from './schedule-bills.ts';
import { escaped, INK, LINES, PALE_INK, PAPER, round, text, WIDTH } from './svg.ts';

const HEIGHT = 520;
const FRAME = { left: 72, right: 32, top: 78, bottom: 64 } as const;
const FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Helvetica, Arial, sans-serif";
const FONT_SIZE = 13;

const COLOURS: Readonly<Record<Maker, string>> = { none: '#1f2328', precis: '#0969da', peer: '#bc4c00' };
const NAMES: Readonly<Record<Maker, string>> = { none: 'no compaction', precis: 'Precis', peer: 'others' };
const LEGEND_GAP = 13;

/** Keeps grid lines away from letters. */
const HALO = `stroke="${PAPER}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`;

const TICKS = 6;
const MARGIN = 0.04;

/** A scale from values to pixels. */
interface Axis {
  readonly ticks: readonly number[];
  at(value: number): number;
}

/** Settings of Precis near those shown, and published code that our writing of it equals. */
const LEFT_OUT = /, (?:rehydrated|digests|retrieval off)$|^(?:ai|langchain)@/;

/** What a panel shows: the percentage of which values is in view. */
interface Panel {
  readonly title: string;
  readonly about: string;
  readonly axis: string;
  share(policy: PicturedSet['policies'][number]): number;
}

/** The part of the figures that is drawn. */
type PicturedSet = Pick<DataSetFigures, 'conversations' | 'requests' | 'values' | 'nearValues'> & {
  readonly policies: readonly Pick<PolicyFigures, 'name' | 'maker' | 'paidToNone' | 'visible' | 'near'>[];
};

/**
 * The panels, one below the other: near use, values from long before, and the bills by schedule.
 *
 * @param bills of `auto`; without any, the last panel is left out
 */
export function drawPicture(
  { conversations, requests, values, nearValues, policies }: PicturedSet,
  bills: readonly ScheduleBill[] = [],
): string {
  const of = `${conversations} conversations, ${requests.toLocaleString('en-US')} requests`;
  const panels: readonly Panel[] = [
    {
      title: 'What it costs, and near use in view',
      about: `${of}, ${nearValues} words that an answer took from an output of the last eleven messages`,
      axis: 'words of near use in view: more is better',
      share: ({ near }) => (nearValues === 0 ? 0 : (100 * near) / nearValues),
    },
    {
      title: 'What it costs, and older values in view',
      about: `${of}, ${values} values that an agent needed again after twelve messages and more`,
      axis: 'older values in view: more is better',
      share: ({ visible }) => (values === 0 ? 0 : (100 * visible) / values),
    },
  ];
  const shown = policies.filter(({ name }) => !LEFT_OUT.test(name));
  const height = panels.length * HEIGHT + billsHeight(bills);
  const described = shown.map(
    (policy) =>
      `${policy.name}: bill ${policy.paidToNone.toFixed(2)}, ${panels.map(({ share }) => `${share(policy).toFixed(0)} %`).join(' and ')}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="${FONT}" font-size="${FONT_SIZE}">`,
    '<title>What policies cost, and what they leave in the view</title>',
    `<desc>Near use and older values in view. ${escaped(described.join('; '))}</desc>`,
    `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" fill="${PAPER}" stroke="${LINES}"/>`,
    ...panels.flatMap((panel, at) => [
      `<g transform="translate(0 ${at * HEIGHT})">`,
      ...panelOf(panel, shown),
      '</g>',
    ]),
    ...(bills.length === 0
      ? []
      : [
          `<g transform="translate(0 ${panels.length * HEIGHT})">`,
          ...drawBills(bills, conversations),
          '</g>',
        ]),
    '</svg>',
    '',
  ].join('\n');
}

function panelOf({ title, about, axis, share }: Panel, policies: PicturedSet['policies']): string[] {
  const points = policies.map((policy) => ({ ...policy, bill: policy.paidToNone, visible: share(policy) }));
  const across = axisOf(
    points.map(({ bill }) => bill),
    FRAME.left,
    WIDTH - FRAME.right,
  );
  const up = axisOf(
    points.map(({ visible }) => visible),
    HEIGHT - FRAME.bottom,
    FRAME.top,
  );
  const dots = points.map((point) => ({ ...point, x: across.at(point.bill), y: up.at(point.visible) }));
  const labels = placeLabels(dots, {
    fontSize: FONT_SIZE,
    width: WIDTH - 8,
    top: FRAME.top - 24,
    height: HEIGHT - FRAME.bottom,
  });
  return [
    text(FRAME.left, 30, title, `font-size="16" font-weight="600" fill="${INK}"`),
    text(FRAME.left, 50, about, `fill="${PALE_INK}"`),
    ...legend(),
    ...across.ticks.map((tick) => gridLine(across.at(tick), 'down')),
    ...up.ticks.map((tick) => gridLine(up.at(tick), 'across')),
    ...across.ticks.map((tick) =>
      text(
        across.at(tick),
        HEIGHT - FRAME.bottom + 20,
        shortest(tick),
        `text-anchor="middle" fill="${PALE_INK}"`,
      ),
    ),
    ...up.ticks.map((tick) =>
      text(FRAME.left - 8, up.at(tick) + 4, `${shortest(tick)} %`, `text-anchor="end" fill="${PALE_INK}"`),
    ),
    text(
      (FRAME.left + WIDTH - FRAME.right) / 2,
      HEIGHT - 18,
      'bill, relative to no compaction: less is better',
      `text-anchor="middle" fill="${INK}"`,
    ),
    text(
      0,
      0,
      axis,
      `text-anchor="middle" fill="${INK}" transform="translate(20 ${(FRAME.top + HEIGHT - FRAME.bottom) / 2}) rotate(-90)"`,
    ),
    ...labels.flatMap(({ leader }) =>
      leader
        ? [
            `<path d="M${leader.map(([x, y]) => `${round(x)} ${round(y)}`).join('L')}" stroke="${PALE_INK}" stroke-width="0.75" fill="none"/>`,
          ]
        : [],
    ),
    // None comes first, and covers points that equal it.
    ...dots.toReversed().map(({ x, y, maker }) => dot(x, y, maker)),
    ...labels.map(({ x, y, name, maker }) => text(x, y, name, `fill="${COLOURS[maker]}" ${HALO}`)),
  ];
}

/** The makers in a row, right-aligned. */
function legend(): string[] {
  const makers = Object.keys(NAMES) as Maker[];
  let end = WIDTH - FRAME.right;
  return makers.toReversed().flatMap((maker) => {
    const x = end - widthOf(NAMES[maker], FONT_SIZE);
    end = x - 2 * LEGEND_GAP;
    return [dot(x - LEGEND_GAP, 25.5, maker), text(x, 30, NAMES[maker], `fill="${INK}"`)];
  });
}

/** Peers are diamonds, so that color is not the only difference. */
function dot(x: number, y: number, maker: Maker): string {
  const [left, top] = [round(x), round(y)];
  const look = `fill="${COLOURS[maker]}" stroke="${PAPER}" stroke-width="1.5"`;
  if (maker === 'peer') return `<path d="M${left} ${top}m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z" ${look}/>`;
  return `<circle cx="${left}" cy="${top}" r="5.5" ${look}/>`;
}

function gridLine(at: number, direction: 'down' | 'across'): string {
  const place = round(at);
  const ends =
    direction === 'down'
      ? `x1="${place}" x2="${place}" y1="${FRAME.top}" y2="${HEIGHT - FRAME.bottom}"`
      : `y1="${place}" y2="${place}" x1="${FRAME.left}" x2="${WIDTH - FRAME.right}"`;
  return `<line ${ends} stroke="${LINES}"/>`;
}

/** An axis with room for all values and ticks at round numbers. */
function axisOf(values: readonly number[], start: number, end: number): Axis {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const room = (most - least || 1) * MARGIN;
  const step = roundStep((most - least || 1) / TICKS);
  const from = Math.floor((least - room) / step) * step;
  const to = most + room;
  const count = Math.floor((to - from) / step) + 1;
  return {
    ticks: Array.from({ length: count }, (_, index) => Number((from + index * step).toFixed(6))),
    at: (value) => start + ((value - from) / (to - from)) * (end - start),
  };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5, 10].find((times) => times * power >= step) ?? 10);
}

function shortest(value: number): string {
  return `${Number(value.toFixed(2))}`;
}
