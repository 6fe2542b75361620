/**
 * Pauses before requests, drawn from public counts:
 *
 * - up to the 99th percentile, the time from an answer to the session's next request in a trace of
 *   a provider's coding agents (https://gitea.gahow.org/gahow/agentic-kvc, commit 54e1f5266a: 783,000
 *   pauses; read 2026-11);
 * - beyond it, pauses of ten minutes or more in the sessions of a user of Claude Code
 *   (https://github.com/anthropics/claude-code/issues/94177, 2026-09-14: 3,218 pauses).
 *
 * Between two points of a count the logarithm of the time is linear.
 */
import { Random } from '../random.ts';

/** In seconds, by the share of pauses that are shorter. */
const QUANTILES: readonly (readonly [share: number, seconds: number])[] = [
  [0, 0.1],
  [0.25, 0.69],
  [0.5, 1.6],
  [0.75, 8.6],
  [0.9, 44],
  [0.99, 738],
];

/** Pauses of ten minutes or more: how many are up to a number of minutes. The last one is a day. */
const LONG: readonly (readonly [minutes: number, count: number])[] = [
  [20, 1_335],
  [30, 487],
  [45, 318],
  [60, 146],
  [75, 97],
  [120, 161],
  [24 * 60, 674],
];

/** The pauses before a conversation's requests, in seconds. The same for the same seed. */
export function pausesOf(requests: number, seed: number): readonly number[] {
  const random = new Random(seed);
  return Array.from({ length: requests }, () => pauseAt(random.next()));
}

/** @param share of the pauses that are shorter */
export function pauseAt(share: number): number {
  const points = allPoints();
  const next = points.findIndex(([under]) => share < under);
  const [from, to] = [points[next - 1], points[next]];
  if (!from || !to) throw new RangeError(`${share} is no share`);
  const part = (share - from[0]) / (to[0] - from[0]);
  return from[1] * (to[1] / from[1]) ** part;
}

function allPoints(): (readonly [share: number, seconds: number])[] {
  const [under, seconds] = QUANTILES.at(-1) ?? [0, 0];
  // Of the first long ones, those that are longer than the last quantile.
  const [first = [0, 0], ...rest] = LONG;
  const inFirst = (first[1] * Math.log((60 * first[0]) / seconds)) / Math.log(first[0] / 10);
  const counts = [inFirst, ...rest.map(([, count]) => count)];
  const all = counts.reduce((sum, count) => sum + count, 0);
  let share = under;
  const long = LONG.map(([minutes], at) => {
    share += ((1 - under) * (counts[at] ?? 0)) / all;
    return [at === LONG.length - 1 ? 1 : share, 60 * minutes] as const;
  });
  return [...QUANTILES, ...long];
}
