/** The prices of a replay, relative to a token of fresh input. */
import type { InputPrices } from '../../src/memory/models/schedules.ts';

export interface ReplayPrices extends InputPrices {
  /** Of a token of output. */
  readonly output: number;
}
