/**
 * Relays an event stream so that the caller learns how it ended.
 *
 * The stream is pulled chunk by chunk and never ahead of the caller. It ends in one of four ways:
 * the upstream finishes, breaks off or falls silent, or the caller leaves. A stream that breaks off
 * gets an error frame and no `[DONE]`, since a normal end would pass off half an answer as a
 * complete one.
 *
 * If the caller leaves, the upstream's connection is closed. That is noticed by the comment after
 * 15 seconds of silence, or by the request's signal where the runtime fires it (by its
 * compatibility date, from 2026-11-17 on).
 */
import { concat } from '../lib/bytes.ts';
import { soon } from '../lib/time-limit.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import type { BodyRelay } from './body.ts';
import type { UpstreamAnswer, UpstreamFault } from './fetch.ts';
import { Source } from './source.ts';

/** Why a stream ends before its answer is complete, in OpenAI's shape. */
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

/** The wire format of the events. This file does not know it. */
export interface EventFormat {
  /** Whether the last event has been seen. */
  readonly isOver: boolean;
  /** Whether an event has been seen, and not comments alone. */
  readonly hasBegun: boolean;
  /** Takes the upstream's bytes; returns whole frames for the caller. */
  push(chunk: Uint8Array): Uint8Array[];
  /** The upstream has closed the stream: what is left for the caller. */
  end(): { readonly complete: boolean; readonly frames: Uint8Array[] };
  /** The frame that ends a stream with an error. */
  error(error: StreamError): Uint8Array;
  /** A frame without meaning; undefined if none is allowed now. */
  keepalive(): Uint8Array | undefined;
  /**
   * Called after each read. Returns the next answer if one continues the stream, or the bytes that
   * end the stream; undefined while the current answer goes on.
   */
  next?(): Promise<UpstreamAnswer | Uint8Array> | undefined;
  /**
   * Called after each read. Returns what the frames of that read wait for; undefined: nothing. Must
   * not reject.
   */
  hold?(): Promise<void> | undefined;
  /** Aborts the request that `next` started. */
  abandon?(): void;
}

interface StreamRelay extends BodyRelay {
  /**
   * After this many milliseconds of silence the caller gets a frame without meaning. It keeps
   * connections open, and shows whether the caller has left.
   */
  readonly keepaliveMs: number;
  /** How long the first event may take, in milliseconds, whatever the upstream sends until then. */
  readonly beginningMs: number;
  /** Turns an error of Precis's own into the one that ends the stream. */
  failed(error: unknown): StreamError;
  /** Called once, however the stream ends. */
  ended?(how: AnswerEnd): void;
}

/** The upstream's events as a stream for the caller. */
export function relayEvents(
  first: UpstreamAnswer,
  format: EventFormat,
  relay: StreamRelay,
): ReadableStream<Uint8Array> {
  const events = new EventRelay(first, format, relay);
  const batches = events.batches();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await batches.next();
        if (events.hasLeft) return;
        if (value && value.length > 0) controller.enqueue(value.length === 1 ? value[0] : concat(value));
        if (done) controller.close();
      },
      cancel: (reason) => events.leave(reason),
    },
    { highWaterMark: 0 },
  );
}

/** The answer broke off before it was complete. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault) {
    super(BROKEN_OFF[fault]);
    this.fault = fault;
  }
}

/** Frames that are sent at once. */
type Batches<Result = void> = AsyncGenerator<readonly Uint8Array[], Result>;

/** One stream for the caller, made of the answers of one or more rounds. */
class EventRelay {
  /** Whether the caller has left. */
  hasLeft = false;
  private readonly format: EventFormat;
  private readonly relay: StreamRelay;
  private answer: UpstreamAnswer;
  private source: Source;
  private readonly began = Date.now();
  /** When the caller last got a frame. */
  private sentAt = Date.now();
  private hasEnded = false;
  private how: AnswerEnd = 'complete';

  constructor(first: UpstreamAnswer, format: EventFormat, relay: StreamRelay) {
    this.answer = first;
    this.source = new Source(first, relay.died);
    this.format = format;
    this.relay = relay;
  }

  /** @throws if not even an error frame can be written */
  async *batches(): Batches {
    try {
      yield* this.answers();
    } catch (error) {
      if (this.hasLeft) return;
      this.answer.abort();
      this.how = error instanceof BrokenOff ? 'upstream_broke' : 'error';
      yield [this.lastFrame(error)];
    } finally {
      this.end();
    }
  }

  async leave(reason: unknown): Promise<void> {
    this.hasLeft = true;
    this.end();
    this.format.abandon?.();
    this.answer.abort();
    await this.source.cancel(reason);
  }

  /** The frames of one answer after another. @throws BrokenOff */
  private async *answers(): Batches {
    const { format } = this;
    const { idleMs, keepaliveMs } = this.relay;
    for (;;) {
      const read = await this.source.read(Math.min(keepaliveMs, idleMs - this.source.silentMs));
      if (this.hasLeft) return;
      if (typeof read === 'string') {
        // After the last event it does not matter how the connection ends.
        if (format.isOver) return this.answer.abort();
        if (read === 'died') throw new BrokenOff('upstream_unreachable');
        if (this.source.silentMs >= idleMs) throw new BrokenOff('upstream_timeout');
        yield* this.alive();
        continue;
      }
      const { frames, complete } = read.done
        ? format.end()
        : { frames: format.push(read.value), complete: false };
      const next = format.next?.()?.catch((error: unknown) => this.nothing(error));
      if (next) this.answer.abort();
      else await format.hold?.();
      if (frames.length > 0) yield this.sent(frames);
      if (next) {
        if (!(yield* this.goOn(next))) return;
      } else if (read.done) {
        if (complete) return;
        throw new BrokenOff('upstream_unreachable');
      } else if (!format.hasBegun && Date.now() - this.began >= this.relay.beginningMs) {
        throw new BrokenOff('upstream_timeout');
      } else if (Date.now() - this.sentAt >= keepaliveMs) {
        // The upstream is not silent, but all its frames are held back.
        yield* this.alive();
      }
    }
  }

  /** Waits for the next answer. Returns false if the stream has ended instead. @throws BrokenOff */
  private async *goOn(next: Promise<UpstreamAnswer | Uint8Array | 'none'>): Batches<boolean> {
    for (;;) {
      const came = await soon(this.relay.keepaliveMs, next);
      if (came === 'none') throw new BrokenOff('upstream_unreachable');
      if (came instanceof Uint8Array) {
        this.how = 'error';
        yield [came];
        return false;
      }
      if (came) {
        this.source.stop();
        this.answer = came;
        this.source = new Source(came, this.relay.died);
        return true;
      }
      yield* this.alive();
    }
  }

  private nothing(error: unknown): 'none' {
    if (!this.hasLeft) this.relay.died?.(error);
    return 'none';
  }

  private *alive(): Generator<readonly Uint8Array[]> {
    const frame = this.format.keepalive();
    if (frame) yield this.sent([frame]);
  }

  private sent(frames: readonly Uint8Array[]): readonly Uint8Array[] {
    this.sentAt = Date.now();
    return frames;
  }

  private end(): void {
    this.source.stop();
    if (!this.hasEnded) this.relay.ended?.(this.hasLeft ? 'caller_left' : this.how);
    this.hasEnded = true;
  }

  /** The frame that ends a stream after an error of the upstream or of Precis. */
  private lastFrame(error: unknown): Uint8Array {
    if (error instanceof BrokenOff) {
      const { message, fault } = error;
      this.relay.broken(fault);
      return this.format.error({ message, type: 'server_error', param: null, code: fault });
    }
    const fault = this.relay.failed(error);
    try {
      this.format.abandon?.();
      return this.format.error(fault);
    } catch (second) {
      this.relay.failed(second);
      throw error;
    }
  }
}
