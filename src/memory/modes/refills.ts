/** `rehydrate` in the modes that summarize a prefix. */
import type { History } from '../conversation/history.ts';
import { Rehydrator } from '../edits/rehydrate.ts';
import type { Refills } from '../replay/prefix-cursor.ts';
import type { ReplayRule } from '../replay/rule.ts';
import { type RehydratingFields, rehydrationOf } from '../strategy/rehydration.ts';
import type { PlanContext } from './planned.ts';

/**
 * What a replay needs to put outputs back after a summary. Undefined if the strategy does not ask
 * for that.
 *
 * @param largest tokens of the largest output that comes back
 */
export function refillsOf(
  strategy: RehydratingFields,
  history: History,
  { watermark }: ReplayRule,
  { counter, digest }: PlanContext,
  largest = Number.POSITIVE_INFINITY,
): Refills | undefined {
  const settings = rehydrationOf(strategy);
  if (!settings) return undefined;
  const limits = { items: settings.items, maxTokens: settings.max_tokens, largest };
  return { rehydrator: new Rehydrator(history, limits, counter, digest), watermark };
}
