/**
 * Asks for a model's reasoning in encrypted form, so that retrieval rounds can send it back to an
 * upstream that stores nothing. Once an answer says that it is stored, an id is enough and the
 * encrypted form is no longer asked for. An upstream that refuses to give it, as OpenAI does for
 * models that don't reason, is asked again without.
 *
 * Only an answer shows whether the upstream stores it, but encrypted reasoning must be requested
 * before. So it is requested until an answer says otherwise, and that is remembered.
 * A list of reasoning models would become outdated, and says
 * nothing about other upstreams.
 */
import type { JoinedAnswers } from '../../protocol/answers/answer-format.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { refusesEncrypted } from '../../protocol/responses/reasoning.ts';
import type { RequestScope } from '../../request/scope.ts';
import type { Attempt, Retry } from './retry.ts';

/** The reasoning of an answer that is joined with others. */
export interface JoinedReasoning {
  /** True if Precis asked for it, not the caller. It is then removed from the caller's answer. */
  readonly isAsked: boolean;
  /** Whether the request asks the upstream not to store the answer. */
  readonly isUnstored: boolean;
  /** Remembers whether the upstream stores its answers. */
  learn(answers: JoinedAnswers): void;
}

export function asksReasoning(
  { asksReasoning: isCallers, model }: ModelRequest,
  offersTools: boolean,
  { services, caller: { tenant } }: RequestScope,
): boolean {
  if (!offersTools || isCallers || tenant === undefined) return false;
  return services.memory.of('lostReasoning').get(tenant.id, model ?? '')?.value ?? true;
}

export function withoutReasoning({ model }: ModelRequest, scope: RequestScope): Retry {
  return {
    mayHelp: ({ without }, status) => status === 400 && !without.has('reasoning'),
    next: async ({ made, without }, { json }) => {
      if (!refusesEncrypted(json)) return undefined;
      note(model, false, scope);
      return { made, without: new Set([...without, 'reasoning']) };
    },
  };
}

export function reasoningOf(
  { without }: Pick<Attempt, 'without'>,
  request: ModelRequest,
  scope: RequestScope,
): JoinedReasoning {
  const isAsked = !without.has('reasoning');
  return {
    isAsked,
    // With the deployer's key nothing may be stored.
    isUnstored: scope.services.config.access !== undefined || request.field('store') === false,
    learn({ isUnstored }) {
      if (isAsked && isUnstored !== undefined) note(request.model, isUnstored, scope);
    },
  };
}

function note(
  model: string | undefined,
  isLost: boolean,
  { services, caller: { tenant } }: RequestScope,
): void {
  if (tenant) services.memory.of('lostReasoning').set(tenant.id, model ?? '', isLost);
}
