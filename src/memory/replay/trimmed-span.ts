/** The messages that a position of the phases has trimmed. */
import type { History } from '../conversation/history.ts';
import type { RunningRequests } from '../edits/running-requests.ts';
import { coveredMessages } from '../edits/summarize.ts';
import type { TrimmedSpan } from '../edits/trim.ts';
import type { PhaseStanding } from './phase-standing.ts';
import type { ViewWeights } from './view-weights.ts';

/** The trimmed messages of a position. Undefined if it has trimmed none. */
export function trimmedSpanOf(
  history: History,
  { trims, prefix, leftOut }: PhaseStanding,
  weights: ViewWeights,
  inProgress: RunningRequests | undefined,
): TrimmedSpan | undefined {
  const { requests } = weights;
  const unit = trims.at(-1);
  const place = unit === undefined ? undefined : requests.linePlace(unit);
  if (unit === undefined || place === undefined) return undefined;
  const { units, messages } = history;
  const request = units[requests.at(unit) ?? -1]?.first;
  const first = requests.firstBefore(unit)?.message;
  const running = inProgress?.at(unit)?.message;
  const end = units[unit]?.first ?? messages.length;
  return {
    from: messages.findIndex(({ role }, at) => role !== 'preamble' && at >= (prefix?.end ?? 0)),
    ends: trims.map((trim) => units[trim]?.first ?? messages.length),
    place,
    dropped: coveredMessages(history, { unit, end, request, first, running }),
    prefix: prefix && {
      ...prefix,
      unit,
      request,
      first,
      running,
      freed: leftOut,
      unsure: weights.unsureBefore(unit),
    },
    freed: leftOut - (prefix?.freed ?? 0),
  };
}
