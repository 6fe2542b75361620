/**
 * Reports to the tenant's object what a conversation has sent and cost, since only the
 * conversation's object can add it up. The first change is reported at once, and the changes of the
 * next minutes (`sumsMs`) together, by an alarm. No request waits for it. Whole sums are reported,
 * so a call that is repeated changes nothing, and the next one sets right what a lost one has left
 * out.
 */
import { type Log, logCaught } from '../../log.ts';
import type { SumsByDay } from '../../memory/run/day-sums.ts';
import { TIME_LIMITS } from '../../time-limits.ts';

export interface ConversationSums {
  readonly requests: number;
  /** Net savings in nanodollars; null if they are not known. */
  readonly net: number | null;
  /** Of the newest request, in milliseconds since 1970; null without one. */
  readonly lastRequest: number | null;
  readonly model: string | null;
  /** What all have cost, in nanodollars; null if it is not known. */
  readonly paid: number | null;
  /** The HTTP status of the newest request; null without one. */
  readonly lastStatus: number | null;
  /** The agent that the newest request chose; null without one. */
  readonly agent: string | null;
  /** Of its newest days. */
  readonly days: SumsByDay;
}

interface SumReportsPorts {
  /** Undefined if there is nothing to report. */
  sums(): ConversationSums | undefined;
  /** @throws StoreError */
  report(sums: ConversationSums): Promise<void>;
  /** Has `due` called. @param at milliseconds since 1970 */
  setAlarm(at: number): Promise<void>;
  readonly now: () => number;
  readonly log: Log;
  waitUntil(work: Promise<void>): void;
}

export class SumReports {
  private readonly ports: SumReportsPorts;
  /** When the sums were last reported in this life of the object, in milliseconds since 1970. */
  private reportedAt = Number.NEGATIVE_INFINITY;
  /** Whether an alarm is set. */
  private isDue = false;
  /** Whether anything has changed since then. Another life of the object may know of more. */
  private hasChanged = true;
  /** One call at a time, since an older one that lands last would win. */
  private reporting: Promise<void> = Promise.resolve();
  /** Whether a call waits for the one under way. */
  private isNext = false;

  constructor(ports: SumReportsPorts) {
    this.ports = ports;
  }

  changed(): void {
    this.hasChanged = true;
    const { now, waitUntil } = this.ports;
    const at = this.reportedAt + TIME_LIMITS.sumsMs;
    if (at <= now()) waitUntil(this.report());
    else if (!this.isDue) waitUntil(this.reportAt(at));
  }

  /** The alarm. */
  due(): Promise<void> {
    this.isDue = false;
    return this.report();
  }

  /** Reports what has not been reported yet. Never rejects. */
  report(): Promise<void> {
    if (this.isNext) return this.reporting;
    this.isNext = true;
    this.reporting = this.reporting.then(() => {
      this.isNext = false;
      return this.hasChanged ? this.reportOnce() : undefined;
    });
    return this.reporting;
  }

  /** Resolves when no call is under way. */
  settled(): Promise<void> {
    return this.reporting;
  }

  /** Never rejects. */
  private async reportOnce(): Promise<void> {
    const { sums, report, now, log } = this.ports;
    // The sums of now: a deletion may have come while this waited.
    const current = sums();
    if (!current) return;
    this.reportedAt = now();
    this.hasChanged = false;
    try {
      await report(current);
    } catch (error) {
      logCaught(log, 'warn', 'the sums of a conversation could not be reported; it is tried again', error);
      this.hasChanged = true;
      await this.reportAt(now() + TIME_LIMITS.alarmPauseMs);
    }
  }

  /** Never rejects: the next change is reported in any case. */
  private async reportAt(at: number): Promise<void> {
    this.isDue = true;
    try {
      await this.ports.setAlarm(at);
    } catch (error) {
      this.isDue = false;
      logCaught(
        this.ports.log,
        'warn',
        'the sums of a conversation will be reported with its next use',
        error,
      );
    }
  }
}
