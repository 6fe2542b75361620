/** Reads an answer's body with time limits. */
import { soon } from '../lib/time-limit.ts';
import type { UpstreamAnswer } from './fetch.ts';

type Read = ReadableStreamReadResult<Uint8Array>;

/**
 * A body whose reads have a time limit. A chunk that comes too late is returned by the next read.
 */
export class Source {
  /** Milliseconds of silence since the last chunk. */
  silentMs = 0;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly died: ((error: unknown) => void) | undefined;
  private pending: Promise<Read | { readonly error: unknown }> | undefined;
  private isCancelled = false;

  /** @param died called with the reason when the body breaks off */
  constructor({ response }: UpstreamAnswer, died?: (error: unknown) => void) {
    if (!response.body) throw new Error('an answer without a body');
    this.reader = response.body.getReader();
    this.died = died;
  }

  async read(limitMs: number): Promise<Read | 'silent' | 'died'> {
    this.pending ??= this.reader.read().catch((error: unknown) => ({ error }));
    const read = await soon(limitMs, this.pending);
    if (!read) {
      this.silentMs += limitMs;
      return 'silent';
    }
    this.silentMs = 0;
    this.pending = undefined;
    if (!('error' in read)) return read;
    // A caller who leaves breaks the body off.
    if (!this.isCancelled) this.died?.(read.error);
    return 'died';
  }

  async cancel(reason: unknown): Promise<void> {
    this.isCancelled = true;
    await this.reader.cancel(reason).catch(() => undefined);
  }
}
