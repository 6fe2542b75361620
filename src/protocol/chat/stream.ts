/** How the stream of a chat completion ends: chunks, the report, `[DONE]`. */
import type { Report } from '../../memory/plan/report.ts';
import type { AnswerFault, AnswerStream, Reword } from '../answer-format.ts';
import { reworded } from '../reword.ts';
import { dataFrame, Frame, LONGEST_FRAME } from '../sse.ts';
import { reportChunk } from './request.ts';

export const DONE = '[DONE]';

const FINISHED = /"finish_reason"\s*:\s*"/;
const ERROR = /^\s*\{\s*"error"\s*:\s*[{"]/;

export class ChatStream implements AnswerStream {
  readonly longestFrame = LONGEST_FRAME;
  /** Whether `[DONE]` has come. It does not matter how the connection ends after it. */
  isOver = false;
  private readonly report: (() => Report) | undefined;
  private readonly reword: Reword | undefined;
  /** The data of a chunk of this stream. The report takes its id. */
  private sample: string | undefined;
  private hasFinished = false;
  private hasFailed = false;
  private hasEnded = false;

  /** See `AnswerFormat`. */
  constructor(report: (() => Report) | undefined, reword?: Reword) {
    this.report = report;
    this.reword = reword;
  }

  get isWhole(): boolean {
    return !this.hasFailed && (this.isOver || (this.hasEnded && this.hasFinished));
  }

  push(frame: Frame): Frame[] {
    const { data } = frame;
    if (data === undefined) return [frame];
    if (data.trim() === DONE) {
      const before = this.isOver ? [] : this.reportFrames();
      this.isOver = true;
      return [...before, frame];
    }
    this.sample ??= data;
    this.hasFinished ||= FINISHED.test(data);
    this.hasFailed ||= ERROR.test(data);
    const rewordedData = reworded(frame, this.reword);
    return [rewordedData === undefined ? frame : Frame.of(rewordedData)];
  }

  /** Without `[DONE]`, a `finish_reason` or an error of the upstream completes a stream. */
  end(): { complete: boolean; frames: Frame[] } {
    this.hasEnded = true;
    const isCut = !this.isOver && !this.hasFailed && this.hasFinished;
    const complete = this.isOver || this.hasFinished || this.hasFailed;
    return { complete, frames: isCut ? this.reportFrames() : [] };
  }

  error(error: AnswerFault): Uint8Array {
    return dataFrame(JSON.stringify({ error }));
  }

  private reportFrames(): Frame[] {
    return this.report ? [Frame.of(reportChunk(this.sample, this.report()))] : [];
  }
}
