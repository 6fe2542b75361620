/** Remembers the round that an answer has closed, for rolling and for session memory. */
import type { Call } from '../request/call.ts';
import { trackWork } from '../request/pending-work.ts';
import type { MadeView } from '../view/made-view.ts';
import type { CallFeature, CallListener, CompleteAnswer, SettledCall } from './listener.ts';

export const memory: CallFeature = (call) => new Memory(call);

class Memory implements CallListener {
  private readonly call: Call;
  private remember: MadeView['remember'];

  constructor(call: Call) {
    this.call = call;
  }

  get readsAnswer(): boolean {
    return this.remember !== undefined;
  }

  settled({ asked }: SettledCall): void {
    this.remember = asked?.made.remember;
  }

  completes({ text }: CompleteAnswer): void {
    const { call, remember } = this;
    if (!remember || text === undefined) return;
    // A microtask later: an answer that ends at once has its event kept first.
    const work = Promise.resolve().then(() => remember(text));
    call.scope.waitUntil(trackWork(work, call));
  }
}
