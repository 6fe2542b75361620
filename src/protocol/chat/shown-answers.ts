/** Which messages of the caller's array a chat body has. */
import type { MessageFacts, Thinking } from '../../memory/conversation/message.ts';
import type { View } from '../../memory/plan/view.ts';
import type { ModelRequest } from '../model-request.ts';

/** The model's messages in the body of a view, beside Precis's. */
export interface ShownAnswers {
  /** Indices in the caller's array, ascending. */
  readonly messages: readonly number[];
  /** How many messages of the model are in the rounds of Precis's that are shown before one. */
  roundsBefore(message: number): number;
  /** The facts of a message of which the view removes nothing. */
  factsOf(message: number): MessageFacts | undefined;
}

/** @param thinkingFrom the messages before this one are written without their thinking */
export function shownAnswers(
  request: Pick<ModelRequest, 'messages'>,
  view: View | undefined,
  thinkingFrom: number,
): ShownAnswers {
  const left = leaving(request.messages, view, Math.max(thinkingFrom, view?.thinkingFrom ?? 0));
  const messages = request.messages.flatMap(({ role }, index) =>
    role === 'assistant' && !left.has(index) ? [index] : [],
  );
  return {
    messages,
    roundsBefore: (message) => view?.rounds?.get(message)?.rounds ?? 0,
    factsOf: (message) => (view?.removals.has(message) ? undefined : request.messages[message]?.facts),
  };
}

/** The messages that leave a view: those that it drops, and those with nothing left. */
export function leaving(
  messages: readonly { readonly role: string; thinking?(): Thinking | undefined }[],
  view: Pick<View, 'removals' | 'dropped'> | undefined,
  thinkingFrom: number,
): ReadonlySet<number> {
  const left = new Set(view?.dropped);
  for (const [index, removals] of view?.removals ?? [])
    if (removals.some(({ isAll }) => isAll)) left.add(index);
  for (let index = 0; index < Math.min(thinkingFrom, messages.length); index++)
    if (messages[index]?.thinking?.()?.isAll) left.add(index);
  return left;
}
