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

/** What a search knows of a message, apart from its place in its own archive. */
export interface Scored {
  /** Whether it has all of the words. */
  readonly hasWords: boolean;
  /** The cosine to the words; 0 if it is not known, or not positive. */
  readonly similarity: number;
}

/**
 * Joins what a search has found in several archives. Messages with the words come first: by the
 * place in their archive, since the scores of different indexes can't be compared, and then by
 * their similarity. The others come by similarity, whose scale is the same in all of them: one
 * vector of one model was compared.
 *
 * @param lists best first, each with the words before the others
 * @returns all messages, best first; of equals the one of an earlier list
 */
export function mergeArchives<Hit extends Scored>(lists: readonly (readonly Hit[])[]): Hit[] {
  const placed = lists.flatMap((hits) =>
    hits.map((hit, index) => ({ hit, place: hit.hasWords ? index : Number.MAX_SAFE_INTEGER })),
  );
  placed.sort((one, other) => one.place - other.place || other.hit.similarity - one.hit.similarity);
  return placed.map(({ hit }) => hit);
}
