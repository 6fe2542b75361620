/**
 * The places of one array up to which a summary may reach, each with its hash and its sequence
 * number.
 */

import type { Digest } from '../edits/placeholder.ts';
import type { History } from './history.ts';
import type { Boundary } from './passage.ts';
import { prefixHashes } from './prefix-hash.ts';
import { type Round, roundsOf, sequenceNumbers } from './sequence.ts';

/**
 * Of so many places an earlier summary is looked for, beside those where the frontier has stood.
 */
const MOST_CANDIDATES = 1_000;

export class Boundaries {
  readonly rounds: readonly Round[];
  private readonly history: History;
  private readonly hashes: readonly string[];
  private readonly numbers: Int32Array;

  constructor(history: History, digest: Digest) {
    this.history = history;
    this.hashes = prefixHashes(history.messages, digest);
    this.rounds = roundsOf(history);
    this.numbers = sequenceNumbers(history, this.rounds);
  }

  /** The boundary before a message. */
  at(end: number): Boundary {
    return { prefixHash: this.hashes[end] ?? '', end, sequence: this.numbers[end] ?? -1 };
  }

  /** The boundary that a hash names; undefined when it is of another array. */
  ofHash(hash: string): Boundary | undefined {
    // Preamble repeats the hash before it; a boundary stands behind the whole run.
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
   * The boundaries before a message at which an earlier summary may have ended, ascending: wherever
   * the frontier has stood, and the newest others, for summaries of another strategy.
   *
   * @param moves the first unit that stayed, for each move
   */
  basesBefore(end: number, moves: readonly number[]): readonly Boundary[] {
    const stood = new Set(moves.map((unit) => this.history.units[unit]?.first));
    const all = this.upTo(end).slice(0, -1);
    const newest = all.length - MOST_CANDIDATES;
    return all.filter((boundary, index) => index >= newest || stood.has(boundary.end));
  }

  /**
   * The boundaries behind rounds that are over, ascending; the newest ones, where there are very
   * many.
   */
  betweenRounds(): readonly Boundary[] {
    const { rounds } = this;
    return rounds
      .filter(({ answer }, index) => answer !== undefined || index < rounds.length - 1)
      .slice(-MOST_CANDIDATES)
      .map(({ end }) => this.at(end));
  }
}
