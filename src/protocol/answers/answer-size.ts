/**
 * How many tokens of output an answer has, where its upstream does not say. Counted without parsing
 * it: a whole answer by its bytes, and a stream by its events, of which each has a token or more
 * beside what all of them have in common.
 */

/** Of English, code and JSON. */
export const BYTES_PER_TOKEN = 4;

/**
 * What all events of a stream have in common has no more bytes, so that what equal events hold
 * counts, too.
 */
const MOST_FRAME = 400;
/** An event that has no more bytes is a sign, such as a ping or `[DONE]`, and has no output. */
const LONGEST_SIGN = 46;

const LINE_END = 10;
/** The first letter of `data:`. */
const DATA = 100;

export class AnswerSize {
  readonly isStream: boolean;
  private bytes = 0;
  private events = 0;
  /** In bytes. */
  private smallest = Number.POSITIVE_INFINITY;
  private inEvents = 0;
  /** Bytes of the line so far, and whether it is one of data. */
  private line = 0;
  private isData = false;

  constructor(isStream: boolean) {
    this.isStream = isStream;
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (!this.isStream) return;
    for (let start = 0; start < chunk.length; ) {
      if (this.line === 0) this.isData = chunk[start] === DATA;
      const end = chunk.indexOf(LINE_END, start);
      this.line += (end < 0 ? chunk.length : end) - start;
      if (end < 0) return;
      if (this.isData) this.endEvent();
      this.line = 0;
      start = end + 1;
    }
  }

  /** In tokens, rounded up. */
  get output(): number {
    if (!this.isStream) return Math.ceil(this.bytes / BYTES_PER_TOKEN);
    if (this.events === 0) return 0;
    const beyond = Math.max(0, this.inEvents - this.events * Math.min(this.smallest, MOST_FRAME));
    return this.events + Math.ceil(beyond / BYTES_PER_TOKEN);
  }

  private endEvent(): void {
    this.events++;
    this.inEvents += this.line;
    if (this.line > LONGEST_SIGN) this.smallest = Math.min(this.smallest, this.line);
  }
}
