/**
 * A collector of OTLP/HTTP in JSON that is strict about its shape
 * (https://opentelemetry.io/docs/specs/otlp/, "JSON Protobuf Encoding"): it refuses unknown
 * members, ids that are not hexadecimal, and 64-bit integers that are numbers.
 */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { listening } from '../../../tools/upstream/listening.ts';

const int64 = z.string().regex(/^-?\d{1,19}$/);
const nanos = z.string().regex(/^[1-9]\d{18}$/);
const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: int64 }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({
    arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }),
  }),
]);
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value }))
  .refine((pairs) => new Set(pairs.map(({ key }) => key)).size === pairs.length);
const resource = z.strictObject({ attributes });
const scope = z.strictObject({ name: z.string() });

const span = z
  .strictObject({
    traceId: z.string().regex(/^(?!0+$)[\da-f]{32}$/),
    spanId: z.string().regex(/^(?!0+$)[\da-f]{16}$/),
    parentSpanId: z
      .string()
      .regex(/^(?!0+$)[\da-f]{16}$/)
      .optional(),
    name: z.string().min(1),
    kind: z.int().min(1).max(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    status: z.strictObject({ code: z.literal([1, 2]).optional() }),
  })
  .refine(({ startTimeUnixNano: start, endTimeUnixNano: end }) => BigInt(start) <= BigInt(end));

const traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({ resource, scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })) }),
  ),
});

/** Attributes by name, with plain values. */
type Named = Readonly<Record<string, unknown>>;

/** A span as a test reads it. */
export interface CollectedSpan extends Omit<z.output<typeof span>, 'attributes'> {
  readonly attributes: Named;
}

export interface Collector {
  /** `http://127.0.0.1:PORT/otlp` */
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** All bodies and headers, unchanged. */
  readonly texts: string[];
  /** Why messages were refused. Empty if all were right. */
  readonly refusals: string[];
  /** The statuses of the coming answers; 0: no answer. */
  next(...statuses: number[]): void;
  reset(): void;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const collector = {
    spans: [] as CollectedSpan[],
    texts: [] as string[],
    refusals: [] as string[],
  };
  const statuses: number[] = [];
  const take = (path: string | undefined, body: unknown): string | undefined => {
    if (path !== '/otlp/v1/traces') return `no route ${path}`;
    const parsed = traces.safeParse(body);
    if (!parsed.success) return z.prettifyError(parsed.error);
    const spans = parsed.data.resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((one) => one.spans),
    );
    collector.spans.push(...spans.map((one) => ({ ...one, attributes: named(one.attributes) })));
    return undefined;
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    collector.texts.push(JSON.stringify(request.headers), body);
    const status = statuses.shift() ?? 200;
    if (status === 0) return;
    if (status !== 200) return void response.writeHead(status).end();
    const isJson = request.method === 'POST' && request.headers['content-type'] === 'application/json';
    const refusal = isJson ? take(request.url, JSON.parse(body)) : 'no POST of JSON';
    if (refusal !== undefined) collector.refusals.push(refusal);
    response.writeHead(refusal === undefined ? 200 : 400, { 'content-type': 'application/json' }).end('{}');
  });
  const { origin, close } = await listening(server);
  return {
    ...collector,
    url: `${origin}/otlp`,
    next: (...coming) => void statuses.push(...coming),
    reset() {
      for (const list of Object.values(collector)) list.length = 0;
      statuses.length = 0;
    },
    close,
  };
}

function named(pairs: z.output<typeof attributes>): Named {
  return Object.fromEntries(pairs.map((pair) => [pair.key, plain(pair.value)]));
}

function plain(one: z.output<typeof value>): unknown {
  if ('intValue' in one) return Number(one.intValue);
  if ('arrayValue' in one) return one.arrayValue.values.map(({ stringValue }) => stringValue);
  return Object.values(one)[0];
}
