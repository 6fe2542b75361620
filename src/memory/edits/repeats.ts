/**
 * Dedupe: which tool outputs are said again later, word for word or by a later call that asks for
 * the same.
 */
import type { History } from '../conversation/history.ts';
import { type CompactContext, contentName, messageAt } from './compact.ts';
import type { MarkerReason } from './placeholder.ts';

/** That an output is said again. */
export interface Repeat {
  readonly reason: Extract<MarkerReason, 'duplicate' | 'superseded'>;
  /** The message that says it again, the nearest one. */
  readonly by: number;
}

/** The outputs that are said again, by message. Linear in their number. */
export function repeatsIn(history: History, context: CompactContext): ReadonlyMap<number, Repeat> {
  const repeats = new Map<number, Repeat>();
  const contents = new Map<string, number>();
  const calls = new Map<string, number>();
  for (const unit of history.units.toReversed())
    for (const { message, call } of unit.outputs.toReversed()) {
      const name = contentName(messageAt(history, message), context);
      const asked = call && JSON.stringify([call.name, call.input]);
      const same = contents.get(name);
      const newer = asked === undefined ? undefined : calls.get(asked);
      // Of the two reasons the one that comes first, so that a longer array never knows another.
      if (same !== undefined && same <= (newer ?? same))
        repeats.set(message, { reason: 'duplicate', by: same });
      else if (newer !== undefined) repeats.set(message, { reason: 'superseded', by: newer });
      contents.set(name, message);
      if (asked !== undefined) calls.set(asked, message);
    }
  return repeats;
}
