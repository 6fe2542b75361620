/** Reads an answer's body with time limits. */
import type { UpstreamAnswer } from './fetch.ts';

type Read = ReadableStreamReadResult<Uint8Array>;

/** A promise that can be awaited several times with a limit. */
export class Late<Value> {
  private readonly promise: Promise<Value>;

  constructor(promise: Promise<Value>) {
    this.promise = promise;
  }

  async within(limitMs: number): Promise<Value | 'late'> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), limitMs);
    });
    const came = await Promise.race([this.promise, late]);
    clearTimeout(timer);
    return came;
  }
}

/**
 * A body whose reads have a time limit. A chunk that comes too late is returned by the next read.
 */
export class Source {
  /** Milliseconds of silence since the last chunk. */
  silentMs = 0;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private pending: Late<Read | 'died'> | undefined;

  constructor({ response }: UpstreamAnswer) {
    if (!response.body) throw new Error('an answer without a body');
    this.reader = response.body.getReader();
  }

  async read(limitMs: number): Promise<Read | 'silent' | 'died'> {
    this.pending ??= new Late<Read | 'died'>(this.reader.read().catch(() => 'died' as const));
    const read = await this.pending.within(limitMs);
    if (read === 'late') {
      this.silentMs += limitMs;
      return 'silent';
    }
    this.silentMs = 0;
    this.pending = undefined;
    return read;
  }

  async cancel(reason: unknown): Promise<void> {
    await this.reader.cancel(reason).catch(() => undefined);
  }
}
