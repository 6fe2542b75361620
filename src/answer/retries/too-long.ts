/**
 * Asks again with a smaller view, made by the same phases, when the upstream says that the context
 * is too long, or a local server has cut its answer short at the end of the window
 * (docs/design.md#10-upstream-and-access).
 */
import { UsageTail } from '../../protocol/answers/usage-tail.ts';
import type { Call } from '../../request/call.ts';
import {
  type LearnedLimit,
  limitBetween,
  limitOfRetry,
  type Refused,
  statedLimit,
} from '../../upstream/learned-limits.ts';
import { mayBeTooLong, readTooLong, readTooLongEvent, type TooLong } from '../../upstream/too-long.ts';
import { fullWindow, hasFilledWindow, learnLimit } from '../../view/learned.ts';
import { termsFor } from '../../view/made-before.ts';
import type { MadeView, MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { Attempt, Refusal, Retry } from './retry.ts';

export function withinLimit(call: Call, options: MakeViewOptions): Retry {
  // A token count from the upstream proves that it accepted the key, so nothing else waits for
  // that.
  const judged = { ...options, isAnswered: true };
  let proven: LearnedLimit | undefined;
  return {
    mayHelp: (_, status) => status === undefined || mayBeTooLong(status) || (status === 200 && isOwn(call)),
    next: async (attempt, said) => {
      const refusal = said.status === 200 ? readFull(said.json, call) : readRefusal(said);
      const refused = refusal && (await countRefused(attempt, call, judged));
      if (!refusal || !refused) return undefined;
      learnLimit(statedLimit(refusal, refused), refusal.limit, call);
      const limit = limitOfRetry(refusal, refused);
      const fields = { limit: limit.tokens };
      call.scope.services.log('info', 'the upstream says that the context is too long', fields);
      const { unedited, unsigned } = attempt.made;
      const views = { ...judged, unedited, unsigned, refused: attempt.made };
      const smaller = await smallerView(refused, limit, call, views);
      if (!smaller) return undefined;
      // Only an accepted retry proves that the length was the fault.
      if (refusal.limit === undefined) proven = limitBetween(smaller.tokens, refused);
      return { made: smaller.made, without: attempt.without };
    },
    answered: () => learnLimit(proven, undefined, call),
  };
}

function readRefusal({ status, json }: Refusal): TooLong | undefined {
  return status === undefined ? readTooLongEvent(json) : readTooLong(status, json);
}

/** What an answer says that was cut short since it has filled its model's window. */
function readFull(json: string, call: Call): TooLong | undefined {
  const tail = new UsageTail();
  tail.push(new TextEncoder().encode(json));
  return hasFilledWindow(tail, call) ? fullWindow(tail, tail) : undefined;
}

/**
 * Whether the model is the deployer's own. A vendor's answer is paid for, so it is passed on as it
 * is, and says nothing (see `hasFilledWindow`).
 */
function isOwn({ request, chosen, scope }: Call): boolean {
  return termsFor(request, chosen.strategy, scope.services.config).prices.free === true;
}

/**
 * The size of what was refused; undefined if it can't be counted. If the view was never counted,
 * the array was sent unchanged.
 */
async function countRefused(
  { made, added }: Attempt,
  call: Call,
  options: MakeViewOptions,
): Promise<Refused | undefined> {
  const counted =
    made.report.tokens?.after ?? (await makeView(call, { ...options, count: true })).report.tokens?.before;
  if (counted === undefined) return undefined;
  return { tokens: counted, addedTokens: added.tokens, answerTokens: call.request.answerTokens };
}

/**
 * A view with fewer tokens than the refused one; undefined if there is none.
 *
 * @throws ApiError
 */
async function smallerView(
  refused: Refused,
  limit: LearnedLimit,
  call: Call,
  options: MakeViewOptions,
): Promise<{ readonly made: MadeView; readonly tokens: number } | undefined> {
  const made = await makeView(call, { ...options, count: true, limit });
  const { report } = made;
  if (!report.tokens || report.tokens.after >= refused.tokens) return undefined;
  return { made: { ...made, report: { ...report, trigger: 'upstream_limit' } }, tokens: report.tokens.after };
}
