/**
 * The way of a streamed answer to its caller, in stages:
 *
 *   bytes → frames → join → gather → report → bytes
 *
 * Frames are split here, once, and parsed where a stage needs them (`Frame`). `join` makes one
 * answer of several (`retrieval/stream.ts`), `gather` reads the text for memory and archive, and
 * `report` recognises the end and adds the report (`AnswerStream`).
 */
import type { AnswerFault, AnswerListener, AnswerStream } from './answer-format.ts';
import { Frame, FrameSplitter, KEEPALIVE } from './sse.ts';

/** An `EventFormat` of `upstream/stream.ts`, without the first stage. */
export class AnswerPipeline {
  protected readonly report: AnswerStream;
  protected splitter: FrameSplitter;
  private readonly gather: AnswerListener | undefined;
  private isGathered = false;

  constructor(report: AnswerStream, gather?: AnswerListener, longestFrame = report.longestFrame) {
    this.report = report;
    this.gather = gather;
    this.splitter = new FrameSplitter(longestFrame);
  }

  get isOver(): boolean {
    return this.report.isOver;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    return this.pass(this.splitter.push(chunk));
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const last = this.splitter.last();
    const before = last ? this.pass([last]) : [];
    if (this.goesOn()) return { complete: true, frames: before };
    const { complete, frames } = this.report.end();
    this.complete();
    // An error follows otherwise, and half a frame before it is of no use.
    return { complete, frames: complete ? [...before, ...frames.map(({ bytes }) => bytes)] : [] };
  }

  error(fault: AnswerFault): Uint8Array {
    return this.splitter.ownFrame(this.report.error(fault));
  }

  /** Undefined within a frame, and after the last event. */
  keepalive(): Uint8Array | undefined {
    return this.splitter.inside || this.isOver ? undefined : KEEPALIVE;
  }

  /** The first stage: the frames that take the place of one frame of the upstream's. */
  protected join(frame: Frame): Frame[] {
    return [frame];
  }

  /** Passes frames of the upstream through all stages. */
  protected pass(frames: readonly Uint8Array[]): Uint8Array[] {
    const shown: Uint8Array[] = [];
    for (const bytes of frames) shown.push(...this.show(this.join(new Frame(bytes))));
    return shown;
  }

  /** Whether another answer follows this one, which has ended. */
  protected goesOn(): boolean {
    return false;
  }

  /** Passes frames through the stages after the first. */
  protected show(frames: readonly Frame[]): Uint8Array[] {
    const shown: Uint8Array[] = [];
    for (const frame of frames) {
      this.gather?.push(frame);
      for (const { bytes } of this.report.push(frame)) shown.push(bytes);
      this.complete();
    }
    return shown;
  }

  private complete(): void {
    if (this.isGathered || !this.report.isWhole) return;
    this.isGathered = true;
    this.gather?.complete();
  }
}
