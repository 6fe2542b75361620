/**
 * The kinds of edits, in one place for all code that distinguishes them: plan, report, explanation,
 * event, reference and inspector. It imports nothing, since these run in different programs.
 */

/**
 * What becomes of a message in the view.
 *
 * - kept: it is sent unchanged.
 * - placeholder: a part of it is replaced by a placeholder.
 * - offloaded: head and tail of its content stay.
 * - cleared: its reasoning has left; all else stays.
 * - summarized: a summary replaces it.
 * - trimmed: it has left the view.
 */
export const FATES = ['kept', 'placeholder', 'offloaded', 'cleared', 'summarized', 'trimmed'] as const;

export type Fate = (typeof FATES)[number];

/**
 * What is removed. `part`: an image or file in a part of a message's content. `hosted`: the output
 * of a tool that the upstream runs, in the answer that it was used for. `reasoning`: what the model
 * thought before it answered.
 */
export const REMOVAL_KINDS = ['output', 'input', 'part', 'hosted', 'reasoning'] as const;

/**
 * Why a content is removed: it was old, large, identical to a later one, or replaced by a later
 * result of the same call; it is the reasoning of an old turn; or it is thinking that is bound to
 * what has changed before it. With the edit that a report counts it in, and the fate of a message
 * of which nothing else is removed.
 */
export const REMOVAL_REASONS = {
  context_compaction: { edit: 'compact', fate: 'placeholder' },
  offloaded: { edit: 'offload', fate: 'offloaded' },
  duplicate: { edit: 'dedupe', fate: 'placeholder' },
  superseded: { edit: 'dedupe', fate: 'placeholder' },
  old_reasoning: { edit: 'clear_reasoning', fate: 'cleared' },
  bound_thinking: { edit: 'clear_reasoning', fate: 'cleared' },
} as const satisfies Readonly<Record<string, { readonly edit: string; readonly fate: Fate }>>;

export type RemovalKind = (typeof REMOVAL_KINDS)[number];
export type RemovalReason = keyof typeof REMOVAL_REASONS;
export type RemovalEdit = (typeof REMOVAL_REASONS)[RemovalReason]['edit'];

/**
 * The fate of a message with removals.
 *
 * @param removals at least one. A reason that is not known belongs to a placeholder
 */
export function fateOf(removals: readonly { readonly reason: string }[]): Fate {
  const fates = new Set(
    removals.map(({ reason }) => (isReason(reason) ? REMOVAL_REASONS[reason].fate : 'placeholder')),
  );
  if (fates.has('offloaded')) return 'offloaded';
  const [fate = 'placeholder', ...others] = fates;
  return others.length === 0 ? fate : 'placeholder';
}

/** Whether a text is a reason, as one of this version. */
export function isReason(text: string): text is RemovalReason {
  return Object.hasOwn(REMOVAL_REASONS, text);
}
