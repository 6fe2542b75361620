/** Sums of cache misses by cause (docs/money.md#misses), as they are added up by day. */
import type { Nanodollars } from '../money/amounts.ts';
import type { CacheMiss, MissCause } from '../replay/change-schema.ts';

export interface MissSum {
  readonly requests: number;
  readonly tokens: number;
  /** Null if the amount of one of them is not known. */
  readonly amount: Nanodollars | null;
}

export type MissSums = Readonly<Partial<Record<MissCause, MissSum>>>;

export function missSumsOf({ cause, tokens, amount }: CacheMiss): MissSums {
  return { [cause]: { requests: 1, tokens, amount } };
}

export function joinMissSums(one: MissSums, other: MissSums): MissSums {
  const joined: Record<string, MissSum> = { ...one };
  for (const [cause, sum] of Object.entries(other)) {
    const known = joined[cause];
    joined[cause] = known ? plus(known, sum) : sum;
  }
  return joined;
}

function plus(one: MissSum, other: MissSum): MissSum {
  return {
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    amount: one.amount === null || other.amount === null ? null : one.amount + other.amount,
  };
}
