/** What becomes of messages: the rows of a transcript. */
import { type Fate, fateOf } from '../../src/memory/edits/fates.ts';
import type { Explanation, RunEvent } from '../api/answers.ts';
import { keptRule, NOTHING_DUE, type Rule, STAYS } from './rules.ts';

/** A placeholder in a message, or its reasoning that has left. */
export interface RowEdit {
  readonly kind: string;
  readonly reason: string;
  readonly tool: string;
  readonly ref: string | undefined;
  readonly tokens: number;
  readonly freed: number;
  /** What the view has instead; undefined if that is not known. */
  readonly text: string | undefined;
}

/** A message of the caller's array, and what became of it. */
export interface Row {
  readonly index: number;
  readonly fate: Fate;
  /** Undefined if it is not known. */
  readonly role: string | undefined;
  /** Tokens in the array and in the view; undefined if they are not known. */
  readonly before: number | undefined;
  readonly after: number | undefined;
  /** Why it stays; undefined if it does not. */
  readonly why: Rule | undefined;
  /** The transcript that has the message, if it has left the view and is stored. */
  readonly ref: string | undefined;
  readonly edits: readonly RowEdit[];
}

export function rowsOfExplanation({ messages }: Pick<Explanation, 'messages'>): Row[] {
  return messages.map(({ index, role, before, after, fate, because, edits = [] }) => ({
    index,
    fate,
    role: role === 'preamble' ? undefined : role,
    before,
    after,
    why: because && keptRule(because),
    ref: undefined,
    edits: edits.map(({ kind, reason, tool_name: tool, ref, tokens, freed, text }) => {
      return { kind, reason, tool, ref, tokens, freed, text };
    }),
  }));
}

/** What is known of the messages of an event beside it. */
export interface Beside {
  /** What the view has instead of each edited content, in their order. */
  readonly texts?: readonly (string | null)[] | undefined;
  /** Roles and tokens of the messages. */
  readonly counted?: Explanation['messages'] | undefined;
}

/**
 * The rows of a run event. It names messages that are edited or left out; all others were kept. Of
 * an observed request they say what would have become of the messages, and nothing was stored.
 */
export function rowsOfEvent(event: RunEvent, { texts = [], counted }: Beside = {}): Row[] {
  const { messages, edits, left_out: leftOut, observed } = event;
  const left = new Map<number, RunEvent['left_out'][number]>();
  for (const range of leftOut)
    for (let index = range.from; index <= range.to && index < messages; index++) left.set(index, range);
  const shown = edits.map((edit, at) => ({ ...edit, text: texts[at] ?? undefined }));
  const byMessage = Map.groupBy(shown, ({ message }) => message);
  const end = [...edits.map(({ message }) => message), ...leftOut.map(({ to }) => to)].reduce(
    (most, index) => Math.max(most, index),
    -1,
  );
  return Array.from({ length: messages }, (_, index) => {
    const gone = left.get(index);
    const own = gone ? [] : (byMessage.get(index) ?? []);
    const fate = gone?.fate ?? (own.length === 0 ? 'kept' : fateOf(own));
    const rowEdits = own.map(({ kind, reason, tool, ref, tokens, freed, text }) => {
      return { kind, reason, tool, ref: (!observed && ref) || undefined, tokens, freed, text };
    });
    const { role, before } = counted?.[index] ?? {};
    const freed = rowEdits.reduce((sum, edit) => sum + edit.freed, 0);
    return {
      index,
      fate,
      role: role === undefined || role === 'preamble' ? roleOf(rowEdits) : role,
      before,
      after: before === undefined ? undefined : gone ? 0 : before - freed,
      why: fate === 'kept' ? keptWhy(index, end, role) : undefined,
      ref: (!observed && gone?.ref) || undefined,
      edits: rowEdits,
    };
  });
}

/** What has such contents. */
function roleOf(edits: readonly RowEdit[]): string | undefined {
  const [first] = edits;
  if (!first || first.kind === 'part') return undefined;
  return first.kind === 'output' ? 'tool' : 'assistant';
}

/** @param end the last message that was changed, or -1 */
function keptWhy(index: number, end: number, role: string | undefined): Rule {
  if (role === 'preamble') return keptRule('preamble');
  if (end < 0) return NOTHING_DUE;
  return index > end ? keptRule('tail') : STAYS;
}

export function tally(rows: readonly Row[]): ReadonlyMap<Fate, number> {
  const counts = new Map<Fate, number>();
  for (const { fate } of rows) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return counts;
}
