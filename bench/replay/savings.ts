/**
 * What a policy takes out of a conversation's requests, net of what it puts in its place. A token
 * that is removed once is missing from each later request, too: the gross savings count it every
 * time, and the unique ones once.
 */
import type { PricedRequest } from './bill.ts';
import type { Conversation } from './conversation.ts';

/** In tokens. */
export interface Savings {
  /** The sum over the requests. */
  readonly gross: number;
  /** The most by which a view was shorter than its array. */
  readonly unique: number;
}

export function savingsOf(
  { messages, points }: Pick<Conversation, 'messages' | 'points'>,
  requests: readonly Pick<PricedRequest, 'messages'>[],
): Savings {
  const tokens = (of: PricedRequest['messages']): number => of.reduce((sum, { tokens }) => sum + tokens, 0);
  const saved = requests.map(
    (request, at) => tokens(messages.slice(0, points[at])) - tokens(request.messages),
  );
  return { gross: saved.reduce((sum, one) => sum + one, 0), unique: Math.max(0, ...saved) };
}
