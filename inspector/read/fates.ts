/** What becomes of messages, in words. */
import { type Fate, fateOf, isReason, type RemovalReason } from '../../src/memory/edits/fates.ts';
import type { Explanation, KeptBecause, RunEvent } from '../api/answers.ts';

/** A placeholder in a message, or its reasoning that has left. */
export interface RowEdit {
  readonly kind: string;
  readonly reason: string;
  readonly tool: string;
  readonly ref: string | undefined;
  readonly tokens: number;
  readonly freed: number;
  /** What stands in its place in the view; undefined if that is not known. */
  readonly text: string | undefined;
}

/** A message of the caller's array, and what became of it. */
export interface Row {
  readonly index: number;
  readonly fate: Fate;
  /** Undefined if only the run event is known, which holds no roles. */
  readonly role: string | undefined;
  /** Tokens as it came and in the view; undefined if they are not known. */
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly why: string;
  /** The transcript that has the message, if it has left the view and is stored. */
  readonly ref: string | undefined;
  readonly edits: readonly RowEdit[];
}

/** A fate in words: its badge and its reason, and both for a view that was planned alone. */
interface FateWords {
  readonly badge: string;
  readonly wouldBe: string;
  readonly why: string;
  readonly whyItWould: string;
}

const SENT = 'It was sent as it came.';

export const FATE_WORDS: Readonly<Record<Fate, FateWords>> = {
  kept: {
    badge: 'kept',
    wouldBe: 'kept',
    why: SENT,
    whyItWould: 'It was sent as it came, and would have been.',
  },
  condensed: {
    badge: 'condensed',
    wouldBe: 'would be condensed',
    why: 'The same JSON value is shown in fewer tokens.',
    whyItWould: `${SENT} The same JSON value would be shown in fewer tokens.`,
  },
  placeholder: {
    badge: 'placeholder',
    wouldBe: 'would be a placeholder',
    why: 'A placeholder stands for a part of it.',
    whyItWould: `${SENT} A placeholder would stand for a part of it.`,
  },
  offloaded: {
    badge: 'offloaded',
    wouldBe: 'would be offloaded',
    why: 'It is large: beginning and end stay, and the rest is behind a ref.',
    whyItWould: `${SENT} Beginning and end would stay, and the rest would be behind a ref.`,
  },
  cleared: {
    badge: 'reasoning cleared',
    wouldBe: 'reasoning would be cleared',
    why: 'Its reasoning is of an old turn and has left the view; all else stays.',
    whyItWould: `${SENT} Its reasoning would leave, since it is of an old turn.`,
  },
  summarized: {
    badge: 'summarised',
    wouldBe: 'would be summarised',
    why: 'The summary stands for it.',
    whyItWould: `${SENT} A summary would stand for it.`,
  },
  trimmed: {
    badge: 'dropped',
    wouldBe: 'would be dropped',
    why: 'It has left the view: it is older than the strategy keeps.',
    whyItWould: `${SENT} It would leave, since it is older than the strategy keeps.`,
  },
};

const KEPT_BECAUSE: Readonly<Record<KeptBecause, string>> = {
  preamble: 'Leading instructions are never edited.',
  fresh: 'The model has not seen this result yet.',
  tail: 'It stands behind the frontier.',
  request: 'Its turn continues behind the frontier.',
  first_request: 'The first request of the conversation stays in every view.',
  held: 'A call of its unit waits for its result, or a late result is still in the view.',
  unedited: 'No edit applies to it, or it would not become shorter.',
};

const EDIT_REASONS: Readonly<Record<RemovalReason, string>> = {
  context_compaction: 'old',
  offloaded: 'large',
  condensed: 'the same value in fewer tokens',
  old_reasoning: 'of an old turn',
  bound_thinking: 'bound to what has changed',
  duplicate: 'identical to a later one',
  superseded: 'replaced by a later result of the same call',
};

/** Why a content was removed. Unknown codes are shown as they are. */
export function editReason(reason: string): string {
  return isReason(reason) ? EDIT_REASONS[reason] : reason;
}

/** The rows of an explained array. */
export function rowsOfExplanation({ messages }: Explanation): Row[] {
  return messages.map(({ index, role, before, after, fate, because, edits = [] }) => ({
    index,
    fate,
    role: role === 'preamble' ? undefined : role,
    before,
    after,
    why: because === undefined ? FATE_WORDS[fate].why : KEPT_BECAUSE[because],
    ref: undefined,
    edits: edits.map(({ kind, reason, tool_name: tool, ref, tokens, freed, text }) => {
      return { kind, reason, tool, ref, tokens, freed, text };
    }),
  }));
}

/**
 * The rows of a run event. It names messages that are edited or left out; all others were kept. Of
 * an observed request they say what would have become of the messages, and nothing was stored.
 *
 * @param texts what stands in the view in the place of each edit, in their order, where it is known
 */
export function rowsOfEvent(
  { messages, edits, left_out: leftOut, observed }: RunEvent,
  texts: readonly (string | null)[] = [],
): Row[] {
  const left = new Map<number, RunEvent['left_out'][number]>();
  for (const range of leftOut)
    for (let index = range.from; index <= range.to && index < messages; index++) left.set(index, range);
  const shown = edits.map((edit, at) => ({ ...edit, text: texts[at] ?? undefined }));
  const byMessage = Map.groupBy(shown, ({ message }) => message);
  return Array.from({ length: messages }, (_, index) => {
    const gone = left.get(index);
    const own = gone ? [] : (byMessage.get(index) ?? []);
    const fate = gone?.fate ?? (own.length === 0 ? 'kept' : fateOf(own));
    const rowEdits = own.map(({ kind, reason, tool, ref, tokens, freed, text }) => {
      return { kind, reason, tool, ref: (!observed && ref) || undefined, tokens, freed, text };
    });
    const tokens = { role: undefined, before: undefined, after: undefined };
    const { why, whyItWould } = FATE_WORDS[fate];
    return {
      index,
      fate,
      ...tokens,
      why: observed ? whyItWould : why,
      ref: (!observed && gone?.ref) || undefined,
      edits: rowEdits,
    };
  });
}

/** How many rows have each fate. */
export function tally(rows: readonly Row[]): ReadonlyMap<Fate, number> {
  const counts = new Map<Fate, number>();
  for (const { fate } of rows) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return counts;
}
