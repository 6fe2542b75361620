/** Compares policies on the same conversations. */

import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import type { TokenCounter } from '../../src/memory/tokens/tokens.ts';
import type { ReuseTrace } from '../reuse.ts';
import { Conversation } from './conversation.ts';
import { type Outcome, outcomeOf, replay } from './measure.ts';
import type { Policies } from './policies.ts';
import type { Policy } from './policy.ts';
import type { DataSet, PolicyOutcomes } from './results.ts';

/** The outcomes of all policies for the conversations of a data set. */
export async function compare(
  name: string,
  traces: readonly ReuseTrace[],
  { none, others }: Pick<Policies, 'none' | 'others'>,
  prices: RelativePrices,
  counter: TokenCounter,
): Promise<DataSet> {
  const policies = [none, ...others];
  const outcomes: Outcome[][] = policies.map(() => []);
  // Conversation by conversation, so that all policies share the cached counts.
  for (const trace of traces) {
    const conversation = new Conversation(trace, counter);
    for (const [index, policy] of policies.entries())
      outcomes[index]?.push(outcomeOf(await replay(policy, conversation), prices));
  }
  const of = ({ name, maker }: Policy, index: number): PolicyOutcomes => ({
    name,
    maker,
    outcomes: outcomes[index] ?? [],
  });
  return { name, none: of(none, 0), others: others.map((policy, index) => of(policy, index + 1)) };
}
