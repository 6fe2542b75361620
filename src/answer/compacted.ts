/** Answers requests for a compaction. No model is asked for an answer. */

import { soon } from '../lib/time-limit.ts';
import type { CallLife } from '../listeners/life.ts';
import type { AnswerFormat, AnswerStream } from '../protocol/answers/answer-format.ts';
import type { Frame } from '../protocol/answers/sse.ts';
import type { Call } from '../request/call.ts';
import type { ApiError } from '../request/errors.ts';
import { streamFormOf } from '../request/stream-form.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { type Compaction, compactConversation } from '../view/compaction.ts';
import type { ModelApi } from './model-api.ts';
import { withSettings } from './read-call.ts';
import { callerError } from './relay.ts';

/** The response to a request for a compaction. A stream is kept alive until it is there. */
export function answerCompaction(
  begin: NonNullable<ModelApi['compaction']>,
  answers: AnswerFormat,
  call: Call,
  life: CallLife,
): Promise<Response> {
  const { request, chosen, scope } = call;
  const writer = begin(request, chosen.report);
  const answer = compacted(call, life, (compaction) => writer.response(compaction));
  if (request.field('stream') !== true) return answer;
  return inTime(answer, {
    format: answers.stream(undefined, undefined, streamFormOf(call, answers.name)),
    keepalive: () => writer.keepalive(),
    errorOf: (error) => callerError(error, scope),
    keepaliveMs: TIME_LIMITS.keepaliveMs,
  });
}

/** Compacts a conversation. @throws ApiError */
export function compacted(
  call: Call,
  life: CallLife,
  write: (compaction: Compaction) => Response,
): Promise<Response> {
  life.reads(call, 'compaction');
  return life.through(async () => {
    const compaction = await compactConversation(await withSettings(call));
    const response = write(compaction);
    life.settled({ plan: compaction });
    life.answered(response, compaction.report);
    return response;
  });
}

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
