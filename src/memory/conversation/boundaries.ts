/**
 * The boundaries of one array at which a summary may end, each with its hash and sequence number.
 */

import { elementAt } from '../../lib/elements.ts';
import { once } from '../../lib/once.ts';
import type { History } from './history.ts';
import type { Boundary } from './passage.ts';
import { prefixHashes } from './prefix-hash.ts';
import type { Digest } from './refs.ts';
import { type Round, roundsOf, sequenceNumbers } from './sequence.ts';

/**
 * How many places are searched for an earlier summary, beside earlier positions of the frontier.
 */
const MOST_CANDIDATES = 1_000;

export class Boundaries {
  private readonly history: History;
  private readonly hashes: readonly string[];
  private readonly roundsOnce = once(() => roundsOf(this.history));
  private readonly numbersOnce = once(() => sequenceNumbers(this.history, this.rounds));

  constructor(history: History, digest: Digest) {
    this.history = history;
    this.hashes = prefixHashes(history.messages, digest);
  }

  get rounds(): readonly Round[] {
    return this.roundsOnce();
  }

  /** The boundary before a message. */
  at(end: number): Boundary {
    return { prefixHash: elementAt(this.hashes, end), end, sequence: elementAt(this.numbersOnce(), end) };
  }

  /** The boundary with this hash; undefined if it belongs to another array. */
  ofHash(hash: string): Boundary | undefined {
    // Preamble messages repeat the hash before them; the boundary is after the whole run.
    const end = this.hashes.lastIndexOf(hash);
    return end <= 0 ? undefined : this.at(end);
  }

  /** All boundaries between units up to a message, ascending. */
  upTo(end: number): readonly Boundary[] {
    return this.history.units
      .map((unit) => unit.first)
      .filter((first) => first < end && this.hashes[first] !== '')
      .concat(end)
      .map((first) => this.at(first));
  }

  /**
   * Boundaries before a message at which an earlier summary may have ended, ascending: all earlier
   * positions of the frontier, and the newest others, for summaries of another strategy.
   *
   * @param moves for each move, the first unit that stayed
   */
  basesBefore(end: number, moves: readonly number[]): readonly Boundary[] {
    const earlier = new Set(moves.map((unit) => this.history.units[unit]?.first));
    const all = this.upTo(end).slice(0, -1);
    const newest = all.length - MOST_CANDIDATES;
    return all.filter((boundary, index) => index >= newest || earlier.has(boundary.end));
  }

  /** The boundaries after finished rounds, ascending. Only the newest, if there are very many. */
  betweenRounds(): readonly Boundary[] {
    const { rounds } = this;
    return rounds
      .filter(({ answer }, index) => answer !== undefined || index < rounds.length - 1)
      .slice(-MOST_CANDIDATES)
      .map(({ end }) => this.at(end));
  }
}
