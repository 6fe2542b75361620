/** Remembers the round that an answer has closed, for rolling and for session memory. */
import { isOvertaken } from '../request/conversation.ts';
import { trackWork } from '../request/pending-work.ts';
import type { MadeView } from '../view/made-view.ts';
import type { CallFeature } from './listener.ts';

export const memory: CallFeature = (call) => {
  let remember: MadeView['remember'];
  return {
    get readsAnswer() {
      return remember !== undefined;
    },
    settled: ({ asked }) => {
      remember = asked?.made.remember;
    },
    completes: ({ text }) => {
      const closed = remember;
      if (!closed || text === undefined || isOvertaken(call)) return;
      // A microtask later: an answer that ends at once has its event kept first.
      const work = Promise.resolve().then(() => closed(text));
      call.scope.waitUntil(trackWork(work, call));
    },
  };
};
