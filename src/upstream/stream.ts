/**
 * Relaying an event stream so that the caller learns how it ended.
 *
 * The stream is pulled, chunk by chunk, and never ahead of the caller: that is the only shape which sees all four endings. The
 * upstream is done; it died; it fell silent; the caller left. A stream that broke off gets an error frame and no `[DONE]`, since
 * a clean end would pass half an answer off as a whole one.
 */
import type { UpstreamAnswer, UpstreamFault } from './fetch.ts';
import { Late, Source } from './source.ts';

/** Why a stream ends before its answer is whole, in OpenAI's shape. */
export interface StreamError {
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
   * Asked after each read: the answer with which the stream goes on when this one is through, or the bytes that end it; undefined where
   * this answer's end is the stream's.
   */
  next?(): Promise<UpstreamAnswer | Uint8Array> | undefined;
  /** The caller has left: whatever `next` has begun is ended. */
  abandon?(): void;
}

/** Times in milliseconds. */
export interface StreamTimes {
  /** How long the upstream may be silent. */
  readonly idleMs: number;
  /**
   * After how much silence the caller is sent a frame that says nothing. It keeps connections open on the way, and it is how a
   * caller that has left is noticed while there is nothing else to send.
   */
  readonly keepaliveMs: number;
}

/**
 * The upstream's events as a stream for the caller.
 *
 * @param ended is told once, of whichever of the four endings
 * @param failed what the caller is told of an error of ours, which ends the stream too
 */
export function relayEvents(
  first: UpstreamAnswer,
  format: EventFormat,
  times: StreamTimes,
  ended: () => void = () => undefined,
  failed: (error: unknown) => StreamError = () => UNKNOWN,
): ReadableStream<Uint8Array> {
  let answer = first;
  let source = new Source(first);
  let hasLeft = false;
  /** When the caller has last been sent something. */
  let sentAt = Date.now();
  let coming: Late<UpstreamAnswer | Uint8Array | 'failed'> | undefined;

  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, fault: UpstreamFault): void => {
    answer.abort();
    controller.enqueue(
      format.error({ message: BROKEN_OFF[fault], type: 'server_error', param: null, code: fault }),
    );
    controller.close();
    ended();
  };

  const finish = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    answer.abort();
    controller.close();
    ended();
  };

  /** An error of ours. A stream that ended without a word would pass for one that the network has cut. */
  const crash = (controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): void => {
    if (hasLeft) return;
    answer.abort();
    const fault = failed(error);
    try {
      format.abandon?.();
      controller.enqueue(format.error(fault));
      controller.close();
    } catch (second) {
      failed(second);
      controller.error(error);
    }
    ended();
  };

  const advance = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    // A chunk may complete no frame; a pull that enqueues nothing is not repeated, so read on.
    for (;;) {
      if (coming) {
        const came = await coming.within(times.keepaliveMs);
        if (came === 'late') {
          const frame = format.keepalive();
          if (!frame) continue;
          sentAt = Date.now();
          return controller.enqueue(frame);
        }
        coming = undefined;
        if (came === 'failed') return fail(controller, 'upstream_unreachable');
        if (came instanceof Uint8Array) {
          controller.enqueue(came);
          return finish(controller);
        }
        answer = came;
        source = new Source(came);
      }
      const read = await source.read(Math.min(times.keepaliveMs, times.idleMs - source.silentMs));
      if ((read === 'died' || read === 'silent') && format.isOver) return finish(controller);
      if (read === 'died') return fail(controller, 'upstream_unreachable');
      if (read === 'silent') {
        if (source.silentMs >= times.idleMs) return fail(controller, 'upstream_timeout');
        const frame = format.keepalive();
        if (!frame) continue;
        sentAt = Date.now();
        return controller.enqueue(frame);
      }
      const end = read.done ? format.end() : undefined;
      const frames = read.done ? (end?.frames ?? []) : format.push(read.value);
      if (frames.length > 0) sentAt = Date.now();
      for (const frame of frames) controller.enqueue(frame);
      const next = format.next?.();
      if (next) {
        answer.abort();
        coming = new Late(next.catch(() => 'failed' as const));
        if (frames.length > 0) return;
        continue;
      }
      if (end && !end.complete) return fail(controller, 'upstream_unreachable');
      if (end) {
        controller.close();
        return ended();
      }
      if (frames.length > 0) return;
      // An upstream that says what is held back here is not silent, and the caller hears nothing.
      const frame = Date.now() - sentAt >= times.keepaliveMs ? format.keepalive() : undefined;
      if (frame) {
        sentAt = Date.now();
        return controller.enqueue(frame);
      }
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => advance(controller).catch((error) => crash(controller, error)),
      async cancel(reason) {
        hasLeft = true;
        format.abandon?.();
        answer.abort();
        ended();
        await source.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
