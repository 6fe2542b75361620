/**
 * Spans and metrics in OTLP's JSON encoding (https://opentelemetry.io/docs/specs/otlp/): ids in
 * hexadecimal digits, 64-bit integers as strings, enumerations as numbers.
 */

/** Values of attributes. Numbers that are whole are sent as integers. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** `SpanKind` of the protocol. */
export const INTERNAL = 1;
export const SERVER = 2;
export const CLIENT = 3;

/** A span that has ended. Times are in milliseconds since the epoch. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for the first span of a trace. */
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: typeof INTERNAL | typeof SERVER | typeof CLIENT;
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
  readonly hasFailed: boolean;
}

/** A sum, or a histogram with the upper bounds of its buckets. */
export interface Instrument {
  readonly unit: string;
  readonly description: string;
  readonly bounds?: readonly number[];
}

/** What was counted under the same attributes between two exports. */
export interface Point {
  readonly name: string;
  readonly attributes: Attributes;
  sum: number;
  count: number;
  /** One number more than there are bounds. Empty for a sum. */
  readonly buckets: number[];
}

const SCOPE = { name: 'precis' };
const RESOURCE = { attributes: keyValues({ 'service.name': 'precis' }) };
/** `Status.code` of the protocol. */
const FAILED = 2;
/** `AggregationTemporality` of the protocol: isolates come and go, so none knows a total. */
const DELTA = 1;

/** `ExportTraceServiceRequest`. */
export function spansJson(spans: readonly Span[]): object {
  return {
    resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: SCOPE, spans: spans.map(spanJson) }] }],
  };
}

/**
 * `ExportMetricsServiceRequest`.
 *
 * @param from when the counting of these points began, and ended: milliseconds since the epoch
 */
export function metricsJson(
  points: readonly Point[],
  instruments: Readonly<Record<string, Instrument>>,
  from: number,
  to: number,
): object {
  const time = { startTimeUnixNano: nanos(from), timeUnixNano: nanos(to) };
  const metrics = Object.entries(instruments).flatMap(([name, { unit, description, bounds }]) => {
    const own = points.filter((point) => point.name === name);
    if (own.length === 0) return [];
    const dataPoints = own.map((point) => ({ ...dataPoint(point, bounds), ...time }));
    const data = bounds
      ? { histogram: { aggregationTemporality: DELTA, dataPoints } }
      : { sum: { aggregationTemporality: DELTA, isMonotonic: true, dataPoints } };
    return [{ name, unit, description, ...data }];
  });
  return { resourceMetrics: [{ resource: RESOURCE, scopeMetrics: [{ scope: SCOPE, metrics }] }] };
}

function spanJson({ start, end, attributes, hasFailed, parentSpanId, ...span }: Span): object {
  return {
    ...span,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    startTimeUnixNano: nanos(start),
    endTimeUnixNano: nanos(Math.max(start, end)),
    attributes: keyValues(attributes),
    status: hasFailed ? { code: FAILED } : {},
  };
}

function dataPoint({ attributes, sum, count, buckets }: Point, bounds: Instrument['bounds']): object {
  const named = { attributes: keyValues(attributes) };
  if (!bounds) return { ...named, asInt: String(sum) };
  return {
    ...named,
    sum,
    count: String(count),
    explicitBounds: bounds,
    bucketCounts: buckets.map(String),
  };
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: NonNullable<Attributes[string]>): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number')
    return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Milliseconds in nanoseconds: too large for a number. */
function nanos(milliseconds: number): string {
  return `${Math.round(milliseconds)}000000`;
}
