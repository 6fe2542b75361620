/**
 * Asks for a model's reasoning in encrypted form, so that retrieval rounds can send it back to an
 * upstream that stores nothing. Once an answer says that it is stored, an id is enough and the
 * encrypted form is no longer asked for. An upstream that refuses the wish, as OpenAI does for
 * models that don't reason, is asked again without it.
 */
import type { JoinedAnswers } from '../protocol/answers/answer-format.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { refusesEncrypted } from '../protocol/responses/reasoning.ts';
import type { RequestScope } from '../request/scope.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { openAnswer } from '../upstream/opening.ts';
import { LONGEST_ERROR } from '../upstream/too-long.ts';

/** How long an error's body is read before it is passed on unread, in milliseconds. */
const ERROR_LIMIT_MS = 5_000;

export interface ReasoningWish {
  /** Whether we ask, and not the caller. The reasoning is then removed from the caller's answer. */
  readonly isAsked: boolean;
  /** Whether the request asks the upstream not to store the answer. */
  readonly isUnstored: boolean;
  /** Sends the request, and once more without the wish if the upstream refuses it. */
  ask(send: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer>;
  /** Remembers whether the upstream stores its answers. */
  learn(answers: JoinedAnswers): void;
}

/** @param offersTools whether the model is given tools of ours */
export function reasoningWish(
  request: ModelRequest,
  offersTools: boolean,
  { services, caller }: RequestScope,
): ReasoningWish {
  const { asksReasoning, model } = request;
  const tenant = caller.tenant?.id;
  const { reasoning, config, log } = services;
  let isAsked = offersTools && !asksReasoning && tenant !== undefined && reasoning.mayBeLost(tenant, model);
  const note = (isLost: boolean): void => {
    if (tenant !== undefined) reasoning.note(tenant, model, isLost);
  };
  return {
    get isAsked() {
      return isAsked;
    },
    // With the deployer's key nothing may be stored.
    isUnstored: config.access !== undefined || request.field('store') === false,
    async ask(send) {
      const answer = await send();
      if (!isAsked || answer.response.status !== 400) return answer;
      const opened = await openAnswer(answer, LONGEST_ERROR, ERROR_LIMIT_MS, log);
      if (!opened.whole || !refusesEncrypted(new TextDecoder().decode(opened.whole))) return opened.answer;
      isAsked = false;
      note(false);
      return send();
    },
    learn({ isUnstored }) {
      if (isAsked && isUnstored !== undefined) note(isUnstored);
    },
  };
}
