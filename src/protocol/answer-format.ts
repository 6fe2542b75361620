/** The answers of one protocol, as the routes relay them. */
import type { Report } from '../memory/report.ts';

/** Who listens to a stream beside its caller. */
export interface AnswerListener {
  /** Takes the data of each event. */
  push(data: string): void;
  /** Is told once that the stream is complete. Not called for one that broke off. */
  complete(): void;
}

/** Why an answer ends before it is whole, in OpenAI's shape. An upstream's own says more than these fields. */
export interface AnswerFault {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** A stream of events on its way to the caller (see `EventFormat` in `upstream/stream.ts`). */
export interface AnswerStream {
  push(chunk: Uint8Array): Uint8Array[];
  end(): { readonly complete: boolean; readonly frames: Uint8Array[] };
  /** The frame that ends the stream. */
  error(fault: AnswerFault): Uint8Array;
  keepalive(): Uint8Array | undefined;
  readonly isOver: boolean;
}

/** Gathers the text of a streamed answer. */
export interface AnswerGatherer {
  /** @param data of one event of the stream */
  push(data: string): void;
  /** The text; undefined when the answer is not whole, calls tools, or says nothing. */
  text(): string | undefined;
}

export interface AnswerFormat {
  /** @param report asked for when the answer is whole; absent where none is to be added */
  stream(report: (() => Report) | undefined, listener: AnswerListener | undefined): AnswerStream;
  gather(): AnswerGatherer;
  /** The text of a JSON answer, as of a gathered one. */
  text(body: Uint8Array): string | undefined;
}
