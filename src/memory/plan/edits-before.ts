/** What a view has changed before a message, as a text: equal ones mean equal prefixes. */
import type { Message } from '../conversation/message.ts';
import type { Removal } from '../edits/removal.ts';
import type { View } from './view.ts';

/**
 * Of two views whose arrays begin with the same messages, those messages were sent in the same
 * bytes where these texts are equal. Reasoning is no part of it.
 *
 * @param messages the index of the message
 */
export function editsBefore(view: View | undefined, messages: number): string {
  if (!view) return '';
  const { removals, dropped, summary, trim, recap, rounds = new Map() } = view;
  const left = [...dropped].filter((index) => index < messages).sort((a, b) => a - b);
  const replaced = removedBefore(removals, messages, ({ kind }) => kind !== 'reasoning');
  const led = [...rounds].flatMap(([index, { rounds: count }]) => (index < messages ? [[index, count]] : []));
  const shown = [summary?.block, summary?.form, summary?.request, trim?.line, trim?.request, recap];
  if (left.length + replaced.length + led.length === 0 && shown.every((part) => part === undefined))
    return '';
  return JSON.stringify([left, replaced, shown, led]);
}

/** The reasoning that a view has removed before a message, as a text, likewise. */
export function clearedBefore(view: View, messages: number): string {
  const cleared = removedBefore(view.removals, messages, ({ kind }) => kind === 'reasoning');
  return cleared.length === 0 ? '' : JSON.stringify(cleared);
}

/** What replaces the removals of a kind before a message, in the order of the array. */
function removedBefore(removals: View['removals'], messages: number, isMeant: (removal: Removal) => boolean) {
  return [...removals]
    .filter(([index]) => index < messages)
    .sort(([a], [b]) => a - b)
    .flatMap(([index, ofMessage]) =>
      ofMessage.filter(isMeant).map(({ kind, call, replacement }) => [index, kind, call, replacement]),
    );
}

/** The indices of the messages that earlier requests had no more than, newest first. */
export function earlierRequests(messages: readonly Pick<Message, 'role' | 'resumes'>[]): number[] {
  const found: number[] = [];
  let spoke: string | undefined;
  for (const [index, { role, resumes }] of messages.entries()) {
    if (role === 'assistant' && (spoke === 'user' || spoke === 'tool' || resumes)) found.push(index);
    if (role !== 'preamble') spoke = role;
  }
  return found.reverse();
}
