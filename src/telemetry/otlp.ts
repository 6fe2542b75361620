/**
 * Spans in OTLP's JSON encoding (https://opentelemetry.io/docs/specs/otlp/): ids in
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

const SCOPE = { name: 'precis' };
const RESOURCE = { attributes: keyValues({ 'service.name': 'precis' }) };
/** `Status.code` of the protocol. */
const FAILED = 2;

/** `ExportTraceServiceRequest`. */
export function spansJson(spans: readonly Span[]): object {
  return {
    resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: SCOPE, spans: spans.map(spanJson) }] }],
  };
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
