/**
 * `archive: true` and `ARCHIVE=always`: stores a request's messages and the text of its answer
 * unchanged, once the upstream has accepted the request (docs/design.md#7-storage).
 */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { archiveOf, isArchived } from '../request/archive.ts';
import type { Call } from '../request/call.ts';
import type { CallEnd, CallFeature, CallListener, SettledCall } from './listener.ts';

export const archive: CallFeature = (call) => (isArchived(call) ? new ArchivedCall(call) : undefined);

/** Archives when the answer has ended, however it ended: messages and answer are one write. */
class ArchivedCall implements CallListener {
  readonly readsAnswer = true;
  private readonly call: Call;
  private isAnswered = false;

  constructor(call: Call) {
    this.call = call;
  }

  settled({ asked }: SettledCall): void {
    this.isAnswered = asked?.answer.ok === true;
  }

  /** Never throws. */
  async ended({ text }: CallEnd): Promise<void> {
    if (!this.isAnswered) return;
    // Yield, so that the answer's last bytes go out first.
    await pause(0);
    const { scope } = this.call;
    try {
      // Another key of the request may be the one that the model's server has looked at.
      if (!scope.caller.tenant || !(await scope.isAccepted(scope.caller.tenant))) return;
      const archived = archiveOf(this.call, text);
      await archived?.archive.add(archived.entries, scope.timings.startedAt);
    } catch (error) {
      logCaught(this.call.scope.services.log, 'warn', 'messages could not be archived', error);
    }
  }
}
