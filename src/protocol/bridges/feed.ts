/** What the readers of both APIs share: whole answers and events are written in the same way. */
import { asObject, type JsonObject, parseObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { saidFault } from '../answers/said-fault.ts';
import { type Frame, FrameSplitter, KEEPALIVE } from '../answers/sse.ts';
import { AnswerWriter, type AskedForm } from './answer-writer.ts';
import type { AnswerReader, BridgedAnswer, BridgedStream, CompleteAnswer, KeptOutput } from './bridge.ts';

/**
 * Reads one answer. A stream that breaks off has no finish chunk: then the reader of chat reports
 * an answer that has broken off.
 */
export abstract class AnswerFeed implements BridgedStream {
  kept: CompleteAnswer | undefined;
  refusal: BridgedAnswer | undefined;
  protected readonly writer: AnswerWriter;
  private isOver = false;

  constructor(writer: AnswerWriter) {
    this.writer = writer;
  }

  get hasBegun(): boolean {
    return this.writer.hasSaid;
  }

  /** Takes an answer that is no stream. */
  abstract whole(json: Uint8Array): void;
  protected abstract take(event: JsonObject, frame: Frame): void;

  push(frame: Frame): readonly Uint8Array[] {
    if (frame.data === undefined) return [frame.bytes];
    const event = asObject(frame.json);
    if (event.type === 'ping') return [KEEPALIVE];
    if (!this.isOver) this.take(event, frame);
    return this.writer.frames();
  }

  /** Takes the events of an upstream that only streams. */
  events(bytes: Uint8Array): void {
    const splitter = new FrameSplitter(bytes.length);
    for (const frame of splitter.push(bytes)) this.push(frame);
    const last = splitter.last();
    if (last) this.push(last);
  }

  /** @param output of a complete answer */
  protected finish(reason: string, usage: JsonObject | undefined, output: KeptOutput | undefined): void {
    this.isOver = true;
    this.writer.finish(reason, usage);
    this.kept = output && { ...output, message: this.writer.message };
  }

  protected fail(fault: AnswerFault, status: number): void {
    this.isOver = true;
    this.writer.error(fault, status);
    if (!this.hasBegun) this.refusal = this.writer.answer;
  }
}

/** The beginning of an event stream: a field, or a comment. */
const EVENTS = /^\s*(?:event|data|id|retry)?:/;
const LONGEST_BEGINNING = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param feedOf what reads one answer */
export function readerOf(form: AskedForm, feedOf: (writer: AnswerWriter) => AnswerFeed): AnswerReader {
  return {
    answer(json) {
      const writer = new AnswerWriter(form, false);
      const feed = feedOf(writer);
      if (EVENTS.test(decoder.decode(json.subarray(0, LONGEST_BEGINNING)))) feed.events(json);
      else feed.whole(json);
      return { ...writer.answer, kept: feed.kept };
    },
    error: (body, status) => encoder.encode(JSON.stringify({ error: faultIn(body, status) })),
    stream: () => feedOf(new AnswerWriter(form, true)),
  };
}

/** In characters, of the message of a body that is no error in any form. */
const LONGEST_WORDS = 500;

/** The error that a body reports, in the upstream's words. Its type stays. */
export function faultIn(body: Uint8Array, status: number): AnswerFault {
  const text = decoder.decode(body);
  const words = text.trim().slice(0, LONGEST_WORDS);
  return saidFault(parseObject(text) ?? {}, words || `The upstream answered with status ${status}.`);
}
