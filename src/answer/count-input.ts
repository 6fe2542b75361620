/**
 * `POST /v1/responses/input_tokens` and `POST /v1/messages/count_tokens`: the upstream counts the
 * view that would be sent, with Precis's tools and messages. Nothing is stored for it, and no
 * summary is made.
 */

import { CallLife } from '../listeners/life.ts';
import { noteVerdict } from '../listeners/verdict.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { Call } from '../request/call.ts';
import { sharedAccount } from '../request/callers/shared-account.ts';
import { isObserved } from '../request/observation.ts';
import { addedMessages } from '../view/added-messages.ts';
import { injectionFor } from '../view/inject.ts';
import { makeView } from '../view/make-view.ts';
import { askUpstream } from './ask-upstream.ts';
import { keptThinkingFrom } from './kept-thinking.ts';
import { unread } from './unread/unread-body.ts';
import { betaOf, writeBody } from './write-body.ts';

/** @param path of the upstream's count, below its base URL. @throws ApiError */
export async function countInput(path: string, answers: AnswerFormat, call: Call): Promise<Response> {
  const { request, scope } = call;
  const shared = sharedAccount(scope, { isCount: true });
  if (isObserved(call)) {
    const answer = await askUpstream(scope, path, request.write(undefined, { shared }));
    noteVerdict(answer.response, scope);
    return await unread(answer, scope);
  }
  const options = { force: false, dryRun: true, count: call.chosen.report, viewOnly: false };
  const [made, frozen] = await Promise.all([makeView(call, options), injectionFor(call)]);
  const added = await addedMessages(call, made, frozen);
  const thinkingFrom = keptThinkingFrom(call, made, added);
  const { body } = writeBody(call, made, added, { shared }, thinkingFrom);
  const answer = await askUpstream(scope, path, body, { listed: betaOf(made, call) });
  noteVerdict(answer.response, scope);
  const response = await unread(answer, scope);
  new CallLife(scope, answers.name).answered(response, added.addTo(made.report));
  return response;
}
