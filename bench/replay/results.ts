/** The figures of each policy over the conversations of a data set. */
import { type Bill, sumOfBills } from './bill.ts';
import { type Interval, intervalOf, type Part } from './bootstrap.ts';
import { MOST_ROLL_UPS } from './constraints.ts';
import type { Outcome } from './measure.ts';
import type { Maker } from './policy.ts';

/** A conversation is dearer if it costs more than this, relative to none. */
export const DEARER = 1.03;

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
  /** Of `paidToNone`, over the conversations; undefined for a single one. */
  readonly paidInterval: Interval | undefined;
  /** The total cost without the fetches', relative to none. */
  readonly paidWithoutFetches: number;
  /** In tokens (see `savings.ts`). */
  readonly savedGross: number;
  readonly savedUnique: number;
  /** Cached tokens as a share of those sent. */
  readonly hitRate: number;
  /** Conversations of which something was removed. */
  readonly changed: number;
  /** Conversations that cost more than `DEARER` times their cost without a policy. */
  readonly dearer: number;
  /** The cost of each conversation relative to its cost without a policy, and the highest one. */
  readonly ratios: readonly number[];
  readonly worst: number;
  /** How many values were in the view, and in the view or available by a ref in it. */
  readonly visible: number;
  readonly reachable: number;
  /** Of the share of visible values, over the conversations. */
  readonly visibleInterval: Interval | undefined;
  /** Of the words that answers took from outputs they had just read: those in the view. */
  readonly near: number;
  readonly nearInterval: Interval | undefined;
  /** Likewise from large outputs. */
  readonly nearLarge: number;
  /** Those in the view or available by a ref in it. */
  readonly nearReachable: number;
  /** By the number of roll-ups. Empty without constraints. */
  readonly constraints: readonly ConstraintFigures[];
}

/** What is left of the constraints after a number of roll-ups (see `constraints.ts`). */
export interface ConstraintFigures {
  readonly rollUps: number;
  readonly conversations: number;
  readonly given: number;
  readonly kept: number;
}

export interface DataSetFigures {
  readonly name: string;
  readonly conversations: number;
  readonly requests: number;
  readonly values: number;
  /** Words that answers took from outputs they had just read, and those from large outputs. */
  readonly nearValues: number;
  readonly nearLargeValues: number;
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
    nearValues: nearOf(none).length,
    nearLargeValues: nearOf(none).filter(({ large }) => large).length,
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
  const near = nearOf(policy);
  const costs = policy.outcomes.map((outcome, index) => ({
    part: outcome.bill.paid,
    whole: none.outcomes[index]?.bill.paid ?? Number.NaN,
  }));
  const ratios = costs.map(({ part, whole }) => part / whole);
  const saved = (pick: (savings: Outcome['savings']) => number): number =>
    policy.outcomes.reduce((sum, { savings }) => sum + pick(savings), 0);
  return {
    name: policy.name,
    maker: policy.maker,
    ...bill,
    tokensToNone: bill.tokens / base.tokens,
    paidToNone: bill.paid / base.paid,
    paidInterval: intervalOf(costs),
    paidWithoutFetches: (bill.paid - bill.fetches) / base.paid,
    savedGross: saved(({ gross }) => gross),
    savedUnique: saved(({ unique }) => unique),
    hitRate: bill.cached / bill.tokens,
    ratios,
    changed: policy.outcomes.filter(({ savings }) => savings.unique > 0).length,
    dearer: ratios.filter((ratio) => ratio > DEARER).length,
    worst: ratios.reduce((most, ratio) => Math.max(most, ratio), 0),
    visible: values.filter(({ visible }) => visible).length,
    visibleInterval: intervalOf(policy.outcomes.map(({ values }) => visibleOf(values))),
    near: near.filter(({ visible }) => visible).length,
    nearInterval: intervalOf(policy.outcomes.map(({ near }) => visibleOf(near))),
    nearLarge: near.filter(({ visible, large }) => visible && large).length,
    nearReachable: near.filter(({ reachable }) => reachable).length,
    constraints: constraintFigures(policy.outcomes),
    reachable: values.filter(({ reachable }) => reachable).length,
  };
}

function constraintFigures(outcomes: readonly Outcome[]): ConstraintFigures[] {
  const all = outcomes.flatMap(({ constraints }) => constraints);
  return Array.from({ length: MOST_ROLL_UPS + 1 }, (_, rollUps) => {
    const those = all.filter((one) => one.rollUps === rollUps);
    return {
      rollUps,
      conversations: those.length,
      given: those.reduce((sum, { given }) => sum + given, 0),
      kept: those.reduce((sum, { kept }) => sum + kept, 0),
    };
  }).filter(({ conversations }) => conversations > 0);
}

function visibleOf(values: Outcome['values']): Part {
  return { part: values.filter(({ visible }) => visible).length, whole: values.length };
}

function valuesOf({ outcomes }: PolicyOutcomes): Outcome['values'] {
  return outcomes.flatMap(({ values }) => values);
}

function nearOf({ outcomes }: PolicyOutcomes): Outcome['near'] {
  return outcomes.flatMap(({ near }) => near);
}
