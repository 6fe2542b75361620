/**
 * Learns how long a model's context is from an answer that has filled it: it was cut short, or its
 * stream has ended with an error that says so. Such an answer is forwarded unchanged: it is paid
 * for, or its caller has it already. The next views leave room for a whole one.
 */
import { edits } from '../memory/modes/strategy.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Call } from '../request/call.ts';
import { actingOn } from '../request/native-compaction.ts';
import { statedLimit } from '../upstream/learned-limits.ts';
import { readTooLongEvent, type TooLong } from '../upstream/too-long.ts';
import { fullWindow, hasFilledWindow, learnLimit } from '../view/learned.ts';
import type { AnsweredModel, CallEnd, CallFeature } from './listener.ts';

/** Of requests in modes that edit. Without events no answer is heard for its usage. */
export const window: CallFeature = (call) => {
  const { caller, services } = call.scope;
  if (!caller.tenant || !edits(actingOn(call))) return undefined;
  return { readsUsage: services.config.keepsEvents, ended: (end) => learn(call, end) };
};

function learn(call: Call, { how, asked }: CallEnd): void {
  const last = asked?.usages.at(-1);
  if (!asked || !last) return;
  const full = how === 'complete' ? fullIn(last, asked, call) : said(how, last);
  if (full?.limit === undefined) return;
  const { answerTokens } = call.request;
  // A view that was not counted has about as many as the upstream says.
  const tokens = asked.made.report.tokens?.after ?? full.prompt ?? 0;
  learnLimit(statedLimit(full, { tokens, addedTokens: 0, answerTokens }), full.limit, call);
  const fields = { code: 'window_full', limit: full.limit };
  call.scope.services.log('info', 'an answer has filled the context of its model', fields);
}

function fullIn(last: UsageTail, { usages }: AnsweredModel, call: Call): TooLong | undefined {
  return hasFilledWindow(last, call) ? fullWindow(last, usages[0]) : undefined;
}

/** What the error says that has ended a stream. */
function said(how: AnswerEnd, last: UsageTail): TooLong | undefined {
  const error = how === 'error' ? last.error() : undefined;
  return error === undefined ? undefined : readTooLongEvent(error);
}
