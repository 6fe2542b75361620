/** The retrieval rounds of an answer whose model was given tools of ours. */
import { bindsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import type { AnswerFormat } from '../../protocol/answers/answer-format.ts';
import type { MessageReader } from '../../protocol/read-messages.ts';
import type { Call } from '../../request/call.ts';
import { Rounds } from '../../retrieval/rounds.ts';
import type { MakeViewOptions } from '../../view/made-view.ts';
import { makeView } from '../../view/make-view.ts';
import type { OfferedTools } from '../../view/offer-tools.ts';
import type { Attempts } from '../attempt.ts';
import { type JoinedReasoning, reasoningOf } from '../retries/encrypted-reasoning.ts';
import type { Attempt } from '../retries/retry.ts';
import { askRounds } from './ask-rounds.ts';
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

/** What the rounds are made from. */
interface Asked {
  readonly call: Call;
  readonly api: MessageReader & { readonly answers: AnswerFormat };
  /** Of the request's views. */
  readonly options: MakeViewOptions;
}

/** Undefined if the model was given no tools of ours. @param attempt the one that was answered */
export function retrievalOf(
  attempt: Attempt,
  attempts: Attempts,
  { call, api, options }: Asked,
): Retrieval | undefined {
  const { made, without, added } = attempt;
  const { tools, report } = made;
  if (!tools) return undefined;
  const count = async () => (await makeView(call, { ...options, count: true })).report;
  const start = () => {
    // The body is written again, since it is not kept while the model answers.
    const { body } = attempts.bodyOf({ made, without, added });
    return startRounds({ body, report, addedTokens: added.tokens, count }, tools, made, call, api);
  };
  const send = askRounds(attempt, attempts, { call, answers: api.answers, options });
  const keeper = keeperOf(call, tools, api);
  const rounds = new Rounds(tools.rounds, api.answers.goOn, start, send, keeper, tools.names);
  const reasoning = reasoningOf({ without }, call.request, call.scope);
  const isBound = !keeper && bindsThinking(reasoningTermsOf(call.request.model));
  return { tools, rounds, reasoning, isBound, isJson: call.request.asksForm };
}
