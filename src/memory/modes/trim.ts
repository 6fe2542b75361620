/** `trim`: drops the oldest turns, and stores nothing. */

import * as z from 'zod';
import { HeldTokens, heldMessages } from '../conversation/bonds.ts';
import { goesWithSteps, type History, messagesOf } from '../conversation/history.ts';
import { settingsOf } from '../edits/removal.ts';
import { CursorMover } from '../replay/cursor-mover.ts';
import { replayOn } from '../replay/known-replay.ts';
import type { Effect } from '../replay/mover.ts';
import { type Cuts, frontierUnit } from '../replay/rule.ts';
import { UnitCursor } from '../replay/unit-cursor.ts';
import { count, editing, tailFault } from '../strategy/fields.ts';
import { type TokenSums, unitSums } from '../tokens/sums.ts';
import type { MemoryMode, ReplayRequest } from './mode.ts';
import type { PlanContext, Planned } from './planned.ts';
import { turnTail } from './tails.ts';

const schema = z.strictObject({
  mode: z.literal('trim'),
  ...editing,
  max_turns: count.optional(),
  max_messages: count.optional(),
  keep_last_n_turns: count.optional(),
});

type TrimStrategy = z.output<typeof schema>;

export const trim = {
  schema,
  contradiction: (strategy: TrimStrategy) => tailFault(strategy, 'keep_last_n_turns', 'max_turns'),
  replayed: {
    triggers: ({ max_turns, max_messages }: TrimStrategy) => ({
      turnsDue: max_turns,
      messagesDue: max_messages,
    }),
    tail: ({ keep_last_n_turns, max_turns }: TrimStrategy) => turnTail(keep_last_n_turns, max_turns),
    plan: planTrim,
  },
} as const satisfies MemoryMode<TrimStrategy>;

function planTrim(strategy: TrimStrategy, request: ReplayRequest, context: PlanContext): Planned {
  const { history, rule, sums, inView } = request;
  const effect = trimEffect(history, sums);
  const cursor = new UnitCursor(history, rule, effect, new HeldTokens(history, effect.whole));
  const mover = new CursorMover(rule, cursor, inView, 'trim');
  const result = replayOn(request, sums, mover, settingsOf(strategy, context));
  return { replay: result, segments: [], dropped: trimmedMessages(history, result.cuts) };
}

function trimEffect(history: History, sums: TokenSums): Effect {
  const units = unitSums(history, sums);
  const whole = (index: number): number => units.at(index);
  const step = (index: number): number => {
    const unit = history.units[index];
    return unit && goesWithSteps(unit) ? whole(index) : 0;
  };
  return { whole, step };
}

/** The messages that the cuts drop, ascending. Preamble messages and those held by bonds stay. */
function trimmedMessages(history: History, cuts: Cuts): number[] {
  const dropped: number[] = [];
  for (const [index, unit] of history.units.entries()) {
    if (index < cuts.turn || (index < cuts.step && goesWithSteps(unit)))
      dropped.push(...messagesOf(history, unit));
  }
  const held = heldMessages(history, frontierUnit(cuts));
  return held.size === 0 ? dropped : dropped.filter((message) => !held.has(message));
}
