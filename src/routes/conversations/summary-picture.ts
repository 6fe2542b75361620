/** The summary of some days as a picture (SVG): its sentences, and a bar for each day. */
import { escaped } from '../../lib/markup.ts';
import { type DaySums, netOf, paidOf } from '../../memory/run/day-sums.ts';

const WIDTH = 640;
const MARGIN = 24;
const LINE = 22;
/** In characters of the usual width. */
const LINE_LENGTH = 78;
const BARS = 72;

const STYLE = `text{font:15px system-ui,sans-serif;fill:#1c1b19}.note{font-size:12px;fill:#5f5b54}
.ground{fill:#fff;stroke:#d9d5cd}.paid{fill:#3b6ea5}.saved{fill:#a9cdb0}
@media(prefers-color-scheme:dark){text{fill:#ece9e3}.note{fill:#a8a39a}
.ground{fill:#1c1b19;stroke:#45413a}.paid{fill:#7fb0e0}.saved{fill:#4d7a57}}`;

/** @param text see `summaryText` @param days the oldest first */
export function summaryPicture(text: string, days: readonly DaySums[]): string {
  const lines = wrapped(text);
  const below = MARGIN + lines.length * LINE + 10;
  const bars = barsOf(days, below);
  const height = below + (bars === '' ? 0 : BARS + LINE + 10) + MARGIN / 2;
  const spans = lines.map(
    (line, at) => `<tspan x="${MARGIN}" dy="${at === 0 ? 0 : LINE}">${escaped(line)}</tspan>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(text)}"><style>${STYLE}</style><rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/><text y="${MARGIN + 12}">${spans.join('')}</text>${bars}</svg>`;
}

/** What was paid on each day, and what was saved on top of it; empty if neither is known. */
function barsOf(days: readonly DaySums[], top: number): string {
  const known = days.map((sums) => ({ paid: paidOf(sums) ?? 0, saved: Math.max(0, netOf(sums) ?? 0) }));
  const most = Math.max(...known.map(({ paid, saved }) => paid + saved), 0);
  if (most === 0 || days.length < 2) return '';
  const step = (WIDTH - 2 * MARGIN) / days.length;
  const width = round(Math.min(48, step * 0.8));
  const bars = known.map(({ paid, saved }, at) => {
    const x = round(MARGIN + at * step + (step - width) / 2);
    const [low, high] = [round((BARS * paid) / most), round((BARS * saved) / most)];
    const bar = (of: string, y: number, height: number): string =>
      height === 0
        ? ''
        : `<rect class="${of}" x="${x}" y="${round(y)}" width="${width}" height="${height}"/>`;
    return bar('saved', top + BARS - low - high, high) + bar('paid', top + BARS - low, low);
  });
  const legend = top + BARS + LINE;
  return `${bars.join('')}<text class="note" x="${MARGIN}" y="${legend}">paid (dark) and saved (light) by day, UTC</text>`;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length >= LINE_LENGTH) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function round(value: number): number {
  return Math.round(100 * value) / 100;
}
