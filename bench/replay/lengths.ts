/** Conversations by their length: the tokens of the largest request without a policy. */
import type { DataSet, PolicyOutcomes } from './results.ts';

/** Upper bounds of the classes, in tokens. */
const BOUNDS = [16_000, 32_000, 64_000, 128_000, Number.POSITIVE_INFINITY];

/** The data set's classes that have conversations, shortest first. */
export function byLength(set: DataSet): DataSet[] {
  return BOUNDS.flatMap((bound, at) => {
    const least = BOUNDS[at - 1] ?? 0;
    const isIn = set.none.outcomes.map(({ bill }) => bill.peak >= least && bill.peak < bound);
    const only = (policy: PolicyOutcomes): PolicyOutcomes => ({
      ...policy,
      outcomes: policy.outcomes.filter((_, index) => isIn[index]),
    });
    if (!isIn.includes(true)) return [];
    return [{ name: nameOf(least, bound), none: only(set.none), others: set.others.map(only) }];
  });
}

function nameOf(least: number, bound: number): string {
  if (least === 0) return `under ${bound / 1_000}k`;
  return bound === Number.POSITIVE_INFINITY
    ? `${least / 1_000}k and more`
    : `${least / 1_000}k–${bound / 1_000}k`;
}
