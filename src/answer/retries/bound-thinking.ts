/**
 * Sends a request without the thinking of earlier answers, once the upstream has refused it: our
 * edits have changed what it is bound to (docs/design.md#10-upstream-and-access).
 */
import { passesThrough } from '../../memory/strategy/strategy.ts';
import { withoutThinking as cutThinking } from '../../protocol/thinking.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall } from '../../request/conversation.ts';
import { refusesThinking } from '../../upstream/bound-thinking.ts';
import { mayBeTooLong } from '../../upstream/too-long.ts';
import type { BodyPart, Retry } from './retry.ts';

const THINKING: BodyPart = 'thinking';

/** Whether the thinking of a conversation was refused before. */
export function isThinkingBound(call: Call): boolean {
  const { refusals } = call.scope.services;
  if (!refusals.any || passesThrough(call.chosen.strategy)) return false;
  const conversation = conversationOfCall(call);
  return conversation !== undefined && refusals.has(conversation.name, THINKING);
}

export function withoutThinking(call: Call): Retry {
  const { request, scope } = call;
  return {
    mayHelp: ({ without }, status) =>
      (status === undefined || mayBeTooLong(status)) && !without.has('thinking'),
    next: async ({ made, without, sent }, { json }) => {
      if (!refusesThinking(json) || !cutThinking(sent, request.conversationField)) return undefined;
      return { made, without: new Set([...without, 'thinking']) };
    },
    answered: () => {
      const { services } = scope;
      services.log('info', 'the upstream refuses thinking of earlier answers', { code: 'thinking_dropped' });
      const conversation = conversationOfCall(call);
      if (conversation) services.refusals.note(conversation.name, THINKING);
    },
  };
}
