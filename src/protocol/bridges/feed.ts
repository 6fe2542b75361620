/** What the readers of both APIs share: whole answers and events are written in the same way. */
import { concat } from '../../lib/bytes.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import { bodyFault } from '../answers/said-fault.ts';
import { Block, beginsAsEvents, type Frame } from '../answers/sse.ts';
import { faultInChat } from '../chat/fault-in-chat.ts';
import { AnswerWriter, refusalOf } from './answer-writer.ts';
import type {
  AnswerReader,
  BridgedAnswer,
  BridgedStream,
  BridgeOptions,
  ChatBody,
  CompleteAnswer,
  KeptOutput,
} from './bridge.ts';
import { says } from './chat-fields.ts';

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

  push(frame: Frame): string {
    if (frame.data === undefined) return decoder.decode(frame.bytes);
    const event = asObject(frame.json);
    if (event.type === 'ping') return '';
    if (!this.isOver) this.take(event, frame);
    return this.writer.frames();
  }

  /**
   * @param output of a complete answer
   * @param reason absent if the model has ended the answer
   */
  protected finish(usage: JsonObject | undefined, output?: KeptOutput, reason?: string): void {
    this.isOver = true;
    this.writer.finish(reason ?? (this.writer.calls.length > 0 ? 'tool_calls' : 'stop'), usage);
    this.kept = output && { ...output, message: this.writer.message };
  }

  protected fail(fault: AnswerFault, status: number): void {
    this.isOver = true;
    this.writer.error(fault, status);
    if (!this.hasBegun) this.refusal = this.writer.answer;
  }
}

/** In bytes: white space may come before the first field. */
const LONGEST_BEGINNING = 100;
/** Ends what may be unfinished. */
const BLANK_LINE = new Uint8Array([0x0a, 0x0a]);

const decoder = new TextDecoder();

/** @param feedOf what reads one answer */
export function readerOf(
  { stream_options, max_completion_tokens: most }: ChatBody,
  { showsReasoning, hidesUsage = false }: BridgeOptions,
  feedOf: (writer: AnswerWriter) => AnswerFeed,
): AnswerReader {
  const limit = says(most) ? 'max_completion_tokens' : 'max_tokens';
  const isAsked = asObject(stream_options).include_usage === true;
  const form = { usage: isAsked ? (hidesUsage ? 'last' : 'all') : 'none', showsReasoning } as const;
  return {
    answer(json) {
      const writer = new AnswerWriter(form, false);
      const feed = feedOf(writer);
      if (!beginsAsEvents(decoder.decode(json.subarray(0, LONGEST_BEGINNING)))) feed.whole(json);
      // The events of an upstream that only streams.
      else for (const frame of new Block(concat([json, BLANK_LINE])).frames()) feed.push(frame);
      return { ...writer.answer, kept: feed.kept };
    },
    error: (body, status) =>
      refusalOf(faultInChat(bodyFault(decoder.decode(body), status), limit), status).body,
    stream: () => feedOf(new AnswerWriter(form, true)),
  };
}
