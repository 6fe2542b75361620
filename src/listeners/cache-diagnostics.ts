/**
 * Notes the vendor's id of an answer, with which the next request is to be compared
 * (docs/money.md#asking-the-vendor).
 */
import { asksDiagnostics } from '../request/prompt-cache.ts';
import { noteAnswer } from '../view/sent-before.ts';
import type { CallFeature } from './listener.ts';

export const cacheDiagnostics: CallFeature = (call) =>
  asksDiagnostics(call)
    ? {
        readsUsage: true,
        ended: ({ how, asked }) => {
          const id = how === 'complete' ? asked?.usages[0]?.answerId() : undefined;
          if (id !== undefined) noteAnswer(call, id);
        },
      }
    : undefined;
