/** What a view has changed before a message, as a text: equal ones mean equal prefixes. */
import type { Message } from '../conversation/message.ts';
import { chained } from '../conversation/prefix-hash.ts';
import type { Digest } from '../conversation/refs.ts';
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

/** In characters, of a hash: two of one conversation are the same once in 16 million times. */
const HASH_LENGTH = 6;

/** As many messages are hashed at once. The hash before a message depends on no other ends. */
const HASHED_AT_ONCE = 64;

/**
 * The same before several messages at once, as short hashes. Reasoning is a part of it.
 *
 * @param ends the indices of the messages, in ascending order
 */
export function editedAt(view: View | undefined, ends: readonly number[], digest: Digest): EditedAt[] {
  const { removals = new Map(), dropped = new Set(), rounds = new Map() } = view ?? {};
  const shown = view ? shownBy(view).filter((part) => part !== undefined) : [];
  const edits = hashesAt(ends, digest, shown.length > 0 ? JSON.stringify(shown) : '', (index) => {
    const replaced = replacedIn(index, removals.get(index) ?? []);
    return dropped.has(index) || replaced.length > 0
      ? [dropped.has(index) ? index : null, ...replaced]
      : null;
  });
  const led = hashesAt(ends, digest, '', (index) => {
    const at = rounds.get(index);
    return at ? [index, at.rounds] : null;
  });
  return ends.map((messages, at) => ({ messages, edits: edits[at] ?? '', rounds: led[at] ?? '' }));
}

/** @param changedIn what is changed in a message; null: nothing */
function hashesAt(
  ends: readonly number[],
  digest: Digest,
  first: string,
  changedIn: (index: number) => unknown[] | null,
): string[] {
  let hash = first === '' ? '' : digest(first);
  let begin = 0;
  const withThose = (end: number): string => {
    const changed = Array.from({ length: end - begin }, (_, at) => changedIn(begin + at)).filter(Boolean);
    return changed.length === 0 ? hash : chained(hash, JSON.stringify(changed), digest);
  };
  return ends.map((end) => {
    for (; begin + HASHED_AT_ONCE <= end; begin += HASHED_AT_ONCE) hash = withThose(begin + HASHED_AT_ONCE);
    return withThose(end).slice(0, HASH_LENGTH);
  });
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
