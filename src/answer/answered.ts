/** Sends the view of a request, and relays the answer. */

import type { CallLife } from '../listeners/life.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { streamFormOf } from '../request/stream-form.ts';
import { injectionFor } from '../view/inject.ts';
import { makeView } from '../view/make-view.ts';
import { withSession } from '../view/session-memory.ts';
import { askAgain } from './ask-again.ts';
import { Attempts } from './attempt.ts';
import { keptAnswersOf } from './bridge/bridged-call.ts';
import type { ModelApi } from './model-api.ts';
import { relay } from './relay.ts';
import { retriesOf } from './retries/reasons.ts';
import type { NextAttempt } from './retries/retry.ts';
import { retrievalOf } from './rounds/retrieval-of.ts';

/** @throws ApiError */
export async function answerRead(
  api: ModelApi,
  call: Call,
  came: ReadBody,
  life: CallLife,
): Promise<Response> {
  const { answers } = api;
  const { request, chosen, scope } = call;
  const kept = keptAnswersOf(call);
  const options = { force: false, dryRun: false, count: chosen.report, viewOnly: false, reasoning: kept };
  const [first, frozen] = await Promise.all([makeView(call, options), injectionFor(call)]);
  const attempts = new Attempts({ api, call, came, life, frozen, kept });
  const asking = {
    request,
    answers,
    services: scope.services,
    send: (next: NextAttempt) => attempts.send(next),
  };
  const attempt = await askAgain(attempts.first(first), retriesOf(call, first, options, attempts), asking);
  const { answer, added, sent: body, usages } = attempt;
  const report = await attempt.report;
  const made = { ...(await withSession(attempt.made, call)), report };
  const retrieval = retrievalOf(attempt, attempts, { call, api, options });
  const rounds = retrieval?.rounds;
  const plan = { report, view: made.view, refused: made.refused ?? [] };
  life.settled({
    plan,
    asked: { made, added: added.messages, body, usages, answer: answer.response, rounds },
  });
  const streams = request.field('stream') === true;
  const hidesUsage = attempts.asksUsage && !attempt.without.has('usage');
  const form = { ...streamFormOf(call, answers.name), hidesUsage };
  const relayed = { format: answers, inBody: chosen.report, streams, form, retrieval, life };
  return relay(answer, report, relayed, scope);
}
