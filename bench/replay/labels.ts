/** Places the names of points so that no name covers another name or a point. */

interface Dot {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

/** The space for labels, and their font size. */
export interface LabelRoom {
  readonly fontSize: number;
  readonly width: number;
  readonly top: number;
  readonly height: number;
}

/** A name, and the start of its baseline. */
export type Label<Point extends Dot> = Point & {
  /** A line from the point to the name, if the distance is large. */
  readonly leader?: readonly (readonly [number, number])[];
};

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Distances between point and label to try, nearest first. */
const DISTANCES = [11, 18, 28, 40, 54, 70, 90, 115];
const DIRECTIONS = 16;
/** From this distance a line leads to the label. */
const LEADER_FROM = 28;
const DOT_RADIUS = 8;
const GAP = 2;

/** Width of a letter relative to its height, a little more than in most fonts. */
const LETTER = 0.56;

/** Approximate width of a text. */
export function widthOf(text: string, fontSize: number): number {
  return text.length * fontSize * LETTER;
}

export function placeLabels<Point extends Dot>(dots: readonly Point[], room: LabelRoom): Label<Point>[] {
  const taken = dots.map(({ x, y }): Box => around(x, y, DOT_RADIUS));
  // Crowded points have the least choice, so they come first.
  const order = dots.toSorted((a, b) => crowd(a, dots) - crowd(b, dots));
  const placed = new Map<Point, Label<Point>>();
  for (const dot of order) {
    const { box, distance } = placeOf(dot, taken, room);
    taken.push(box);
    const far = distance >= LEADER_FROM;
    placed.set(dot, {
      ...dot,
      x: box.left + GAP,
      y: box.bottom - GAP - room.fontSize * 0.2,
      ...(far ? { leader: leaderTo(dot, box) } : {}),
    });
  }
  return dots.flatMap((dot) => placed.get(dot) ?? []);
}

/** The nearest free place, or the last one tried. */
function placeOf(dot: Dot, taken: readonly Box[], room: LabelRoom): { box: Box; distance: number } {
  const width = widthOf(dot.name, room.fontSize) + 2 * GAP;
  const height = room.fontSize + 2 * GAP;
  let place = { box: around(dot.x, dot.y, 0), distance: 0 };
  for (const distance of DISTANCES)
    for (let turn = 0; turn < DIRECTIONS; turn++) {
      const angle = (2 * Math.PI * turn) / DIRECTIONS;
      const [x, y] = [dot.x + distance * Math.cos(angle), dot.y + distance * Math.sin(angle)];
      // The label's edge nearest to the point touches the circle around it.
      const left = x - (width * (1 - Math.cos(angle))) / 2;
      const top = y - (height * (1 - Math.sin(angle))) / 2;
      const box = { left, right: left + width, top, bottom: top + height };
      place = { box, distance };
      if (fits(box, room) && taken.every((other) => !overlap(box, other))) return place;
    }
  return place;
}

function leaderTo({ x, y }: Dot, box: Box): [number, number][] {
  const nearest: [number, number] = [
    Math.min(Math.max(x, box.left), box.right),
    Math.min(Math.max(y, box.top), box.bottom),
  ];
  return [[x, y], nearest];
}

/** The distance to the nearest other point. */
function crowd(dot: Dot, dots: readonly Dot[]): number {
  const others = dots.filter((other) => other !== dot);
  return Math.min(...others.map(({ x, y }) => Math.hypot(x - dot.x, y - dot.y)));
}

function around(x: number, y: number, radius: number): Box {
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}

function fits({ left, right, top, bottom }: Box, room: LabelRoom): boolean {
  return left >= GAP && right <= room.width && top >= room.top && bottom <= room.height;
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
}
