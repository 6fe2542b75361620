/** Contents in a report that were asked for again after they had left the view. */
import type { History } from '../conversation/history.ts';
import { NO_CALL, TEXT_OBSERVATION } from '../edits/placeholder.ts';
import type { Miss } from '../replay/misses.ts';
import type { ReportedMiss } from './report-schema.ts';

/** Misses in a report. */
const MOST_MISSES = 50;

/** The newest misses of a plan, oldest first. */
export function reportedMisses({ units }: History, misses: readonly Miss[]): readonly ReportedMiss[] {
  const newest = misses.slice(-MOST_MISSES);
  const reported = new Set(newest.map(({ message }) => message));
  const outputs = units.flatMap((unit) => unit.outputs).filter(({ message }) => reported.has(message));
  const calls = new Map(outputs.map(({ message, call }) => [message, call]));
  return newest.map(({ how, message, ref }) => ({
    how,
    message,
    tool_name: calls.get(message)?.name ?? TEXT_OBSERVATION,
    tool_call_id: calls.get(message)?.id ?? NO_CALL,
    ...(ref === undefined ? {} : { ref }),
  }));
}

/**
 * The contents that the model has fetched for its answer.
 *
 * @param given the refs that it has fetched
 * @param refs the view's
 */
export function fetchedMisses(
  given: readonly string[],
  refs: readonly Required<Omit<ReportedMiss, 'how' | 'message'>>[],
): readonly ReportedMiss[] {
  const fetched = new Set(given);
  return refs
    .filter(({ ref }) => fetched.has(ref))
    .map(({ ref, tool_name, tool_call_id }) => ({ how: 'fetched', tool_name, tool_call_id, ref }));
}
