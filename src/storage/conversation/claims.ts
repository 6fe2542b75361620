/**
 * Who may write a text that several callers need: a version of the memory, or the digest of an
 * output. One of them writes it under a lease while the others wait. A lease that has expired is
 * taken over, and after a failure nobody writes for a while.
 */
import { afterFailure, type Health, isHeld, isResting } from './memories.ts';

/**
 * After so many attempts, including those of lost writers, another lost writer counts as a failure.
 */
const MOST_TAKEOVERS = 5;

/** A row of a text that is being written. Times are milliseconds since the epoch. */
export type Ticket = {
  readonly attempts: number;
  readonly lease_until: number;
  readonly created_at: number;
};

export type Turn<Row extends Ticket> =
  /** Another caller is the writer of this row. */
  | { readonly state: 'busy'; readonly row: Row }
  | {
      /** `free`: the caller may write. `resting`: nobody may before `health.retryAt`. */
      readonly state: 'free' | 'resting';
      /** To be stored if it is another one. */
      readonly health: Health;
      /** Rows whose writer is lost, to be closed. */
      readonly lost: readonly Row[];
      /** The number of the attempt that begins. */
      readonly attempts: number;
    };

/**
 * @param rows of the text, as far as they have no end
 * @param health how writing has gone lately
 * @param now milliseconds since the epoch
 * @param retryIntervalMs the first rest after a failure
 */
export function turnOf<Row extends Ticket>(
  rows: readonly Row[],
  health: Health,
  now: number,
  retryIntervalMs: number,
): Turn<Row> {
  const held = rows.find((row) => isHeld(row, now));
  if (held) return { state: 'busy', row: held };
  const attempts = 1 + Math.max(0, ...rows.map((row) => row.attempts));
  if (isResting(health, now)) return { state: 'resting', health, lost: [], attempts };
  // A writer that never ends, not even with a failure, would otherwise be replaced forever.
  if (rows.length > 0 && attempts > MOST_TAKEOVERS)
    return { state: 'resting', health: afterFailure(health, now, retryIntervalMs), lost: rows, attempts };
  const recovering = health.state === 'degraded' ? { ...health, state: 'recovering' as const } : health;
  return { state: 'free', health: recovering, lost: rows, attempts };
}
