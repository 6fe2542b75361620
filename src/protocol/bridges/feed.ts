/** What the readers of both APIs share: an answer, whole or in events, is said in the same way. */
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { type Frame, FrameSplitter, KEEPALIVE } from '../answers/sse.ts';
import type { AnswerReader, BridgedStream, KeptOutput } from './bridge.ts';
import { type AnswerWriter, ChunkWriter, errorBody, WholeAnswer } from './chunks.ts';

const PARAGRAPH = '\n\n';

/** The member of a call with its arguments, by its type. */
const INPUTS = { function: 'arguments', custom: 'input' } as const;
export type CallType = keyof typeof INPUTS;

/** Says an answer in deltas of chat, with all that is numbered or joined across them. */
export class Saying {
  private readonly writer: AnswerWriter;
  /** Whether the caller asks for reasoning. */
  private readonly showsReasoning: boolean;
  /** How many calls have been given out. */
  calls = 0;
  /** Characters of the content that have been given out. */
  length = 0;
  private hasThought = false;
  /** How many pieces of reasoning that a caller can echo have been given out. */
  private details = 0;

  constructor(writer: AnswerWriter, showsReasoning: boolean) {
    this.writer = writer;
    this.showsReasoning = showsReasoning;
  }

  /**
   * Text of the content. Texts of several messages or blocks are paragraphs of it.
   *
   * @param isNext whether another message or block begins
   * @returns where it begins in the content
   */
  text(text: string, isNext: boolean, more?: JsonObject): number {
    const content = isNext && this.length > 0 ? PARAGRAPH + text : text;
    if (text !== '') this.writer.delta({ content }, more);
    if (text !== '') this.length += content.length;
    return this.length - text.length;
  }

  refusal(refusal: string): void {
    this.writer.delta({ refusal });
  }

  annotations(cited: JsonObject): void {
    this.writer.delta(cited);
  }

  /** @param isNext whether a part of the reasoning begins */
  thought(text: string, isNext: boolean): void {
    if (text === '' || !this.showsReasoning) return;
    this.writer.delta({ reasoning_content: isNext && this.hasThought ? PARAGRAPH + text : text });
    this.hasThought = true;
  }

  /** Reasoning in the form that a caller can send back. */
  detail(fields: JsonObject): void {
    if (!this.showsReasoning) return;
    this.writer.delta({ reasoning_details: [{ ...fields, index: this.details++ }] });
  }

  /** Begins a call. @returns its index among the answer's calls */
  call(id: unknown, type: CallType, name: string, input: string): number {
    const index = this.calls++;
    this.writer.delta({ tool_calls: [{ index, id, type, [type]: { name, [INPUTS[type]]: input } }] });
    return index;
  }

  /** More of a call's arguments. */
  input(index: number, type: CallType, text: string): void {
    if (text !== '') this.writer.delta({ tool_calls: [{ index, [type]: { [INPUTS[type]]: text } }] });
  }
}

/**
 * Reads one answer. A stream that breaks off has no finish chunk: then the reader of chat reports
 * an answer that has broken off.
 */
export abstract class AnswerFeed implements BridgedStream {
  kept: KeptOutput | undefined;
  protected readonly writer: AnswerWriter;
  private isOver = false;

  constructor(writer: AnswerWriter) {
    this.writer = writer;
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

  protected finish(reason: string, usage: JsonObject | undefined, kept: KeptOutput | undefined): void {
    this.isOver = true;
    this.kept = kept;
    this.writer.finish(reason, usage);
  }

  protected fail(fault: AnswerFault, status: number): void {
    this.isOver = true;
    this.writer.error(fault, status);
  }
}

/** The beginning of an event stream: a field, or a comment. */
const EVENTS = /^\s*(?:event|data|id|retry)?:/;
const LONGEST_BEGINNING = 100;

/** @param feedOf what reads one answer */
export function readerOf(asksUsage: boolean, feedOf: (writer: AnswerWriter) => AnswerFeed): AnswerReader {
  return {
    answer(json) {
      const writer = new WholeAnswer();
      const feed = feedOf(writer);
      if (EVENTS.test(new TextDecoder().decode(json.subarray(0, LONGEST_BEGINNING)))) feed.events(json);
      else feed.whole(json);
      return writer.answer(feed.kept);
    },
    error: errorBody,
    stream: () => feedOf(new ChunkWriter(asksUsage)),
  };
}
