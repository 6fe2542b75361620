/**
 * Sends a request without the thinking of earlier answers, once the upstream has refused it: what
 * it is bound to has changed, and nobody here knew (docs/design.md#10-upstream-and-access).
 * Claude's models since Fable 5.1 sign a thinking block together with everything before it
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking).
 */
import { withoutThinking as cutThinking } from '../../protocol/thinking.ts';
import type { Call } from '../../request/call.ts';
import { conversationOfCall } from '../../request/conversation.ts';
import { isOfRequest, wordsOfError } from '../../upstream/too-long.ts';
import type { BodyPart, Retry } from './retry.ts';

/** Names it among the refusals of a conversation. */
export const THINKING: BodyPart = 'thinking';

export function withoutThinking(call: Call): Retry {
  const { request, scope } = call;
  return {
    mayHelp: ({ without }, status) =>
      (status === undefined || isOfRequest(status)) && !without.has('thinking'),
    next: async ({ made, without, sent }, { json }) => {
      if (!refusesThinking(json) || !cutThinking(sent, request.conversationField)) return undefined;
      return { made, without: new Set([...without, 'thinking']) };
    },
    answered: () => {
      const { services } = scope;
      services.log('info', 'the upstream refuses thinking of earlier answers', { code: 'thinking_dropped' });
      const conversation = conversationOfCall(call);
      if (conversation)
        services.memory.of('refusals').set(conversation.name, THINKING, request.messages.length);
    },
  };
}

/** Anthropic's words. OpenRouter has them in `error.metadata.raw`. */
const WORDS = /invalid\W{1,4}signature\W{1,4}in\W{1,4}(?:redacted_)?thinking\W{1,4}block/i;

/**
 * Whether an error refuses thinking for what is before it.
 *
 * @param json its body, or an event
 */
export function refusesThinking(json: string): boolean {
  return WORDS.test(wordsOfError(json));
}
