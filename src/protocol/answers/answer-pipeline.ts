/**
 * The way of a streamed answer to its caller, in stages:
 *
 *   bytes → frames → join → gather → report → bytes
 *
 * Frames are split here, once, and parsed where a stage needs them (`Frame`). Frames that come
 * together and matter to no stage pass as one block, which is only searched for words. `join`
 * makes one answer of several (`retrieval/stream.ts`), `gather` reads the text for memory and
 * archive, and `report` recognises the end and adds the report (`AnswerStream`).
 */
import type { AnswerFault, AnswerListener, AnswerStream } from './answer-format.ts';
import { type Block, type Frame, FrameSplitter, KEEPALIVE } from './sse.ts';

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

  /** Whether the answer is complete, and no error. */
  get isWhole(): boolean {
    return this.report.isWhole;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const blocks = this.splitter.blocks(chunk);
    return blocks.flatMap((block) => (this.skips(block) ? [block.bytes] : this.passed(block)));
  }

  end(): { complete: boolean; frames: Uint8Array[] } {
    const last = this.splitter.last();
    const before = bytesOf(last ? this.pass([last]) : []);
    if (this.goesOn()) return { complete: true, frames: before };
    const { complete, frames } = this.report.end();
    this.complete();
    // An error follows otherwise, and half a frame before it is of no use.
    return { complete, frames: complete ? [...before, ...bytesOf(frames)] : [] };
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
  protected pass(frames: readonly Frame[]): Frame[] {
    const shown: Frame[] = [];
    for (const frame of frames) shown.push(...this.show(this.join(frame)));
    return shown;
  }

  /** Passes a block through all stages. One that stays as it is comes out in one piece. */
  protected passed(block: Block): Uint8Array[] {
    const frames = block.frames();
    const shown = this.pass(frames);
    const isSame = shown.length === frames.length && shown.every((frame, index) => frame === frames[index]);
    return isSame ? [block.bytes] : bytesOf(shown);
  }

  /** Whether another answer follows this one, which has ended. */
  protected goesOn(): boolean {
    return false;
  }

  /** Passes frames through the stages after the first. */
  protected show(frames: readonly Frame[]): Frame[] {
    const shown: Frame[] = [];
    for (const frame of frames) {
      this.gather?.push(frame);
      shown.push(...this.report.push(frame));
      this.complete();
    }
    return shown;
  }

  /** Whether a block can be passed on without a look at each of its frames. */
  private skips(block: Block): boolean {
    // A piece of a frame has no event.
    if (this.splitter.inside) return false;
    const isGathered = this.gather !== undefined && this.gather.skip?.(block) !== true;
    return !isGathered && this.report.skip(block);
  }

  private complete(): void {
    if (this.isGathered || !this.report.isWhole) return;
    this.isGathered = true;
    this.gather?.complete();
  }
}

function bytesOf(frames: readonly Frame[]): Uint8Array[] {
  return frames.map(({ bytes }) => bytes);
}
