/**
 * Notes the vendor's id of an answer, with which the next request is to be compared
 * (docs/money.md#asking-the-vendor).
 */
import { asksDiagnostics } from '../request/cache-diagnostics.ts';
import { noteAnswer } from '../view/sent-before.ts';
import type { AskedModel, CallFeature, CallListener, SettledCall } from './listener.ts';

export const cacheDiagnostics: CallFeature = (call) => {
  if (!asksDiagnostics(call)) return undefined;
  let usages: AskedModel['usages'] = [];
  const listener: CallListener = {
    readsUsage: true,
    settled: ({ asked }: SettledCall) => {
      usages = asked?.usages ?? [];
    },
    ended: ({ how }) => {
      const id = how === 'complete' ? usages[0]?.answerId() : undefined;
      if (id !== undefined) noteAnswer(call, id);
    },
  };
  return listener;
};
