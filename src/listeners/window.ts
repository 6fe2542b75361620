/**
 * Learns how long a model's context is from an answer that has filled it: it was cut short, or its
 * stream has ended with an error that says so. Such an answer is forwarded unchanged: it is paid
 * for, or its caller has it already. The next views leave room for a whole one.
 */
import { edits } from '../memory/modes/strategy.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Call } from '../request/call.ts';
import { statedLimit } from '../upstream/learned-limits.ts';
import { readTooLongEvent, type TooLong } from '../upstream/too-long.ts';
import { fullWindow, hasFilledWindow, learnLimit } from '../view/learned.ts';
import type { AskedModel, CallEnd, CallFeature, CallListener, SettledCall } from './listener.ts';

/** Of requests in modes that edit. */
export const window: CallFeature = (call) =>
  call.scope.caller.tenant !== undefined && edits(call.chosen.strategy) ? new Window(call) : undefined;

class Window implements CallListener {
  /** Without events no answer is heard for its usage. */
  readonly readsUsage: boolean;
  private readonly call: Call;
  private asked: SettledCall['asked'];

  constructor(call: Call) {
    this.call = call;
    this.readsUsage = call.scope.services.config.keepsEvents;
  }

  settled({ asked }: SettledCall): void {
    this.asked = asked;
  }

  ended({ how }: CallEnd): void {
    const { asked, call } = this;
    const last = asked?.usages.at(-1);
    if (!asked || !last) return;
    const full = how === 'complete' ? this.full(last, asked) : this.said(how, last);
    if (full?.limit === undefined) return;
    const { answerTokens } = call.request;
    // A view that was not counted has about as many as the upstream says.
    const tokens = asked.made.report.tokens?.after ?? full.prompt ?? 0;
    learnLimit(statedLimit(full, { tokens, addedTokens: 0, answerTokens }), full.limit, call);
    const fields = { code: 'window_full', limit: full.limit };
    call.scope.services.log('info', 'an answer has filled the context of its model', fields);
  }

  private full(last: UsageTail, { usages }: AskedModel): TooLong | undefined {
    return hasFilledWindow(last, this.call) ? fullWindow(last, usages[0]) : undefined;
  }

  /** What the error says that has ended a stream. */
  private said(how: AnswerEnd, last: UsageTail): TooLong | undefined {
    const error = how === 'error' ? last.error() : undefined;
    return error === undefined ? undefined : readTooLongEvent(error);
  }
}
