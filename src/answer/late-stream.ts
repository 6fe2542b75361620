/** A stream whose only answer may take long. Its first events keep it alive until then. */

import { soon } from '../lib/time-limit.ts';
import type { AnswerStream } from '../protocol/answers/answer-format.ts';
import type { Frame } from '../protocol/answers/sse.ts';
import type { ApiError } from '../request/errors.ts';

/** How to wait for an answer after its stream has begun. */
interface LateStream {
  /** Takes the events before the answer, and writes an error after them. */
  readonly format: Pick<AnswerStream, 'push' | 'error'>;
  /** An event before the answer. */
  keepalive(): Frame;
  /** Turns a failure into the error that the caller gets. */
  errorOf(error: unknown): ApiError;
  /** Interval of those events, in milliseconds. */
  readonly keepaliveMs: number;
}

/**
 * The response itself if it is ready before the first event is due, with its status and headers;
 * otherwise a stream that ends with its body.
 *
 * @throws what `work` throws in that time
 */
export async function inTime(work: Promise<Response>, late: LateStream): Promise<Response> {
  const { format, keepalive, errorOf, keepaliveMs } = late;
  const answer = await soon(keepaliveMs, work);
  if (answer) return answer;
  const last = work
    .then(async (response) => new Uint8Array(await response.arrayBuffer()))
    .catch((error) => format.error(errorOf(error).toBody().error));
  // The interval has passed once already, so the first event goes out at once.
  let waitMs = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await soon(waitMs, last);
        waitMs = keepaliveMs;
        for (const part of bytes ? [bytes] : format.push(keepalive()).map((frame) => frame.bytes))
          controller.enqueue(part);
        if (bytes) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  });
}
