/** The report as it comes over the wire. */
import { recording } from '../../fixtures/recording.ts';
import type { Report } from '../../src/memory/plan/report.ts';

/**
 * What Precis adds to a completion, to the last chunk of a stream, or to the answer of
 * `/v1/compact`.
 */
export interface WithMemory {
  memory?: Report;
}

/** The tool that the recorded conversation calls under this id. */
export function toolNameOf(callId: string): string | undefined {
  const calls = recording.messages.flatMap((message) =>
    'tool_calls' in message ? (message.tool_calls ?? []) : [],
  );
  return calls.find(({ id }) => id === callId)?.function.name;
}
