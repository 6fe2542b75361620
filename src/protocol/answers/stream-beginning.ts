/** How a stream begins: with an answer, or with an error before it. */
import { type Frame, FrameSplitter } from './sse.ts';

/** What an event decides: nothing yet; that an answer begins; or the JSON of an error. */
export type Begun = 'opens' | 'answers' | { readonly error: string };

/** Reads frames until one of them decides. */
export class FirstFrames {
  /** The error that the stream begins with, as JSON; undefined if it begins with an answer. */
  error: string | undefined;
  private readonly begun: (event: Frame) => Begun;
  private readonly splitter = new FrameSplitter();

  /** @param begun decides by a frame with an event */
  constructor(begun: (event: Frame) => Begun) {
    this.begun = begun;
  }

  /** Takes bytes. Returns true once the beginning is known. */
  push(chunk: Uint8Array): boolean {
    const decided = this.splitter.push(chunk).some((frame) => this.decides(frame));
    // A frame that passes in pieces is no error.
    return decided || this.splitter.inside;
  }

  end(): void {
    const last = this.splitter.last();
    if (last) this.decides(last);
  }

  private decides(frame: Frame): boolean {
    const begun = frame.data === undefined ? 'opens' : this.begun(frame);
    if (typeof begun === 'object') this.error = begun.error;
    return begun !== 'opens';
  }
}
