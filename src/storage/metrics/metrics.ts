/**
 * Counts in the isolate what the deployment's metrics add up. Nothing waits for that: a batch is
 * sent after an answer, ten seconds after its first count. One whose fate is unknown is sent again
 * under the same id, and added once.
 *
 * `families.ts` has the names, labels and buckets.
 */

import type { Env } from '../../config.ts';
import { oncePer } from '../../lib/once.ts';
import { pause } from '../../lib/time-limit.ts';
import { type Log, logCaught } from '../../log.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import { metricsObject } from '../objects.ts';
import type { WaitUntil } from '../refs/writer.ts';
import { type FamilyName, type Labels, observed, seriesOf } from './families.ts';
import type { Batch } from './object.ts';

interface MetricsPorts {
  send(batch: Batch): Promise<void>;
  readonly log: Log;
  /** In milliseconds. */
  readonly now?: () => number;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** The counters of one isolate. */
export class Metrics {
  private readonly ports: Required<MetricsPorts> | undefined;
  private counts = new Map<string, number>();
  /** A batch that was sent, and may or may not have been added. */
  private unsure: (Batch & { readonly madeAt: number }) | undefined;
  /** When the next batch is due; undefined if none is. */
  private dueAt: number | undefined;
  private sending: Promise<void> | undefined;

  /** @param ports absent: nothing is counted */
  constructor(ports?: MetricsPorts) {
    this.ports = ports && { now: Date.now, wait: pause, ...ports };
  }

  get isOn(): boolean {
    return this.ports !== undefined;
  }

  count<Name extends FamilyName>(name: Name, labels: Labels<Name>, by = 1): void {
    if (this.isOn) this.add(seriesOf(name, '', labels), by);
  }

  observe<Name extends FamilyName>(name: Name, labels: Labels<Name>, value: number): void {
    if (!this.isOn) return;
    for (const [series, by] of observed(name, labels, value)) this.add(series, by);
  }

  /** Has the counts sent when they are due. */
  sendLater(waitUntil: WaitUntil): void {
    const { ports } = this;
    if (!ports || (this.counts.size === 0 && !this.unsure)) return;
    const now = ports.now();
    if (this.dueAt !== undefined && now < this.dueAt + TIME_LIMITS.cutOffMs) return;
    this.dueAt = now + TIME_LIMITS.metricsBatchMs;
    waitUntil(ports.wait(TIME_LIMITS.metricsBatchMs).then(() => this.send()));
  }

  /** Sends the counts. Never throws: those that could not be sent are sent with the next ones. */
  send(): Promise<void> {
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined;
    });
    return this.sending;
  }

  private async sendAll(): Promise<void> {
    const { ports } = this;
    this.dueAt = undefined;
    if (!ports) return;
    const now = ports.now();
    if (this.unsure && now - this.unsure.madeAt > TIME_LIMITS.metricsGiveUpMs) this.unsure = undefined;
    if (!this.unsure && this.counts.size > 0) {
      const counts = Object.fromEntries(this.counts);
      this.unsure = { id: crypto.randomUUID(), counts, madeAt: now };
      this.counts = new Map();
    }
    if (!this.unsure) return;
    const { id, counts } = this.unsure;
    try {
      await ports.send({ id, counts });
      this.unsure = undefined;
    } catch (error) {
      logCaught(ports.log, 'warn', 'metrics could not be added up; they are sent again', error);
    }
  }

  private add(series: string, by: number): void {
    this.counts.set(series, (this.counts.get(series) ?? 0) + by);
  }
}

/** The counters of this isolate. They count nothing in a deployment without `METRICS_TOKEN`. */
export const metricsOf = oncePer((env: Env, log: Log): Metrics => {
  const send = (batch: Batch) => metricsObject(env, log)((stub) => stub.add(batch));
  return new Metrics(env.METRICS_TOKEN === undefined ? undefined : { send, log });
});
