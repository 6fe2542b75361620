import type { ConversationBody } from '../conversations/arbitrary-conversation.ts';

/**
 * The array at each request point: before each assistant message that follows a user or tool
 * message, and at its end.
 */
export function requestsOf(body: ConversationBody): ConversationBody[] {
  const spoken = body.messages.map((message) => message.role);
  const points = body.messages.flatMap((message, index) => {
    const before = spoken.slice(0, index).findLast((role) => role !== 'system' && role !== 'developer');
    return message.role === 'assistant' && (before === 'user' || before === 'tool') ? [index] : [];
  });
  return [...points, body.messages.length].map((end) => ({ ...body, messages: body.messages.slice(0, end) }));
}
