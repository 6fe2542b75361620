/**
 * Purging: which arguments are of no more use before they are old. The arguments of a call that
 * failed, once the model has taken some more steps; and the arguments of a write, once a later one
 * has replaced the whole file.
 *
 * So it depends on later messages: on the result of the call, the steps after it, and later writes.
 * Each purge has the message after which it may be made, which a longer array never changes, and
 * the light phase compares it with the request point.
 */
import { elementAt } from '../../lib/elements.ts';
import { filesWritten, hasFailed } from '../conversation/call-outcomes.ts';
import type { History } from '../conversation/history.ts';
import type { ToolCall } from '../conversation/message.ts';

/** Steps after a failed call: by then the model has tried again, or given up. */
const STEPS_AFTER_FAILURE = 4;

/**
 * Tokens of the smallest arguments that are purged, and characters of the smallest that are looked
 * at. A marker has about fifty tokens.
 */
export const LEAST_PURGED = 200;

/** Whether the arguments of a call are long enough. */
export function mayBePurged({ input }: ToolCall): boolean {
  return input.length >= LEAST_PURGED;
}

/**
 * For calls whose arguments may be purged, the message after which they may: with it in the array,
 * they are of no more use. A longer array never changes it. Linear in the number of calls.
 */
export function purgesIn({ messages, units }: History): ReadonlyMap<ToolCall, number> {
  const after = new Map<ToolCall, number>();
  // Of the later units: the results of calls, the first messages of steps, and for each file that
  // is written, the first result of such a write.
  const results = new Map<ToolCall, number>();
  const steps: number[] = [];
  const writes = new Map<string, number>();
  for (const unit of units.toReversed()) {
    for (const { message, call } of unit.outputs) if (call) results.set(call, message);
    if (unit.kind !== 'assistant') continue;
    const message = elementAt(messages, unit.first);
    const written = filesWritten(message);
    const replaced: [string, number][] = [];
    for (const [index, call] of message.calls.entries()) {
      const result = results.get(call);
      const file = written[index];
      if (result === undefined || (file === undefined && !mayBePurged(call))) continue;
      const newer = file === undefined ? undefined : writes.get(file);
      const failed = hasFailed(elementAt(messages, result));
      const later = failed ? steps.at(-STEPS_AFTER_FAILURE) : undefined;
      const from = Math.min(newer ?? Number.POSITIVE_INFINITY, later ?? Number.POSITIVE_INFINITY);
      if (from < Number.POSITIVE_INFINITY && mayBePurged(call)) after.set(call, Math.max(from, result));
      if (file !== undefined && !failed) replaced.push([file, result]);
    }
    // Calls of one answer run side by side, so none of them replaces another.
    for (const [file, result] of replaced) writes.set(file, Math.min(result, writes.get(file) ?? result));
    if (unit.step) steps.push(unit.first);
  }
  return after;
}
