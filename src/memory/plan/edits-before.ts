/** What a view has changed before a message, as a text: equal ones mean equal prefixes. */
import { hashOf } from '../../lib/hash-table.ts';
import type { Message } from '../conversation/message.ts';
import type { Removal } from '../edits/removal.ts';
import type { EditedAt } from '../replay/change.ts';
import type { View } from './view.ts';

/**
 * Of two views whose arrays begin with the same messages, those messages were sent in the same
 * bytes where these texts are equal. Reasoning is no part of it.
 *
 * @param messages the index of the message
 */
export function editsBefore(view: View | undefined, messages: number): string {
  if (!view) return '';
  const { removals, dropped, rounds = new Map() } = view;
  const left = [...dropped].filter((index) => index < messages).sort((a, b) => a - b);
  const replaced = removedBefore(removals, messages, ({ kind }) => kind !== 'reasoning');
  const led = [...rounds].flatMap(([index, { rounds: count }]) => (index < messages ? [[index, count]] : []));
  const shown = shownBy(view);
  if (left.length + replaced.length + led.length === 0 && shown.every((part) => part === undefined))
    return '';
  return JSON.stringify([left, replaced, shown, led]);
}

/** What a view shows instead of messages, wherever they were. */
function shownBy({ summary, trim, recap }: View) {
  return [summary?.block, summary?.form, summary?.request, trim?.line, trim?.request, recap];
}

/** Of the messages that a view has changed, the newest ones. Bounds what is kept of a request. */
const MOST_CHANGED = 32;

/**
 * The same as short hashes, which include reasoning: after each message that the view has changed,
 * and at its end. Each hash includes the one before it. Before any other message, the last one that
 * precedes it holds.
 *
 * @param end how many messages the array has
 */
export function editedAt(view: View | undefined, end: number): EditedAt[] {
  const { removals = new Map(), dropped = new Set(), rounds: led = new Map() } = view ?? {};
  const shown = view ? shownBy(view).filter((part) => part !== undefined) : [];
  let edits = shown.length > 0 ? after('', shown) : '';
  let rounds = '';
  const found: EditedAt[] = [{ messages: 0, edits, rounds }];
  const indices = new Set([...removals.keys(), ...dropped, ...led.keys()]);
  for (const index of [...indices].filter((one) => one < end).sort((a, b) => a - b)) {
    const left = dropped.has(index) ? [index] : [];
    const changed = [...left, ...replacedIn(index, removals.get(index) ?? [])];
    if (changed.length > 0) edits = after(edits, changed);
    if (led.has(index)) rounds = after(rounds, [index, led.get(index)?.rounds]);
    found.push({ messages: index + 1, edits, rounds });
  }
  const known = found.at(-1)?.messages === end ? found : [...found, { messages: end, edits, rounds }];
  return known.slice(-MOST_CHANGED);
}

/** What a view has changed before a message. Undefined if that is too long ago, or not in it. */
export function editedBefore(edited: readonly EditedAt[], messages: number): EditedAt | undefined {
  const end = edited.at(-1)?.messages ?? -1;
  return messages > end ? undefined : edited.findLast((one) => one.messages <= messages);
}

/** The hash after one more change. It is compared within a conversation, so 60 bits are enough. */
function after(hash: string, changed: readonly unknown[]): string {
  const { low, high } = hashOf(`${hash} ${JSON.stringify(changed)}`);
  return `${low.toString(36)}.${high.toString(36)}`;
}

/** The reasoning that a view has removed before a message, as a text, likewise. */
export function clearedBefore(view: View, messages: number): string {
  const cleared = removedBefore(view.removals, messages, ({ kind }) => kind === 'reasoning');
  return cleared.length === 0 ? '' : JSON.stringify(cleared);
}

/** Whether a view is without the reasoning of a message. */
export function isCleared(view: View | undefined, message: number): boolean {
  return view?.removals.get(message)?.some(({ kind }) => kind === 'reasoning') === true;
}

/** What replaces the removals of a kind before a message, in the order of the array. */
function removedBefore(removals: View['removals'], messages: number, isMeant: (removal: Removal) => boolean) {
  return [...removals]
    .filter(([index]) => index < messages)
    .sort(([a], [b]) => a - b)
    .flatMap(([index, ofMessage]) => replacedIn(index, ofMessage.filter(isMeant)));
}

function replacedIn(index: number, removals: readonly Removal[]) {
  return removals.map(({ kind, call, replacement }) => [index, kind, call, replacement]);
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
