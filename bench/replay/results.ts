/** The figures of each policy over the conversations of a data set. */
import { type Bill, sumOfBills } from './bill.ts';
import type { Outcome } from './measure.ts';
import type { Maker } from './policy.ts';

/** A conversation is dearer if it costs more than this, relative to none. */
export const DEARER = 1.05;

/** A policy's outcomes, one per conversation, in the same order for all policies. */
export interface PolicyOutcomes {
  readonly name: string;
  readonly maker: Maker;
  readonly outcomes: readonly Outcome[];
}

export interface DataSet {
  readonly name: string;
  readonly none: PolicyOutcomes;
  readonly others: readonly PolicyOutcomes[];
}

export interface PolicyFigures extends Bill {
  readonly name: string;
  readonly maker: Maker;
  /** Tokens sent, and total cost, relative to none. */
  readonly tokensToNone: number;
  readonly paidToNone: number;
  /** Cached tokens as a share of those sent. */
  readonly hitRate: number;
  /** Conversations that cost more than `DEARER` times their cost without a policy. */
  readonly dearer: number;
  /** How many values were in the view, and in the view or available by a ref in it. */
  readonly visible: number;
  readonly reachable: number;
}

export interface DataSetFigures {
  readonly name: string;
  readonly conversations: number;
  readonly requests: number;
  readonly values: number;
  /** None comes first. */
  readonly policies: readonly PolicyFigures[];
}

export function figuresOf({ name, none, others }: DataSet): DataSetFigures {
  const policies = [none, ...others].map((policy) => policyFigures(policy, none));
  return {
    name,
    conversations: none.outcomes.length,
    requests: policies[0]?.requests ?? 0,
    values: valuesOf(none).length,
    policies,
  };
}

/** Merges all data sets. */
export function together(sets: readonly DataSet[]): DataSet {
  const join = (policies: readonly PolicyOutcomes[]): PolicyOutcomes => {
    const [first] = policies;
    if (!first) throw new Error('there are no data sets');
    return { ...first, outcomes: policies.flatMap(({ outcomes }) => outcomes) };
  };
  const others = sets[0]?.others ?? [];
  return {
    name: 'all',
    none: join(sets.map(({ none }) => none)),
    others: others.map((_, index) => join(sets.flatMap((set) => set.others[index] ?? []))),
  };
}

function policyFigures(policy: PolicyOutcomes, none: PolicyOutcomes): PolicyFigures {
  const bill = sumOfBills(policy.outcomes.map(({ bill }) => bill));
  const base = sumOfBills(none.outcomes.map(({ bill }) => bill));
  const values = valuesOf(policy);
  const costs = (of: Outcome | undefined): number => of?.bill.paid ?? Number.NaN;
  return {
    name: policy.name,
    maker: policy.maker,
    ...bill,
    tokensToNone: bill.tokens / base.tokens,
    paidToNone: bill.paid / base.paid,
    hitRate: bill.cached / bill.tokens,
    dearer: policy.outcomes.filter((outcome, index) => costs(outcome) > DEARER * costs(none.outcomes[index]))
      .length,
    visible: values.filter(({ visible }) => visible).length,
    reachable: values.filter(({ reachable }) => reachable).length,
  };
}

function valuesOf({ outcomes }: PolicyOutcomes): Outcome['values'] {
  return outcomes.flatMap(({ values }) => values);
}
