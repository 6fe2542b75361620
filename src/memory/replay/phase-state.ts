/** All that the phases of `auto` have come to by a request point, as a value without the array. */
import type { Removal } from '../edits/removal.ts';
import type { FloorState } from './floor.ts';
import type { JournalEntry } from './journal.ts';
import type { RoundsState } from './kept-rounds.ts';
import type { PhaseStanding } from './phase-standing.ts';
import type { WorthState } from './phase-worth.ts';
import type { Refusal } from './refusal.ts';
import type { SeenState } from './seen-outputs.ts';

export interface PhaseState {
  /** Settled: no request point has begun since. */
  readonly standing: PhaseStanding;
  readonly turnsCut: number;
  readonly refused: readonly Refusal[];
  /** Of the journal. */
  readonly entries: readonly JournalEntry[];
  readonly rounds: RoundsState;
  readonly floor: FloorState;
  readonly worth: WorthState;
  readonly seen: SeenState | undefined;
  /** Of units that the heavy phase has not passed: what the light one has found there. */
  readonly light: readonly { readonly unit: number; readonly removals: readonly Removal[] }[];
}
