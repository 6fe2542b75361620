/** The receipt of a request, made while the upstream works on it. */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import type { Call } from '../request/call.ts';
import type { MadeView } from '../view/made-view.ts';
import { receiptOf } from '../view/receipt.ts';
import type { CallFeature } from './listener.ts';

export const receipt: CallFeature = (call) =>
  call.chosen.report ? { reports: (made) => receiptLater(call, made) } : undefined;

/** Never throws: a report without a receipt is better than no answer. */
async function receiptLater(call: Call, made: MadeView): Promise<Pick<Report, 'receipt'>> {
  // The runtime sends what is to be sent when this work pauses.
  await pause(0);
  try {
    const signed = receiptOf(call, made);
    return signed ? { receipt: signed } : {};
  } catch (error) {
    logCaught(call.scope.services.log, 'error', 'a receipt could not be made', error);
    return {};
  }
}
