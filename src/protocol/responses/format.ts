/**
 * Answers of the Responses API: the text that closes a round, and the stream with the report in its
 * last event.
 */

import { asObject, parseJson } from '../../lib/json.ts';
import type { Report } from '../../memory/plan/report.ts';
import type {
  AnswerFault,
  AnswerFormat,
  AnswerGatherer,
  AnswerListener,
  AnswerStream,
  Retell,
} from '../answer-format.ts';
import { levels, type Outline } from '../json/outline.ts';
import { fieldOf, memberSplices, scanJson, splice } from '../json/spans.ts';
import { retold } from '../retold.ts';
import { dataFrame, dataOf, eventFrame, FrameSplitter, KEEPALIVE } from '../sse.ts';
import { type Begun, FirstFrames } from '../stream-beginning.ts';
import { goOnResponses, waitsForCaller } from './calls.ts';
import { ResponsesBodies } from './joined-bodies.ts';
import { ResponsesStreams } from './joined-streams.ts';
import { OPENS } from './stream-items.ts';

/**
 * Events that end a stream (https://platform.openai.com/docs/api-reference/responses-streaming);
 * what only looks like one is read.
 */
const LAST = /"(?:response\.(?:completed|incomplete|failed)|error)"/;
/** Tells of an item that has ended. */
const ENDED = /"response\.output_item\.done"/;
const SEQUENCE_NUMBER = /"sequence_number"\s*:\s*(\d+)/;

/** The last event holds the whole answer. */
const LONGEST_FRAME = 16 * 1024 * 1024;

/** Where the report goes. */
const EVENT: Outline = { fields: new Map([['response', levels(1)]]), others: {}, most: 100 };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const responsesFormat: AnswerFormat = {
  stream: (...told) => new ResponsesStream(...told),
  begin: () => new FirstFrames(begunBy),
  gather: () => new StreamedResponse(),
  text: (body) => textOf(parseJson(decoder.decode(body))),
  joinStreams: (...joining) => new ResponsesStreams(...joining),
  joinBodies: (...joining) => new ResponsesBodies(...joining),
  goOn: goOnResponses,
};

/**
 * What opens a response says nothing of it yet, and neither does an event of no type that the API
 * has.
 */
function begunBy(data: string): Begun {
  const { type, response, error } = asObject(parseJson(data));
  if (type === 'error' || (type === undefined && error)) return { error: data };
  if (type === 'response.failed') return { error: JSON.stringify({ error: asObject(response).error }) };
  const answers = typeof type === 'string' && type.startsWith('response.') && !OPENS.has(type);
  return answers ? 'answers' : 'opens';
}

class StreamedResponse implements AnswerGatherer {
  private last: Record<string, unknown> | undefined;
  private readonly items = new Map<unknown, unknown>();

  push(data: string): void {
    if (ENDED.test(data)) this.addItem(asObject(parseJson(data)));
    const last = lastEvent(data)?.response;
    if (last) this.last ??= asObject(last);
  }

  /**
   * Codex' backend and some gateways list nothing in the last event: then the answer is what was
   * streamed.
   */
  text(): string | undefined {
    const output = this.last?.output;
    const isListed = Array.isArray(output) && output.length > 0;
    return textOf(isListed ? this.last : { ...this.last, output: [...this.items.values()] });
  }

  private addItem({ type, item }: Record<string, unknown>): void {
    // An item that is told twice counts once.
    if (type === 'response.output_item.done') this.items.set(asObject(item).id ?? this.items.size, item);
  }
}

/**
 * Relays the frames of one stream, and adds the report to the event that ends it when there is one
 * to add.
 */
class ResponsesStream implements AnswerStream {
  private readonly splitter = new FrameSplitter(LONGEST_FRAME);
  private readonly report: (() => Report) | undefined;
  private readonly listener: AnswerListener | undefined;
  private readonly retell: Retell | undefined;
  private over = false;
  private sequence = -1;

  constructor(
    report: (() => Report) | undefined,
    listener: AnswerListener | undefined,
    retell: Retell | undefined,
  ) {
    this.report = report;
    this.listener = listener;
    this.retell = retell;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    return this.splitter.push(chunk).map((frame) => this.frame(frame));
  }

  /** A stream is complete when it said so, or when it told an error of its own. */
  end(): { complete: boolean; frames: Uint8Array[] } {
    const last = this.splitter.last();
    const frames = last ? [this.frame(last)] : [];
    return { complete: this.over, frames: this.over ? frames : [] };
  }

  error({ message, param, code }: AnswerFault): Uint8Array {
    const event = { type: 'error', sequence_number: this.sequence + 1, code, message, param };
    return this.splitter.behind(eventFrame('error', JSON.stringify(event)));
  }

  keepalive(): Uint8Array | undefined {
    return this.splitter.inside || this.over ? undefined : KEEPALIVE;
  }

  get isOver(): boolean {
    return this.over;
  }

  private frame(frame: Uint8Array): Uint8Array {
    const [data] = dataOf(frame);
    if (data === undefined) return frame;
    this.listener?.push(data);
    this.sequence = Number(SEQUENCE_NUMBER.exec(data)?.[1] ?? this.sequence);
    const type = lastEvent(data)?.type;
    const told = retold(data, this.retell);
    if (type === undefined) return told === undefined ? frame : dataFrame(told);
    this.over = true;
    if (type !== 'response.failed' && type !== 'error') this.listener?.complete();
    if (this.report && type !== 'error') return eventFrame(type, withReport(told ?? data, this.report()));
    return told === undefined ? frame : eventFrame(type, told);
  }
}

/** The event that ends a stream; undefined for every other one. */
function lastEvent(data: string): { readonly type: string; readonly response?: unknown } | undefined {
  if (!LAST.test(data)) return undefined;
  const { type, response } = asObject(parseJson(data));
  return typeof type === 'string' && LAST.test(`"${type}"`) ? { type, response } : undefined;
}

/** An event with the report as the last member of its response. */
function withReport(data: string, report: Report): string {
  const bytes = encoder.encode(data);
  const response = fieldOf(scanJson(bytes, EVENT), 'response')?.value;
  if (response?.kind !== 'object') return data;
  const added = memberSplices(response, () => false, [{ key: 'memory', json: JSON.stringify(report) }]);
  return decoder.decode(splice(bytes, { start: 0, end: bytes.length }, added));
}

/** The text of a response that is whole, waits for nothing and says something. */
function textOf(response: unknown): string | undefined {
  const { status, incomplete_details, output } = asObject(response);
  const isCut = status === 'incomplete' && asObject(incomplete_details).reason === 'max_output_tokens';
  if ((status !== 'completed' && !isCut) || !Array.isArray(output)) return undefined;
  if (output.some((item) => waitsForCaller(asObject(item)))) return undefined;
  const parts = output.flatMap((item) => {
    const { type, content } = asObject(item);
    return type === 'message' && Array.isArray(content) ? content.map(asObject) : [];
  });
  const text = parts.map((part) => (typeof part.text === 'string' ? part.text : '')).join('');
  return text === '' ? undefined : text;
}
