/** Replays conversations under policies, request by request. */
import type { InputPrices } from '../../src/memory/prices/schedules.ts';
import { holds } from '../reuse.ts';
import { type Bill, billOf } from './bill.ts';
import type { Conversation } from './conversation.ts';
import type { Policy, Replay, View } from './policy.ts';

/** The result of one conversation under one policy. */
export interface Outcome {
  readonly bill: Bill;
  readonly values: readonly ValueOutcome[];
}

/** Where a value was when the agent needed it again. */
export interface ValueOutcome {
  /** In the view. */
  readonly visible: boolean;
  /** In the view, or available by a ref in it. */
  readonly reachable: boolean;
}

export function replayUnder(policy: Policy, conversation: Conversation, prices: InputPrices): Outcome {
  const { points, overhead, trace } = conversation;
  const replay = policy.start(conversation);
  const views = points.map((count) => replay.view(count));
  return {
    bill: billOf(
      views.map((view) => ({ ...view, overhead })),
      prices,
    ),
    values: trace.reuse.flatMap(({ value, used }) => {
      const view = views[points.findLastIndex((count) => count <= used)];
      return view ? [lookFor(value, view, replay)] : [];
    }),
  };
}

function lookFor(value: string, { messages }: View, replay: Replay): ValueOutcome {
  const visible = messages.some(({ text }) => holds(text, value));
  const reachable = visible || canBeFetched(value, messages, replay);
  return { visible, reachable };
}

function canBeFetched(value: string, messages: View['messages'], replay: Replay): boolean {
  const refs = new Set(messages.flatMap(({ refs }) => refs));
  for (const ref of refs) if (replay.fetch(ref).some((text) => holds(text, value))) return true;
  return false;
}
