/** The stream of a chat completion: chunks, `[DONE]`, and the report between the two. */
import type { Report } from '../../memory/plan/report.ts';
import type { AnswerFault, AnswerListener, AnswerStream, Retell } from '../answer-format.ts';
import { retold } from '../retold.ts';
import { dataFrame, dataOf, FrameSplitter, KEEPALIVE } from '../sse.ts';
import { reportChunk } from './request.ts';

/**
 * The sentinel that ends a complete stream
 * (https://platform.openai.com/docs/api-reference/chat/create, `stream`).
 */
export const DONE = '[DONE]';

const FINISHED = /"finish_reason"\s*:\s*"/;
const ERROR = /^\s*\{\s*"error"\s*:\s*[{"]/;

/**
 * Relays the frames of one chat stream, and adds the report before its end when there is one to
 * add.
 */
export class ChatStream implements AnswerStream {
  private readonly splitter = new FrameSplitter();
  private readonly report: (() => Report) | undefined;
  private readonly listener: AnswerListener | undefined;
  private readonly retell: Retell | undefined;
  /** Data of a chunk of this stream, whose id the report takes. */
  private sample: string | undefined;
  private finished = false;
  private done = false;
  private failed = false;

  /** See `AnswerFormat`. */
  constructor(report: (() => Report) | undefined, listener?: AnswerListener, retell?: Retell) {
    this.report = report;
    this.listener = listener;
    this.retell = retell;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    return this.splitter.push(chunk).flatMap((frame) => this.frame(frame));
  }

  /**
   * A stream is complete when it said so: by `[DONE]`, by a `finish_reason` at least, or by an
   * error of its own.
   */
  end(): { complete: boolean; frames: Uint8Array[] } {
    const last = this.splitter.last();
    const frames = last ? this.frame(last) : [];
    const complete = this.done || this.finished || this.failed;
    if (!complete) return { complete, frames: [] };
    if (!this.done && !this.failed) {
      frames.push(...this.reportFrames());
      this.listener?.complete();
    }
    return { complete, frames };
  }

  error(error: AnswerFault): Uint8Array {
    return this.splitter.behind(dataFrame(JSON.stringify({ error })));
  }

  /** Nothing in the middle of a frame, and nothing when all is said. */
  keepalive(): Uint8Array | undefined {
    return this.splitter.inside || this.isOver ? undefined : KEEPALIVE;
  }

  /**
   * Whether the stream has said its last word; how the connection ends does not matter any more.
   */
  get isOver(): boolean {
    return this.done;
  }

  private frame(frame: Uint8Array): Uint8Array[] {
    let before: Uint8Array[] = [];
    let shown = frame;
    for (const data of dataOf(frame)) {
      if (data.trim() === DONE) {
        before = this.done ? [] : this.reportFrames();
        if (!this.done && !this.failed) this.listener?.complete();
        this.done = true;
      } else {
        this.listener?.push(data);
        this.sample ??= data;
        this.finished ||= FINISHED.test(data);
        this.failed ||= ERROR.test(data);
        const told = retold(data, this.retell);
        if (told !== undefined) shown = dataFrame(told);
      }
    }
    return [...before, shown];
  }

  private reportFrames(): Uint8Array[] {
    return this.report ? [dataFrame(reportChunk(this.sample, this.report()))] : [];
  }
}
