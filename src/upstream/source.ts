/** Reads an answer's body with time limits. */
import { Patience } from '../lib/time-limit.ts';
import { type Chunks, chunksOf, type Read } from './chunks.ts';
import type { UpstreamAnswer } from './fetch.ts';

/**
 * A body whose reads have a time limit. A chunk that comes too late is returned by the next read.
 */
export class Source {
  /** Milliseconds of silence since the last chunk. */
  silentMs = 0;
  private readonly chunks: Chunks;
  private readonly died: ((error: unknown) => void) | undefined;
  private readonly patience = new Patience();
  private pending: Promise<Read | { readonly error: unknown }> | undefined;
  private isCancelled = false;

  /** @param died called with the reason when the body breaks off */
  constructor(answer: UpstreamAnswer, died?: (error: unknown) => void, length?: number) {
    const { rest, response } = answer;
    if (!response.body) throw new Error('an answer without a body');
    this.chunks = rest ?? chunksOf(response.body, length);
    this.died = died;
  }

  async read(limitMs: number): Promise<Read | 'silent' | 'died'> {
    this.pending ??= this.chunks.next().catch((error: unknown) => ({ error }));
    const read = await this.patience.race(limitMs, this.pending);
    if (!read) {
      this.silentMs += limitMs;
      return 'silent';
    }
    this.silentMs = 0;
    this.pending = undefined;
    if ('error' in read || read.done) this.stop();
    if (!('error' in read)) return read;
    // A caller who leaves breaks the body off.
    if (!this.isCancelled) this.died?.(read.error);
    return 'died';
  }

  async cancel(reason: unknown): Promise<void> {
    this.isCancelled = true;
    this.stop();
    await this.chunks.cancel(reason).catch(() => undefined);
  }

  /** All of the body has come, so its end is not read. */
  finish(): void {
    this.stop();
    this.chunks.finish?.();
  }

  /** Call it when nothing more is read. */
  stop(): void {
    this.patience.clear();
  }
}
