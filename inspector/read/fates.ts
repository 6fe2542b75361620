/** What becomes of messages, in words. */
import type { Explanation, RunEvent } from '../api/answers.ts';

type ExplainedMessage = Explanation['messages'][number];
export type Fate = ExplainedMessage['fate'];

export const FATES: readonly Fate[] = [
  'kept',
  'condensed',
  'placeholder',
  'offloaded',
  'cleared',
  'summarized',
  'trimmed',
];

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

/** The column head and the badge of a fate. */
export const FATE_WORDS: Readonly<Record<Fate, string>> = {
  kept: 'kept',
  condensed: 'condensed',
  placeholder: 'placeholder',
  offloaded: 'offloaded',
  cleared: 'reasoning cleared',
  summarized: 'summarised',
  trimmed: 'dropped',
};

/** The same for a view that was planned and not sent. */
export const POTENTIAL_WORDS: Readonly<Record<Fate, string>> = {
  kept: 'kept',
  condensed: 'would be condensed',
  placeholder: 'would be a placeholder',
  offloaded: 'would be offloaded',
  cleared: 'reasoning would be cleared',
  summarized: 'would be summarised',
  trimmed: 'would be dropped',
};

const POTENTIAL_REASONS: Readonly<Record<Fate, string>> = {
  kept: 'It was sent as it came, and would have been.',
  condensed: 'It was sent as it came. The same JSON value would be shown in fewer tokens.',
  placeholder: 'It was sent as it came. A placeholder would stand for a part of it.',
  offloaded: 'It was sent as it came. Beginning and end would stay, and the rest would be behind a ref.',
  cleared: 'It was sent as it came. Its reasoning would leave, since it is of an old turn.',
  summarized: 'It was sent as it came. A summary would stand for it.',
  trimmed: 'It was sent as it came. It would leave, since it is older than the strategy keeps.',
};

const FATE_REASONS: Readonly<Record<Fate, string>> = {
  kept: 'It was sent as it came.',
  condensed: 'The same JSON value is shown in fewer tokens.',
  placeholder: 'A placeholder stands for a part of it.',
  offloaded: 'It is large: beginning and end stay, and the rest is behind a ref.',
  cleared: 'Its reasoning is of an old turn and has left the view; all else stays.',
  summarized: 'The summary stands for it.',
  trimmed: 'It has left the view: it is older than the strategy keeps.',
};

const KEPT_BECAUSE: Readonly<Record<NonNullable<ExplainedMessage['because']>, string>> = {
  preamble: 'Leading instructions are never edited.',
  fresh: 'The model has not seen this result yet.',
  tail: 'It stands behind the frontier.',
  request: 'Its turn continues behind the frontier.',
  first_request: 'The first request of the conversation stays in every view.',
  held: 'A call of its unit waits for its result, or a late result is still in the view.',
  unedited: 'No edit applies to it, or it would not become shorter.',
};

const EDIT_REASONS: Readonly<Record<string, string>> = {
  context_compaction: 'old',
  offloaded: 'large',
  condensed: 'the same value in fewer tokens',
  old_reasoning: 'of an old turn',
  duplicate: 'identical to a later one',
  superseded: 'replaced by a later result of the same call',
};

/** Why a content was removed. Unknown codes are shown as they are. */
export function editReason(reason: string): string {
  return EDIT_REASONS[reason] ?? reason;
}

/** The rows of an explained array. */
export function rowsOfExplanation({ messages }: Explanation): Row[] {
  return messages.map(({ index, role, before, after, fate, because, edits = [] }) => ({
    index,
    fate,
    role: role === 'preamble' ? undefined : role,
    before,
    after,
    why: because === undefined ? FATE_REASONS[fate] : KEPT_BECAUSE[because],
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
    const why = (observed ? POTENTIAL_REASONS : FATE_REASONS)[fate];
    return { index, fate, ...tokens, why, ref: (!observed && gone?.ref) || undefined, edits: rowEdits };
  });
}

function fateOf(edits: RunEvent['edits']): Fate {
  if (edits.some(({ reason }) => reason === 'offloaded')) return 'offloaded';
  if (edits.every(({ kind }) => kind === 'reasoning')) return 'cleared';
  return edits.every(({ reason }) => reason === 'condensed') ? 'condensed' : 'placeholder';
}

/** How many rows have each fate. */
export function tally(rows: readonly Row[]): ReadonlyMap<Fate, number> {
  const counts = new Map<Fate, number>();
  for (const { fate } of rows) counts.set(fate, (counts.get(fate) ?? 0) + 1);
  return counts;
}
