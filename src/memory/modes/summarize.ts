/** `summarize`: a summary replaces the oldest turns. */
import * as z from 'zod';
import { runningRequests, stayingRequest } from '../edits/first-request.ts';
import { settingsOf } from '../edits/removal.ts';
import { countedEcho, coveredMessages, Prefixes } from '../edits/summarize.ts';
import { CursorMover } from '../replay/cursor-mover.ts';
import { replayOn } from '../replay/known-replay.ts';
import { PrefixCursor, refillsOf } from '../replay/prefix-cursor.ts';
import { frontierUnit } from '../replay/rule.ts';
import { editing, summarizing, tailFault } from '../strategy/fields.ts';
import type { MemoryMode, ReplayRequest } from './mode.ts';
import type { PlanContext, Planned } from './planned.ts';
import { turnTail } from './tails.ts';

const schema = z.strictObject({
  mode: z.literal('summarize'),
  ...editing,
  ...summarizing,
});

export type SummarizeStrategy = z.output<typeof schema>;

export const summarize = {
  schema,
  contradiction: (strategy: SummarizeStrategy) => tailFault(strategy, 'keep_last_n_turns', 'context_limit'),
  keepsContents: () => true,
  summaryFacts: ({ incremental }: SummarizeStrategy) => [incremental],
  replayed: {
    triggers: ({ context_limit, max_messages }: SummarizeStrategy) => ({
      turnsDue: context_limit,
      messagesDue: max_messages,
    }),
    tail: ({ keep_last_n_turns, context_limit }: SummarizeStrategy) =>
      turnTail(keep_last_n_turns, context_limit),
    plan: planSummarize,
  },
} as const satisfies MemoryMode<SummarizeStrategy>;

function planSummarize(strategy: SummarizeStrategy, request: ReplayRequest, context: PlanContext): Planned {
  const { history, rule, sums, inView } = request;
  const first = stayingRequest(strategy, history, rule, sums);
  const running = runningRequests(strategy, history, rule, sums, first);
  const echo = countedEcho(history, context.counter);
  const settings = { summaryTokens: strategy.summary_max_tokens, echo, first, running };
  const prefixes = new Prefixes(history, sums, settings);
  const refills = refillsOf(strategy, history, rule, context);
  const cursor = new PrefixCursor(history, prefixes, refills);
  const mover = new CursorMover(rule, cursor, inView, 'summarize');
  const result = replayOn(request, sums, mover, settingsOf(strategy, context), first);
  const planned = { replay: result, segments: [] };
  if (frontierUnit(result.cuts) === 0) return { ...planned, dropped: [] };
  const prefix = { ...cursor.prefix, since: result.moves.at(-1)?.messages };
  return { ...planned, prefix, dropped: coveredMessages(history, prefix) };
}
