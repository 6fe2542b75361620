/** The retrieval rounds of an answer whose model was given Precis's tools. */
import { bindsThinking, dropsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import type { AnswerFormat } from '../../protocol/answers/answer-format.ts';
import type { MessageReader } from '../../protocol/read-messages.ts';
import type { Call } from '../../request/call.ts';
import { type AskRound, Rounds } from '../../retrieval/rounds.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { OfferedTools } from '../../view/offer-tools.ts';
import { askAgain } from '../ask-again.ts';
import type { Attempts } from '../attempt.ts';
import { type JoinedReasoning, reasoningOf } from '../retries/encrypted-reasoning.ts';
import { withWholeOutputs } from '../retries/other-views.ts';
import type { Attempt, NextAttempt } from '../retries/retry.ts';
import { keeperOf } from './keep-rounds.ts';
import { startRounds } from './start-rounds.ts';

/** Joins the answers of several rounds into one. */
export interface Retrieval {
  readonly tools: OfferedTools;
  readonly rounds: Rounds;
  /** Absent where the caller decides about reasoning itself. */
  readonly reasoning?: JoinedReasoning;
  /** See `JoinedForm`. */
  readonly isBound?: boolean;
  /** Likewise. */
  readonly isJson?: boolean;
}

interface Asked {
  readonly call: Call;
  readonly api: MessageReader & { readonly answers: AnswerFormat };
  readonly options: MakeViewOptions;
}

/** Undefined if the model was given no tools of Precis. @param attempt the one that was answered */
export function retrievalOf(attempt: Attempt, attempts: Attempts, asked: Asked): Retrieval | undefined {
  const { call, api, options } = asked;
  const { made, without, added } = attempt;
  const { tools, report } = made;
  if (!tools) return undefined;
  const count = async () => (await makeView(call, { ...options, count: true })).report;
  const start = () => {
    // The body is written again, since it is not kept while the model answers.
    const { body } = attempts.bodyOf({ made, without, added });
    return startRounds({ body, report, addedTokens: added.tokens, count }, tools, made, call, api);
  };
  const ask = askRounds(attempt, attempts, asked);
  const keeper = keeperOf(call, tools, api);
  const terms = reasoningTermsOf(call.request.model);
  const { names, rounds: most } = tools;
  const areKept = dropsThinking(terms);
  const rounds = new Rounds({ most, goOn: api.answers.goOn, start, ask, keeper, names, areKept });
  const reasoning = reasoningOf({ without }, call.request, call.scope);
  const isBound = !keeper && bindsThinking(terms);
  return { tools, rounds, reasoning, isBound, isJson: call.request.asksForm };
}

/**
 * Asks the upstream again. One that refuses an item of a hosted tool with a placeholder in it does
 * so in any round, since each may have another server. The answer goes on from the view with that
 * item whole, in the rounds that follow too. Its report has gone out by then; the one of the next
 * request says `outputs_whole`, and `moved`.
 *
 * @param first the attempt that was answered
 */
function askRounds(first: Attempt, attempts: Attempts, { call, api, options }: Asked): AskRound {
  const { request, scope } = call;
  const { made, without, added, usages, report } = first;
  // Its body is not kept while the model answers.
  let current: Omit<Attempt, 'sent' | 'answer'> = { made, without, added, usages, report };
  return async (body, left, onto) => {
    const send = (next: NextAttempt): Promise<Attempt> =>
      attempts.send(next, {
        left,
        usages,
        bodyOf: (write) => (next === current ? body : onto(write())),
      });
    const asking = { request, answers: api.answers, services: scope.services, send };
    const { sent: _, answer, ...asked } = await askAgain(current, [withWholeOutputs(call, options)], asking);
    current = asked;
    return answer;
  };
}
