/**
 * Reports a conversation to its tenant's object, which could find neither it nor its refs
 * otherwise: before the first write, once more after it, and then once an hour while it is in use.
 */
import { type Log, logged } from '../../log.ts';
import { type Part, partOf } from '../remote.ts';

/** How often a conversation in use is reported, in milliseconds. */
const REPORTING_MS = 60 * 60_000;

/** `looks`: it does not count as a use. `writes`: it may be the first write. */
type Use = 'looks' | 'reads' | 'writes';

interface UseReportsPorts {
  /** Whether anything is stored of the conversation. */
  exists(): boolean;
  /** When it was last reported, in milliseconds since the epoch; 0: never. */
  reportedAt(): number;
  saveReportedAt(at: number): void;
  /** Reports it. @throws StoreError */
  report(): Promise<void>;
  readonly now: () => number;
  readonly log: Log;
  waitUntil(work: Promise<void>): void;
}

export class UseReports {
  private readonly ports: UseReportsPorts;

  constructor(ports: UseReportsPorts) {
    this.ports = ports;
  }

  /** Runs work that may write. @throws StoreError if the first report fails */
  async writing<Result>(work: () => Result): Promise<Result> {
    if (this.ports.reportedAt() === 0) await this.ports.report();
    const result = work();
    // The first write is reported twice, since a deletion may have come in between.
    this.reading();
    return result;
  }

  /** Reports now and then that the conversation is in use. */
  reading(): void {
    const { exists, reportedAt, saveReportedAt, report, now, log, waitUntil } = this.ports;
    if (!exists() || now() - reportedAt() < REPORTING_MS) return;
    saveReportedAt(now());
    waitUntil(report().catch(logged(log, 'warn', 'a use could not be noted', undefined)));
  }

  /** A part of the object for other isolates. @param methods what use each of them is */
  part<Of extends object, Names extends keyof Of & string>(
    of: Of,
    methods: Record<Names, Use>,
  ): Part<Of, Names> {
    return partOf(of, Object.keys(methods) as Names[], (name, work) => {
      if (methods[name] === 'writes') return this.writing(work);
      if (methods[name] === 'reads') this.reading();
      return work();
    });
  }
}
