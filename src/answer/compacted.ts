/** Answers requests for a compaction. No model is asked for an answer. */
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { Call } from '../request/call.ts';
import { streamFormOf } from '../request/stream-form.ts';
import type { CallLife } from '../tell/life.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { type Compaction, compactConversation } from '../view/compaction.ts';
import { inTime } from './late-stream.ts';
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
