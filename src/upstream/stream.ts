/**
 * Relaying an event stream so that the caller learns how it ended.
 *
 * The stream is pulled, chunk by chunk, and never ahead of the caller: that is the only shape which sees all four endings. The
 * upstream is done; it died; it fell silent; the caller left. A stream that broke off gets an error frame and no `[DONE]`, since
 * a clean end would pass half an answer off as a whole one.
 */
import type { UpstreamAnswer, UpstreamFault } from './fetch.ts';

/** The wire format of the events, which this file does not know. */
export interface EventFormat {
  /** Takes the upstream's bytes; returns whole frames to be passed on. */
  push(chunk: Uint8Array): Uint8Array[];
  /** What is to be sent when the upstream has ended cleanly. */
  end(): { readonly complete: boolean; readonly frames: Uint8Array[] };
  /** The frame that ends a stream which broke off. */
  error(fault: UpstreamFault): Uint8Array;
}

/**
 * The upstream's events as a stream for the caller.
 *
 * @param idleMs how long the upstream may be silent
 */
export function relayEvents(
  answer: UpstreamAnswer,
  format: EventFormat,
  idleMs: number,
): ReadableStream<Uint8Array> {
  const body = answer.response.body;
  if (!body) throw new Error('an event stream without a body');
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();

  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, fault: UpstreamFault): void => {
    answer.abort();
    controller.enqueue(format.error(fault));
    controller.close();
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A chunk may complete no frame; a pull that enqueues nothing is not repeated, so read on.
        for (;;) {
          const read = await readWithin(reader, idleMs);
          if (read === 'silent') return fail(controller, 'upstream_timeout');
          if (read === 'died') return fail(controller, 'upstream_unreachable');
          if (read.done) {
            const { complete, frames } = format.end();
            for (const frame of frames) controller.enqueue(frame);
            return complete ? controller.close() : fail(controller, 'upstream_unreachable');
          }
          const frames = format.push(read.value);
          for (const frame of frames) controller.enqueue(frame);
          if (frames.length > 0) return;
        }
      },
      async cancel(reason) {
        answer.abort();
        await reader.cancel(reason).catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleMs: number,
): Promise<ReadableStreamReadResult<Uint8Array> | 'silent' | 'died'> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silent = new Promise<'silent'>((resolve) => {
    timer = setTimeout(() => resolve('silent'), idleMs);
  });
  try {
    return await Promise.race([reader.read(), silent]);
  } catch {
    return 'died';
  } finally {
    clearTimeout(timer);
  }
}
