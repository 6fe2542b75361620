/**
 * Sums by name, as they are added up by day: cache misses by cause (docs/money.md#misses), failures
 * by status, and requests by model.
 */
import type { Nanodollars } from '../money/amounts.ts';
import type { CacheMiss, MissCause } from '../replay/change-schema.ts';

export interface MissSum {
  readonly requests: number;
  readonly tokens: number;
  /** Null if the amount of one of them is not known. */
  readonly amount: Nanodollars | null;
}

export type MissSums = Readonly<Partial<Record<MissCause, MissSum>>>;

/** By the status of the answer, or `broken` for streams that the upstream has broken off. */
export type FailureSums = Readonly<Record<string, { readonly requests: number }>>;

export interface ModelSum {
  readonly requests: number;
  /** Answers with an error's status. */
  readonly failed: number;
  /** Requests whose bill is known completely. The last three are theirs alone. */
  readonly billed: number;
  /** Answers of the model without such a bill, and that were not only observed. */
  readonly unbilled: number;
  /** Bills whose cache writes are estimated. */
  readonly about: number;
  readonly would_be: Nanodollars;
  /** Without what the summarizer has cost. */
  readonly sent: Nanodollars;
}

/** By the name in the request; empty where it names none. */
export type ModelSums = Readonly<Record<string, ModelSum>>;

export function missSumsOf({ cause, tokens, amount }: CacheMiss): MissSums {
  return { [cause]: { requests: 1, tokens, amount } };
}
