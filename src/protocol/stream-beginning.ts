/** How a stream begins: with an answer, or with an error before anything of one. */
import type { StreamBeginning } from './answer-format.ts';
import { dataOf, FrameSplitter } from './sse.ts';

/**
 * What an event says of the beginning: nothing yet, that an answer has begun, or the JSON of an
 * error.
 */
export type Begun = 'opens' | 'answers' | { readonly error: string };

/** Reads frames until one of them decides. */
export class FirstFrames implements StreamBeginning {
  error: string | undefined;
  private readonly begun: (data: string) => Begun;
  private readonly splitter = new FrameSplitter();

  /** @param begun says so of an event's data */
  constructor(begun: (data: string) => Begun) {
    this.begun = begun;
  }

  push(chunk: Uint8Array): boolean {
    const decided = this.splitter.push(chunk).some((frame) => this.decides(frame));
    // A frame that is passed on in pieces is no error.
    return decided || this.splitter.inside;
  }

  end(): void {
    const last = this.splitter.last();
    if (last) this.decides(last);
  }

  private decides(frame: Uint8Array): boolean {
    for (const data of dataOf(frame)) {
      const begun = this.begun(data);
      if (begun === 'opens') continue;
      if (begun !== 'answers') this.error = begun.error;
      return true;
    }
    return false;
  }
}
