/**
 * Sends spans and metrics to the deployer's collector after the answers. An isolate gathers them
 * for a second, so that requests side by side share a message. Nothing is kept beyond one repeated
 * try: those that are lost are counted and logged.
 */
import { pause } from '../lib/time-limit.ts';
import { errorName, type Log } from '../log.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { INSTRUMENTS, type InstrumentName } from './instruments.ts';
import { type Attributes, type Instrument, metricsJson, type Point, type Span, spansJson } from './otlp.ts';

/**
 * Failures that may pass (https://opentelemetry.io/docs/specs/otlp/, "Retryable Response Codes").
 */
const PASSING = [429, 502, 503, 504];

/** The most that an isolate holds. */
const MOST_SPANS = 2_000;
const MOST_POINTS = 2_000;

type WaitUntil = (work: Promise<unknown>) => void;

/** The kind of what was lost. */
export type Signal = 'spans' | 'metrics';

export interface ExporterPorts {
  /** The collector's base URL: `/v1/traces` and `/v1/metrics` are below it. */
  readonly endpoint: string;
  /** Sent with each message. They may hold a secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: Log;
  /** Called with the number of spans, or of data points, that are lost. */
  readonly lost: (signal: Signal, count: number, waitUntil?: WaitUntil) => void;
  /** In milliseconds since the epoch. */
  readonly now?: () => number;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** The spans and metrics of one isolate. */
export class Exporter {
  private readonly ports: Required<ExporterPorts>;
  private spans: Span[] = [];
  private points = new Map<string, Point>();
  private since: number;
  /** When the next message is due; undefined if none is. */
  private dueAt: number | undefined;

  constructor(ports: ExporterPorts) {
    this.ports = { now: Date.now, wait: pause, ...ports };
    this.since = this.ports.now();
  }

  /** Takes the spans of a request. Those beyond the limit are lost. */
  add(spans: readonly Span[]): void {
    const taken = spans.slice(0, Math.max(0, MOST_SPANS - this.spans.length));
    this.spans.push(...taken);
    if (taken.length < spans.length) this.lose('spans', spans.length - taken.length, 'full');
  }

  /** Adds to a sum, or to a histogram. */
  record(name: InstrumentName, attributes: Attributes, value: number): void {
    const point = this.pointOf(name, attributes);
    if (!point) {
      this.lose('metrics', 1, 'full');
      return;
    }
    point.sum += value;
    point.count++;
    const { bounds }: Instrument = INSTRUMENTS[name];
    if (!bounds) return;
    const found = bounds.findIndex((bound) => value <= bound);
    const bucket = found < 0 ? bounds.length : found;
    point.buckets[bucket] = (point.buckets[bucket] ?? 0) + 1;
  }

  /** Has everything sent when it is due. */
  sendLater(waitUntil: WaitUntil): void {
    const now = this.ports.now();
    if (this.dueAt !== undefined && now < this.dueAt + TIME_LIMITS.cutOffMs) return;
    this.dueAt = now + TIME_LIMITS.spansBatchMs;
    waitUntil(this.ports.wait(TIME_LIMITS.spansBatchMs).then(() => this.send(waitUntil)));
  }

  /** Sends everything. Never throws. */
  private async send(waitUntil: WaitUntil): Promise<void> {
    const { spans, since } = this;
    const points = [...this.points.values()];
    const now = this.ports.now();
    this.spans = [];
    this.points = new Map();
    this.since = now;
    this.dueAt = undefined;
    await Promise.all([
      spans.length > 0 && this.deliver('spans', '/v1/traces', spansJson(spans), spans.length, waitUntil),
      points.length > 0 &&
        this.deliver(
          'metrics',
          '/v1/metrics',
          metricsJson(points, INSTRUMENTS, since, now),
          points.length,
          waitUntil,
        ),
    ]);
  }

  private pointOf(name: InstrumentName, attributes: Attributes): Point | undefined {
    const key = JSON.stringify([name, attributes]);
    const known = this.points.get(key);
    if (known || this.points.size >= MOST_POINTS) return known;
    const { bounds }: Instrument = INSTRUMENTS[name];
    const buckets = bounds ? Array.from({ length: bounds.length + 1 }, () => 0) : [];
    const point = { name, attributes, sum: 0, count: 0, buckets };
    this.points.set(key, point);
    return point;
  }

  private async deliver(
    signal: Signal,
    path: string,
    message: object,
    count: number,
    waitUntil: WaitUntil,
  ): Promise<void> {
    const body = JSON.stringify(message);
    let fault = await this.attempt(path, body);
    if (fault?.mayPass) {
      await this.ports.wait(TIME_LIMITS.collectorPauseMs);
      fault = await this.attempt(path, body);
    }
    if (fault) this.lose(signal, count, fault.name, waitUntil);
  }

  /** Undefined if the collector has taken the message. */
  private async attempt(path: string, body: string): Promise<{ name: string; mayPass: boolean } | undefined> {
    const { endpoint, headers } = this.ports;
    try {
      const response = await fetch(`${endpoint.replace(/\/+$/, '')}${path}`, {
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

  private lose(signal: Signal, count: number, error: string, waitUntil?: WaitUntil): void {
    this.ports.lost(signal, count, waitUntil);
    this.ports.log('warn', 'telemetry is lost', { code: 'otlp_failed', signal, count, error });
  }
}
