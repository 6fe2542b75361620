/** Joins rankings. Pure. */

/** How much the first ranks count more than later ones: the constant of the paper below. */
const K = 60;

/**
 * Reciprocal rank fusion: an item scores 1 / (60 + its rank) in each list that has it, so lists are
 * joined by their order alone and their scores need no common scale (Cormack, Clarke and Büttcher:
 * "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009,
 * https://doi.org/10.1145/1571941.1572114).
 *
 * @param lists best first, each item once per list
 * @returns all items, best first; of equal scores the one that an earlier list names first
 */
export function fuseRanks<Item>(lists: readonly (readonly Item[])[]): Item[] {
  const scores = new Map<Item, number>();
  for (const list of lists)
    for (const [index, item] of list.entries())
      scores.set(item, (scores.get(item) ?? 0) + 1 / (K + index + 1));
  return [...scores].sort(([, one], [, other]) => other - one).map(([item]) => item);
}
