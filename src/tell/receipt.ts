/** The receipt of a request, made while the upstream works on it. */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Receipt } from '../memory/plan/receipt-schema.ts';
import type { Report } from '../memory/plan/report.ts';
import type { Call } from '../request/call.ts';
import type { MadeView } from '../view/made-view.ts';
import { receiptOf } from '../view/receipt.ts';

/** Never throws: a report without a receipt is better than no answer. */
export async function receiptLater(call: Call, made: MadeView): Promise<Receipt | undefined> {
  // The runtime sends what is to go up when this work pauses.
  await pause(0);
  try {
    return receiptOf(call, made);
  } catch (error) {
    logCaught(call.scope.services.log, 'error', 'a receipt could not be made', error);
    return undefined;
  }
}

export function withReceipt(report: Report, receipt: Receipt | undefined): Report {
  return receipt ? { ...report, receipt } : report;
}
