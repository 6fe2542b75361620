/**
 * Dedupe: finds tool outputs that are repeated later, literally or by a later call with the same
 * arguments.
 */
import { elementAt } from '../../lib/elements.ts';
import type { History } from '../conversation/history.ts';
import { type CompactContext, contentName } from './compact.ts';
import type { MarkerReason } from './placeholder.ts';

/** A later repetition of an output. */
export interface Repeat {
  readonly reason: Extract<MarkerReason, 'duplicate' | 'superseded'>;
  /** The nearest message that repeats it. */
  readonly by: number;
}

/** The repeated outputs, by message. Linear in their number. */
export function repeatsIn(history: History, context: CompactContext): ReadonlyMap<number, Repeat> {
  const repeats = new Map<number, Repeat>();
  const contents = new Map<string, number>();
  const calls = new Map<string, number>();
  for (const unit of history.units.toReversed())
    for (const { message, call } of unit.outputs.toReversed()) {
      const name = contentName(elementAt(history.messages, message), context);
      const asked = call && JSON.stringify([call.name, call.input]);
      const same = contents.get(name);
      const newer = asked === undefined ? undefined : calls.get(asked);
      // The nearer repetition decides, so that a longer array never changes the reason.
      if (same !== undefined && same <= (newer ?? same))
        repeats.set(message, { reason: 'duplicate', by: same });
      else if (newer !== undefined) repeats.set(message, { reason: 'superseded', by: newer });
      contents.set(name, message);
      if (asked !== undefined) calls.set(asked, message);
    }
  return repeats;
}
