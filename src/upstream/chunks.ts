/** The chunks of an answer's body, read one after the other. */

export type Read = { readonly done: false; readonly value: Uint8Array } | { readonly done: true };

export interface Chunks {
  next(): Promise<Read>;
  cancel(reason: unknown): Promise<void>;
  /** All of the body has come, so its end is not read. */
  finish?(): void;
}

/**
 * How much a read may take, in bytes. A read that takes that much is followed by a longer one,
 * since each costs the same.
 */
const SHORTEST_READ = 4 * 1024;
const LONGEST_READ = 64 * 1024;

/** @param length of the whole body, if it is known: a short one may then come in one read */
export function chunksOf(body: ReadableStream<Uint8Array>, length = SHORTEST_READ): Chunks {
  try {
    const first = length > SHORTEST_READ ? Math.min(length, LONGEST_READ) : SHORTEST_READ;
    return new BufferedChunks(body.getReader({ mode: 'byob' }), first);
  } catch {
    // A body that was put together here is no stream of bytes.
    const reader = body.getReader();
    return { next: () => reader.read() as Promise<Read>, cancel: (reason) => reader.cancel(reason) };
  }
}

/** Reads into a buffer of its own, which may take more than the runtime reads by itself. */
class BufferedChunks implements Chunks {
  private readonly reader: ReadableStreamBYOBReader;
  private buffer: ArrayBufferLike;

  constructor(reader: ReadableStreamBYOBReader, first: number) {
    this.reader = reader;
    this.buffer = new ArrayBuffer(first);
  }

  async next(): Promise<Read> {
    const { done, value } = await this.reader.read(new Uint8Array(this.buffer));
    if (done) return { done };
    const { buffer, length } = value;
    if (length === buffer.byteLength) {
      this.buffer = new ArrayBuffer(Math.min(2 * length, LONGEST_READ));
      return { done, value };
    }
    // A copy, since a part of the buffer would keep all of it alive.
    this.buffer = buffer;
    return { done, value: value.slice() };
  }

  cancel(reason: unknown): Promise<void> {
    return this.reader.cancel(reason);
  }
}
