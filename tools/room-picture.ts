/**
 * The picture of the rooms in ARCHITECTURE.md (`npm run graph`): a box for each room
 * of `src/`, the floors from top to bottom, and arrows for imports. An arrow that follows from
 * others is left out. It has its own background, so it looks the same on light and dark pages.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INK, LINES, PALE_INK, PAPER, round, text } from '../bench/replay/svg.ts';
import { FLOORS, type ImportGraph, readImportGraph, roomOf } from './import-graph.ts';

/** The place of a room on its floor, in columns, so that no arrow crosses a box. */
const COLUMNS: Readonly<Record<string, number>> = {
  routes: 1.5,
  answer: 1,
  reference: 3,
  listeners: 1,
  view: 1,
  request: 2,
  retrieval: 0,
  summary: 2,
  protocol: 0,
  storage: 1,
  upstream: 2,
  telemetry: 3,
  tenant: 1,
  memory: 1,
  lib: 1,
};

const COLUMN = 170;
const FLOOR = 66;
const BOX = { width: 116, height: 32 } as const;
const MARGIN = 24;
const WIDTH = 3 * COLUMN + BOX.width + 2 * MARGIN;
const HEIGHT = (FLOORS.length - 1) * FLOOR + BOX.height + 2 * MARGIN;
const FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Helvetica, Arial, sans-serif";

/** The rooms that each room imports. */
export function roomImports({ imports }: ImportGraph): ReadonlyMap<string, ReadonlySet<string>> {
  const rooms = new Map(FLOORS.flat().map((room) => [room, new Set<string>()]));
  for (const [file, targets] of imports)
    for (const room of targets.map(roomOf))
      if (room !== roomOf(file) && rooms.has(room)) rooms.get(roomOf(file))?.add(room);
  return rooms;
}

/** The imports that don't follow from others, as pairs of rooms. */
export function arrowsOf(rooms: ReadonlyMap<string, ReadonlySet<string>>): [from: string, to: string][] {
  const isReached = (from: string, to: string): boolean =>
    [...(rooms.get(from) ?? [])].some((next) => next === to || isReached(next, to));
  return [...rooms].flatMap(([room, targets]) =>
    [...targets]
      .filter((target) => ![...targets].some((other) => other !== target && isReached(other, target)))
      .map((target): [string, string] => [room, target]),
  );
}

/** @throws Error for a room without a column */
export function drawRooms(graph: ImportGraph): string {
  const placed = new Map(
    FLOORS.flatMap((rooms, floor) =>
      rooms.map((room) => {
        const column = COLUMNS[room];
        if (column === undefined) throw new Error(`the room ${room} has no column`);
        return [room, { x: MARGIN + BOX.width / 2 + column * COLUMN, y: MARGIN + floor * FLOOR }] as const;
      }),
    ),
  );
  const boxes = [...placed].map(
    ([room, { x, y }]) =>
      `<rect x="${round(x - BOX.width / 2)}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${PAPER}" stroke="${INK}"/>${text(x, y + 21, room, `text-anchor="middle" fill="${INK}"`)}`,
  );
  const lines = arrowsOf(roomImports(graph)).flatMap(([from, to]) => {
    const [start, end] = [placed.get(from), placed.get(to)];
    if (!start || !end) return [];
    return `<line x1="${round(start.x)}" y1="${start.y + BOX.height}" x2="${round(end.x)}" y2="${end.y - 2}" stroke="${PALE_INK}" marker-end="url(#tip)"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" font-family="${FONT}" font-size="14" role="img" aria-label="the rooms of src/ and their imports">
<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0 8 4 0 8z" fill="${PALE_INK}"/></marker></defs>
<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="${PAPER}" stroke="${LINES}"/>
${[...lines, ...boxes].join('\n')}
</svg>
`;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  writeFileSync(join(root, 'docs/rooms.svg'), drawRooms(readImportGraph(join(root, 'src'))));
}
