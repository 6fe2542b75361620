/**
 * Sends spans to the deployer's collector after the answers. An isolate gathers them for a second,
 * so that requests side by side share a message. Nothing is kept beyond one repeated try: those
 * that are lost are counted and logged.
 */
import { pause } from '../lib/time-limit.ts';
import { errorName, type Log } from '../log.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { type Span, spansJson } from './otlp.ts';

/**
 * Failures that may pass (https://opentelemetry.io/docs/specs/otlp/, "Retryable Response Codes").
 */
const PASSING = [429, 502, 503, 504];

/** The most that an isolate holds. */
const MOST_SPANS = 2_000;

type WaitUntil = (work: Promise<unknown>) => void;

export interface ExporterPorts {
  /** The collector's base URL: `/v1/traces` is below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  /** Called with the number of spans that are lost. */
  readonly lost: (count: number, waitUntil?: WaitUntil) => void;
  /** In milliseconds since the epoch. */
  readonly now?: () => number;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** The spans of one isolate. */
export class Exporter {
  private readonly ports: Required<ExporterPorts>;
  private spans: Span[] = [];
  /** When the next message is due; undefined if none is. */
  private dueAt: number | undefined;

  constructor(ports: ExporterPorts) {
    this.ports = { now: Date.now, wait: pause, ...ports };
  }

  /** Takes the spans of a request. Those beyond the limit are lost. */
  add(spans: readonly Span[]): void {
    const taken = spans.slice(0, Math.max(0, MOST_SPANS - this.spans.length));
    this.spans.push(...taken);
    if (taken.length < spans.length) this.lose(spans.length - taken.length, 'full');
  }

  /** Has everything sent when it is due. */
  sendLater(waitUntil: WaitUntil): void {
    if (this.spans.length === 0) return;
    const now = this.ports.now();
    if (this.dueAt !== undefined && now < this.dueAt + TIME_LIMITS.cutOffMs) return;
    this.dueAt = now + TIME_LIMITS.spansBatchMs;
    waitUntil(this.ports.wait(TIME_LIMITS.spansBatchMs).then(() => this.send(waitUntil)));
  }

  /** Sends everything. Never throws. */
  private async send(waitUntil: WaitUntil): Promise<void> {
    const { spans } = this;
    this.spans = [];
    this.dueAt = undefined;
    const body = JSON.stringify(spansJson(spans));
    let fault = await this.attempt(body);
    if (fault?.mayPass) {
      await this.ports.wait(TIME_LIMITS.collectorPauseMs);
      fault = await this.attempt(body);
    }
    if (fault) this.lose(spans.length, fault.name, waitUntil);
  }

  /** Undefined if the collector has taken the message. */
  private async attempt(body: string): Promise<{ name: string; mayPass: boolean } | undefined> {
    const { endpoint, headers } = this.ports;
    try {
      const response = await fetch(`${endpoint.replace(/\/+$/, '')}/v1/traces`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIME_LIMITS.collectorTryMs),
      });
      await response.body?.cancel();
      const { ok, status } = response;
      return ok ? undefined : { name: `status ${status}`, mayPass: PASSING.includes(status) };
    } catch (error) {
      return { name: errorName(error), mayPass: true };
    }
  }

  private lose(count: number, error: string, waitUntil?: WaitUntil): void {
    this.ports.lost(count, waitUntil);
    this.ports.log('warn', 'spans are lost', { code: 'otlp_failed', count, error });
  }
}
