/** The difference of two texts, line by line. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** More lines on both sides together are not compared, since that takes their product. */
const MOST_PRODUCT = 1_000_000;

/** Undefined if the texts are too long to compare. */
export function lineDiff(before: string, after: string): DiffLine[] | undefined {
  const old = before.split('\n');
  const now = after.split('\n');
  if (old.length * now.length > MOST_PRODUCT) return undefined;
  const common = commonLengths(old, now);
  const lines: DiffLine[] = [];
  let at = 0;
  let to = 0;
  while (at < old.length || to < now.length) {
    const gone = old[at];
    const come = now[to];
    if (gone !== undefined && gone === come) {
      lines.push({ kind: 'same', text: gone });
      at++;
      to++;
    } else if (come === undefined || (gone !== undefined && common(at + 1, to) >= common(at, to + 1))) {
      lines.push({ kind: 'removed', text: gone ?? '' });
      at++;
    } else {
      lines.push({ kind: 'added', text: come });
      to++;
    }
  }
  return lines;
}

/** The length of the longest common subsequence from each pair of places on. */
function commonLengths(old: readonly string[], now: readonly string[]): (at: number, to: number) => number {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const of = (at: number, to: number): number => lengths[at * width + to] ?? 0;
  for (let at = old.length - 1; at >= 0; at--)
    for (let to = now.length - 1; to >= 0; to--)
      lengths[at * width + to] =
        old[at] === now[to] ? 1 + of(at + 1, to + 1) : Math.max(of(at + 1, to), of(at, to + 1));
  return of;
}
