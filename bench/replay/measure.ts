/** Replays conversations under policies, request by request. */

import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import { holds } from '../../src/memory/run/near-use.ts';
import type { Reuse } from '../reuse.ts';
import { type Bill, billOf, type PricedRequest } from './bill.ts';
import { constraintsIn, type Survival, survivalIn } from './constraints.ts';
import type { Conversation } from './conversation.ts';
import { roundsOf } from './fetches.ts';
import type { Policy, Replay, View } from './policy.ts';
import { type Savings, savingsOf } from './savings.ts';

/** A conversation as it is sent under a policy, not yet billed. */
export interface Replayed {
  readonly requests: readonly PricedRequest[];
  readonly values: readonly ValueOutcome[];
  readonly near: readonly NearOutcome[];
  readonly savings: Savings;
  readonly constraints: readonly Survival[];
}

/** The result of one conversation under one policy. */
export interface Outcome extends Omit<Replayed, 'requests'> {
  readonly bill: Bill;
}

/** Where a value was when the agent needed it again. */
export interface ValueOutcome {
  /** In the view. */
  readonly visible: boolean;
  /** In the view, or available by a ref in it. */
  readonly reachable: boolean;
}

/** Where a word was that an answer took from an output it had just read (see `near-use.ts`). */
export interface NearOutcome extends ValueOutcome {
  readonly large: boolean;
}

/** A ref that leads to a value. */
interface Way {
  readonly ref: string;
  /** How many texts have to be fetched, one after the other. */
  readonly depth: number;
}

export async function replay(policy: Policy, conversation: Conversation): Promise<Replayed> {
  const { points, overhead, trace } = conversation;
  const replay = policy.start(conversation);
  const views: View[] = [];
  for (const count of points) views.push(await replay.view(count));
  const depths = views.map(() => new Map<string, number>());
  const find = ({ value, used }: Reuse): ValueOutcome | undefined => {
    const at = points.findLastIndex((count) => count <= used);
    const [view, fetched] = [views[at], depths[at]];
    return view && fetched && lookFor(value, view, replay, fetched);
  };
  const values = trace.reuse.flatMap((reuse) => find(reuse) ?? []);
  const near = conversation.nearUse.flatMap((use) => {
    const found = find(use);
    return found ? [{ ...found, large: use.large }] : [];
  });
  const requests = views.map((view, at) => ({
    ...view,
    overhead: overhead + (view.addedTools ?? 0),
    rounds: roundsOf(depths[at] ?? new Map()),
  }));
  const checked = views.map(({ messages, rollUps = 0 }, at) => ({
    messages,
    rollUps,
    count: points[at] ?? 0,
  }));
  const constraints = survivalIn(constraintsIn(trace.messages), checked);
  return { requests, values, near, savings: savingsOf(conversation, requests), constraints };
}

export function outcomeOf({ requests, ...rest }: Replayed, prices: RelativePrices): Outcome {
  return { ...rest, bill: billOf(requests, prices) };
}

/** @param fetched depths of the refs that are fetched for this view; gets those for the value */
function lookFor(
  value: string,
  { messages }: View,
  replay: Replay,
  fetched: Map<string, number>,
): ValueOutcome {
  // Words that are used soon are at the end.
  if (messages.findLast(({ text }) => holds(text, value))) return { visible: true, reachable: true };
  // A ref that is fetched anyway comes first.
  const refs = new Set([...fetched.keys(), ...messages.flatMap(({ refs }) => refs)]);
  const way = wayTo(value, refs, replay);
  if (way) fetched.set(way.ref, Math.max(way.depth, fetched.get(way.ref) ?? 0));
  return { visible: false, reachable: way !== undefined };
}

function wayTo(value: string, refs: Iterable<string>, replay: Replay): Way | undefined {
  let shortest: Way | undefined;
  for (const ref of refs) {
    const depth = replay.fetch(ref).findIndex((text) => holds(text, value)) + 1;
    if (depth > 0 && depth < (shortest?.depth ?? Number.POSITIVE_INFINITY)) shortest = { ref, depth };
    if (depth === 1) break;
  }
  return shortest;
}
