/** Why a message stays or goes, in one sentence, and the page with the rule. */
import type { RemovalReason } from '../../src/memory/edits/fates.ts';
import { isReason } from '../../src/memory/edits/fates.ts';

/** A page of the documentation, as this Worker serves it. */
export type RulePage = `docs/${string}`;

export interface Rule {
  readonly says: string;
  readonly page: RulePage;
}

const REMOVED: Readonly<Record<RemovalReason, Rule>> = {
  context_compaction: {
    says: 'It is old: the model has used it, and newer ones stay.',
    page: 'docs/modes.md#compact',
  },
  offloaded: {
    says: 'It is large: its beginning and its end stay.',
    page: 'docs/modes.md#large-outputs-that-the-model-has-seen',
  },
  duplicate: { says: 'A later message has the very same content.', page: 'docs/modes.md#auto' },
  superseded: { says: 'A later call of the same kind has a newer result.', page: 'docs/modes.md#auto' },
  condensed: { says: 'The same JSON value is written in fewer tokens.', page: 'docs/modes.md#condensing' },
  old_reasoning: {
    says: 'The reasoning is of an old turn, and the model does without it.',
    page: 'docs/modes.md#old-reasoning',
  },
  bound_thinking: {
    says: 'The thinking is bound to messages that have changed.',
    page: 'docs/modes.md#thinking-that-is-bound',
  },
};

/** Why a content was removed. A reason of another version is old. */
export function removalRule(reason: string): Rule {
  return REMOVED[isReason(reason) ? reason : 'context_compaction'];
}

/** Why messages have left. */
export const LEFT_RULES: Readonly<Record<'summarized' | 'trimmed', Rule>> = {
  summarized: {
    says: 'They are the oldest, and the summary has what they say.',
    page: 'docs/modes.md#summarize',
  },
  trimmed: { says: 'They are older than the strategy keeps.', page: 'docs/modes.md#trim' },
};

/** Of messages that stay. */
export const KEPT_PAGE: RulePage = 'docs/design.md#tail';

/** Of what waits until it pays. */
export const WAITING_PAGE: RulePage = 'docs/modes.md#auto';

export const ALL_RULES: readonly RulePage[] = [
  ...Object.values(REMOVED).map(({ page }) => page),
  ...Object.values(LEFT_RULES).map(({ page }) => page),
  KEPT_PAGE,
  WAITING_PAGE,
];
