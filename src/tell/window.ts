/**
 * Learns how long a model's context is from an answer that was cut short because it has filled it.
 * Such an answer is forwarded unchanged: it is paid for, and says why it stops. The next views
 * leave room for a whole one.
 */
import { edits } from '../memory/modes/strategy.ts';
import type { Call } from '../request/call.ts';
import { statedLimit } from '../upstream/learned-limits.ts';
import { learnLimit } from '../view/learned.ts';
import type { CallEnd, CallFeature, CallListener, SettledCall } from './listener.ts';

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
    if (how !== 'complete' || !asked || !last?.filledWindow()) return;
    const { input, output } = last.usage() ?? {};
    const tokens = asked.made.report.tokens?.after;
    // Precis's rounds are in the last prompt alone, and in no count of the view.
    const prompt = asked.usages[0]?.usage()?.input;
    if (typeof input !== 'number' || typeof output !== 'number' || !prompt || tokens === undefined) return;
    const full = { limit: input + output, prompt, withAnswer: true };
    const { answerTokens } = call.request;
    learnLimit(statedLimit(full, { tokens, addedTokens: 0, answerTokens }), full.limit, call);
    const fields = { code: 'window_full', limit: full.limit };
    call.scope.services.log('info', 'an answer has filled the context of its model', fields);
  }
}
