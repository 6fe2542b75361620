/** The report on the wire. */
import { recording } from '../../../fixtures/recording.ts';
import type { Report } from '../../../src/memory/plan/report.ts';

/**
 * What Precis adds to a completion, to a stream's last chunk, or to the answer of `/v1/compact`.
 */
export interface WithMemory {
  memory?: Report;
}

/** A report without the time of its receipt, and so without its signature. */
export function untimed<Reported extends Report | undefined>(report: Reported): Reported {
  if (!report?.receipt) return report;
  return { ...report, receipt: { ...report.receipt, issued_at: 0, signature: '' } };
}

/** The tool of a call in the recorded conversation, by the call's id. */
export function toolNameOf(callId: string): string | undefined {
  const calls = recording.messages.flatMap((message) =>
    'tool_calls' in message ? (message.tool_calls ?? []) : [],
  );
  return calls.find(({ id }) => id === callId)?.function.name;
}
