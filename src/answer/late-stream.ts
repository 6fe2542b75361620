/** A stream whose only answer may take long to make: it is kept alive until it comes. */

import { soon } from '../lib/time-limit.ts';
import type { AnswerStream } from '../protocol/answer-format.ts';
import { KEEPALIVE } from '../protocol/sse.ts';
import type { ApiError } from '../request/errors.ts';

/** How an answer is waited for that has begun to be a stream. */
export interface LateStream {
  /** Whose frame ends the stream where it fails. */
  readonly format: Pick<AnswerStream, 'error'>;
  /** What the caller is told of a failure. */
  told(error: unknown): ApiError;
  /** How often the stream is kept alive, in milliseconds. */
  readonly keepaliveMs: number;
}

/**
 * The answer as it is where it comes before the stream had to be kept alive, with its status and
 * headers; else a stream that ends with its body.
 *
 * @throws what `work` throws in that time
 */
export async function inTime(work: Promise<Response>, late: LateStream): Promise<Response> {
  const { format, told, keepaliveMs } = late;
  const answer = await soon(keepaliveMs, work);
  if (answer) return answer;
  const last = work
    .then(async (response) => new Uint8Array(await response.arrayBuffer()))
    .catch((error) => format.error(told(error).toBody().error));
  // It is late already: the first comment goes out at once.
  let waitMs = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await soon(waitMs, last);
        waitMs = keepaliveMs;
        controller.enqueue(bytes ?? KEEPALIVE);
        if (bytes) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  });
}
