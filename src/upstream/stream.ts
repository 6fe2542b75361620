/**
 * Relaying an event stream so that the caller learns how it ended.
 *
 * The stream is pulled, chunk by chunk, and never ahead of the caller: that is the only shape which
 * sees all four endings. The upstream is done; it died; it fell silent; the caller left. A stream
 * that broke off gets an error frame and no `[DONE]`, since a clean end would pass half an answer
 * off as a whole one.
 */
import type { UpstreamAnswer, UpstreamFault } from './fetch.ts';
import { Late, Source } from './source.ts';

/** Why a stream ends before its answer is whole, in OpenAI's shape. */
interface StreamError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

const BROKEN_OFF: Readonly<Record<UpstreamFault, string>> = {
  upstream_timeout: 'The upstream fell silent in the middle of its answer.',
  upstream_unreachable: 'The connection to the upstream broke off in the middle of its answer.',
};

const UNKNOWN: StreamError = {
  message: 'The answer could not be relayed to its end.',
  type: 'server_error',
  param: null,
  code: 'internal_error',
};

/** The wire format of the events, which this file does not know. */
export interface EventFormat {
  /** Takes the upstream's bytes; returns whole frames to be passed on. */
  push(chunk: Uint8Array): Uint8Array[];
  /** What is to be sent when the upstream has ended cleanly. */
  end(): { readonly complete: boolean; readonly frames: Uint8Array[] };
  /** The frame that ends a stream which broke off. */
  error(error: StreamError): Uint8Array;
  /** A frame that says nothing new; undefined where none may stand. */
  keepalive(): Uint8Array | undefined;
  /** Whether the stream has said its last word. */
  readonly isOver: boolean;
  /**
   * Asked after each read: the answer with which the stream goes on when this one is through, or
   * the bytes that end it; undefined where this answer's end is the stream's.
   */
  next?(): Promise<UpstreamAnswer | Uint8Array> | undefined;
  /** The caller has left: whatever `next` has begun is ended. */
  abandon?(): void;
}

/** Times in milliseconds. */
interface StreamTimes {
  /** How long the upstream may be silent. */
  readonly idleMs: number;
  /**
   * After how much silence the caller is sent a frame that says nothing. It keeps connections open
   * on the way, and it is how a caller that has left is noticed while there is nothing else to
   * send.
   */
  readonly keepaliveMs: number;
}

/**
 * The upstream's events as a stream for the caller.
 *
 * @param ended is called once, after whichever of the four endings
 * @param failed describes an error of ours, which ends the stream too
 */
export function relayEvents(
  first: UpstreamAnswer,
  format: EventFormat,
  times: StreamTimes,
  ended: () => void = () => undefined,
  failed: (error: unknown) => StreamError = () => UNKNOWN,
): ReadableStream<Uint8Array> {
  const relay = new EventRelay(first, format, times, failed);
  const batches = relay.batches();
  let hasEnded = false;
  const end = (): void => {
    if (!hasEnded) ended();
    hasEnded = true;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value: frames } = await batches.next().catch((error: unknown) => {
          end();
          throw error;
        });
        if (relay.hasLeft) return;
        for (const frame of frames ?? []) controller.enqueue(frame);
        if (!done) return;
        controller.close();
        end();
      },
      async cancel(reason) {
        end();
        await relay.leave(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The upstream is done with a stream before its answer is whole. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault) {
    super(BROKEN_OFF[fault]);
    this.fault = fault;
  }
}

type Continuation = UpstreamAnswer | Uint8Array;

/** One stream for the caller, made of the answers of one or more rounds. */
class EventRelay {
  /** Whether the caller has left. */
  hasLeft = false;
  private readonly format: EventFormat;
  private readonly times: StreamTimes;
  private readonly failed: (error: unknown) => StreamError;
  private answer: UpstreamAnswer;
  private source: Source;
  /** When the caller was last sent something. */
  private sentAt = Date.now();

  constructor(
    first: UpstreamAnswer,
    format: EventFormat,
    times: StreamTimes,
    failed: (error: unknown) => StreamError,
  ) {
    this.answer = first;
    this.source = new Source(first);
    this.format = format;
    this.times = times;
    this.failed = failed;
  }

  /**
   * The frames of the stream, as many at once as were read at once.
   *
   * @throws where not even an error frame can be written
   */
  async *batches(): AsyncGenerator<readonly Uint8Array[], undefined> {
    try {
      yield* this.answers();
    } catch (error) {
      if (this.hasLeft) return undefined;
      this.answer.abort();
      yield [this.lastFrame(error)];
    }
    return undefined;
  }

  async leave(reason: unknown): Promise<void> {
    this.hasLeft = true;
    this.format.abandon?.();
    this.answer.abort();
    await this.source.cancel(reason);
  }

  /** One answer after the other, until the last is through. @throws BrokenOff */
  private async *answers(): AsyncGenerator<readonly Uint8Array[], undefined> {
    for (;;) {
      const coming = yield* this.oneAnswer();
      if (!coming) return undefined;
      const came = yield* this.arrival(coming);
      if (came instanceof Uint8Array) {
        yield [came];
        return undefined;
      }
      this.answer = came;
      this.source = new Source(came);
    }
  }

  /**
   * The frames of one answer.
   *
   * @returns the next one, if the stream goes on with it
   * @throws BrokenOff
   */
  private async *oneAnswer(): AsyncGenerator<
    readonly Uint8Array[],
    Late<Continuation | 'failed'> | undefined
  > {
    const { format, times } = this;
    for (;;) {
      const read = await this.source.read(Math.min(times.keepaliveMs, times.idleMs - this.source.silentMs));
      if (this.hasLeft) return undefined;
      if (read === 'died' || read === 'silent') {
        if (!format.isOver) {
          yield* this.waited(read);
          continue;
        }
        this.answer.abort();
        return undefined;
      }
      const end = read.done ? format.end() : undefined;
      const frames = read.done ? (end?.frames ?? []) : format.push(read.value);
      const next = format.next?.();
      if (next) this.answer.abort();
      const coming = next && new Late<Continuation | 'failed'>(next.catch(() => 'failed' as const));
      if (frames.length > 0) yield this.sent(frames);
      if (coming) return coming;
      if (end && !end.complete) throw new BrokenOff('upstream_unreachable');
      if (end) return undefined;
      // An upstream that says what is held back here is not silent, and the caller hears nothing.
      if (Date.now() - this.sentAt >= times.keepaliveMs) yield* this.alive();
    }
  }

  /** What the stream goes on with, and signs of life until it is there. @throws BrokenOff */
  private async *arrival(
    coming: Late<Continuation | 'failed'>,
  ): AsyncGenerator<readonly Uint8Array[], Continuation> {
    for (;;) {
      const came = await coming.within(this.times.keepaliveMs);
      if (came === 'failed') throw new BrokenOff('upstream_unreachable');
      if (came !== 'late') return came;
      yield* this.alive();
    }
  }

  /**
   * A sign of life for a read that has brought nothing.
   *
   * @throws BrokenOff when nothing more is to be expected
   */
  private *waited(read: 'died' | 'silent'): Generator<readonly Uint8Array[]> {
    if (read === 'died') throw new BrokenOff('upstream_unreachable');
    if (this.source.silentMs >= this.times.idleMs) throw new BrokenOff('upstream_timeout');
    yield* this.alive();
  }

  private *alive(): Generator<readonly Uint8Array[]> {
    const frame = this.format.keepalive();
    if (frame) yield this.sent([frame]);
  }

  private sent(frames: readonly Uint8Array[]): readonly Uint8Array[] {
    this.sentAt = Date.now();
    return frames;
  }

  /**
   * The frame that ends a stream which broke off, or on which we have failed: without one it would
   * pass for cut by the network.
   */
  private lastFrame(error: unknown): Uint8Array {
    if (error instanceof BrokenOff) {
      const { message, fault } = error;
      return this.format.error({ message, type: 'server_error', param: null, code: fault });
    }
    const fault = this.failed(error);
    try {
      this.format.abandon?.();
      return this.format.error(fault);
    } catch (second) {
      this.failed(second);
      throw error;
    }
  }
}
