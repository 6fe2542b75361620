/**
 * The trace of one request to a model: Precis's own span, below it one for each model call and for
 * each part that took time (docs/operating.md#traces).
 *
 * `routes/context.ts` gives a request its trace. `answer/ask-upstream.ts` opens a span for each
 * model call, whose id is sent as the parent in `traceparent`; `lib/server-timing.ts` has the parts
 * that took time. `exporter.ts` sends the spans, as `otlp.ts` writes them.
 */
import { copyOf } from '../lib/copy.ts';
import type { RunUsage } from '../memory/money/bill-schema.ts';
import type { Report } from '../memory/plan/report.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import type { Exporter } from './exporter.ts';
import { type Attributes, CLIENT, INTERNAL, SERVER, type Span } from './otlp.ts';
import { providerOf } from './provider.ts';
import {
  isSampled,
  isWithin,
  newId,
  readTraceparent,
  type TraceContext,
  writeTraceparent,
} from './trace-context.ts';

/** How an answer ended, as a span says it. */
type Ending = Exclude<AnswerEnd, 'upstream_broke'>;

/** What a request asks for, as far as its body was read. */
interface Asked {
  readonly model: string | undefined;
  /** As the caller names it. */
  readonly conversation?: string | undefined;
  readonly stream?: boolean;
}

interface Reported {
  readonly report: Report;
  readonly protocol: string;
}

const FLAG_SAMPLED = '01';

/** The part in which a request waits for the heads of answers. */
const UPSTREAM = 'upstream';

/** The error of a model call whose answer was not read to its end. */
export const BROKEN_OFF = 'broken_off';

/** OpenAI's name for both of its protocols in the conventions. */
const OPERATION = 'chat';

/** The conventions' names of counts. */
const USAGE = {
  input_tokens: 'input',
  'cache_read.input_tokens': 'cached',
  'cache_write.input_tokens': 'cache_writes',
  output_tokens: 'output',
} as const satisfies Record<string, keyof RunUsage>;

/** In characters. No model's name is longer. */
const LONGEST_MODEL = 200;

interface TraceOptions {
  readonly exporter: Exporter;
  /** The share of new traces that is recorded, from 0 to 1. A caller decides about its own. */
  readonly share: number;
  readonly method: string;
  readonly route: string;
  /** In milliseconds since the epoch. */
  readonly now?: () => number;
}

export class RequestTrace {
  private readonly options: Required<TraceOptions>;
  private readonly parent: TraceContext | undefined;
  private readonly own: TraceContext;
  private readonly isRecorded: boolean;
  private readonly start: number;
  private readonly parts: Pick<Span, 'name' | 'start' | 'end'>[] = [];
  private readonly calls: ModelCall[] = [];
  private asked: Asked | undefined;
  private reported: Reported | undefined;
  private hasEnded = false;

  /** @param headers the caller's */
  constructor(headers: Headers, options: TraceOptions) {
    this.options = { now: Date.now, ...options };
    this.start = this.options.now();
    this.parent = readTraceparent(headers.get('traceparent'));
    const traceId = this.parent?.traceId ?? newId(16);
    this.isRecorded = this.parent ? isSampled(this.parent) : isWithin(options.share, traceId);
    this.own = { traceId, spanId: newId(8), flags: this.parent?.flags ?? FLAG_SAMPLED };
  }

  /** Whether the trace begins here. A `tracestate` belongs to no trace then (section 4.3). */
  get isFirst(): boolean {
    return this.parent === undefined;
  }

  asks(asked: Asked): void {
    this.asked = { ...asked, model: shortName(asked.model) };
  }

  reports(reported: Reported): void {
    this.reported = reported;
  }

  /** Notes a part that has ended. Model calls have spans of their own. */
  readonly spent = (name: string, start: number, end: number): void => {
    if (name !== UPSTREAM) this.parts.push({ name, start, end });
  };

  calling(url: string): ModelCall {
    const call = new ModelCall({ ...this.own, spanId: newId(8) }, url, this.isRecorded, this.options.now);
    this.calls.push(call);
    return call;
  }

  /** Ends the trace, once. @param error the code of an error by Precis */
  end(status: number, how: AnswerEnd, error?: string): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const { exporter } = this.options;
    // The status of an error says it already.
    const isError = status >= 400;
    const fault = isError ? undefined : this.calls.at(-1)?.error;
    const isWhole = isError || (how === 'complete' && fault === undefined);
    const ending = how === 'caller_left' ? how : isWhole ? 'complete' : 'error';
    // What is open now was not read to its end.
    for (const call of this.calls) call.end(isError || how === 'complete' ? undefined : BROKEN_OFF);
    const cause = error ?? (ending === 'error' ? fault : undefined);
    if (this.isRecorded) exporter.add(this.spans(status, ending, cause));
  }

  private spans(status: number, ending: Ending, error: string | undefined): Span[] {
    const { traceId, spanId } = this.own;
    const { method, route, now } = this.options;
    const below = { traceId, parentSpanId: spanId };
    const hasFailed = status >= 500 || ending === 'error';
    return [
      {
        traceId,
        spanId,
        parentSpanId: this.parent?.spanId,
        name: `${method} ${route}`,
        kind: SERVER,
        start: this.start,
        end: now(),
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          'error.type': hasFailed ? (error ?? (status >= 500 ? String(status) : ending)) : error,
          'precis.ended': ending,
          'precis.calls': this.calls.length,
          ...this.ofConversation(),
          ...this.ofReport(),
        },
        hasFailed,
      },
      ...this.parts.map(
        (part): Span => ({
          ...below,
          ...part,
          spanId: newId(8),
          name: `precis.${part.name}`,
          kind: INTERNAL,
          attributes: {},
          hasFailed: false,
        }),
      ),
      ...this.calls.map((call) => call.span(below, { ...this.ofCall(call), ...this.ofConversation() })),
    ];
  }

  private ofCall({ url, error }: ModelCall): Attributes {
    const asked = new URL(url);
    const { hostname, port, protocol } = asked;
    return {
      'gen_ai.operation.name': OPERATION,
      'gen_ai.provider.name': providerOf(asked),
      'gen_ai.request.model': this.asked?.model,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'http:' ? 80 : 443),
      'error.type': error,
    };
  }

  private ofConversation(): Attributes {
    const { conversation, stream } = this.asked ?? {};
    const { report } = this.reported ?? {};
    // The conventions have it only where it is true.
    const isCompacted = (report?.applied_edits.length ?? 0) > 0;
    return {
      'gen_ai.conversation.id': conversation,
      'gen_ai.conversation.compacted': isCompacted || undefined,
      'gen_ai.request.stream': stream || undefined,
    };
  }

  private ofReport(): Attributes {
    if (!this.reported) return {};
    const { report, protocol } = this.reported;
    const { mode, source, trigger, frontier, tokens, applied_edits, warnings, potential } = report;
    return {
      'precis.protocol': protocol,
      'precis.mode': mode,
      'precis.source': source,
      'precis.trigger': trigger,
      'precis.frontier.moved': frontier.moved,
      'precis.frontier.unit': frontier.unit,
      'precis.edits': applied_edits.map(({ type }) => type),
      'precis.warnings': warnings,
      'precis.tokens.before': tokens?.before,
      'precis.tokens.after': tokens?.after,
      'precis.potential.tokens.after': potential?.tokens?.after,
      'precis.observed': potential ? true : undefined,
    };
  }
}

export class ModelCall {
  readonly url: string;
  /** The header `traceparent` for the upstream; undefined if the caller's is sent unchanged. */
  readonly traceparent: string | undefined;
  /** A code, or a status. Undefined if the call was answered completely. */
  error: string | undefined;
  private usage: RunUsage | undefined;
  private model: string | undefined;
  private readonly context: TraceContext;
  private readonly now: () => number;
  private readonly start: number;
  private until: number | undefined;

  constructor(context: TraceContext, url: string, isRecorded: boolean, now: () => number) {
    this.context = context;
    this.url = url;
    this.traceparent = isRecorded ? writeTraceparent(context) : undefined;
    this.now = now;
    this.start = now();
  }

  /** The answer is there. @param model the one that has answered, if the answer says so */
  answered(usage: RunUsage | undefined, model: string | undefined): void {
    this.usage = usage;
    this.model = shortName(model);
    this.end();
  }

  /** The call is over. @param error see there */
  end(error?: string): void {
    if (this.until !== undefined) return;
    this.until = this.now();
    this.error = error;
  }

  span(below: Pick<Span, 'traceId' | 'parentSpanId'>, attributes: Attributes): Span {
    const model = attributes['gen_ai.request.model'];
    return {
      ...below,
      spanId: this.context.spanId,
      name: model === undefined ? OPERATION : `${OPERATION} ${model}`,
      kind: CLIENT,
      start: this.start,
      end: this.until ?? this.start,
      attributes: {
        ...attributes,
        'gen_ai.response.model': this.model,
        ...usageAttributes(this.usage),
      },
      hasFailed: this.error !== undefined,
    };
  }
}

/** The name of a model, not longer than such names are. It keeps no body alive until it is sent. */
function shortName(model: string | undefined): string | undefined {
  return model === undefined ? undefined : copyOf(model.slice(0, LONGEST_MODEL));
}

/** What the upstream does not say is left out. */
function usageAttributes(usage: RunUsage | undefined): Attributes {
  const counts = Object.entries(USAGE).map(([name, count]) => [
    `gen_ai.usage.${name}`,
    usage?.[count] ?? undefined,
  ]);
  return Object.fromEntries(counts);
}
