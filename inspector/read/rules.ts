/** Why a message stays or goes, in one sentence, and the page with the rule. */
import { isReason, type RemovalReason } from '../../src/memory/edits/fates.ts';
import type { KeptBecause } from '../api/answers.ts';
import { KEPT_LABELS } from './codes.ts';

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

const WORDS: RulePage = 'docs/design.md#2-words-use-these-in-code-docs-and-tests';

const KEPT_PAGES: Readonly<Record<KeptBecause, RulePage>> = {
  preamble: WORDS,
  fresh: 'docs/modes.md#fresh-outputs',
  tail: 'docs/design.md#tail',
  request: 'docs/design.md#tail',
  first_request: 'docs/modes.md#summarize',
  held: WORDS,
  unedited: 'docs/modes.md#auto',
};

/** Why a message stays. */
export function keptRule(because: KeptBecause): Rule {
  return { says: KEPT_LABELS[because], page: KEPT_PAGES[because] };
}

/** Of a message among changed ones. An event does not say which of both it is. */
export const STAYS: Rule = {
  says: 'It always stays, or nothing that the strategy may do makes it shorter.',
  page: 'docs/modes.md#auto',
};

/** Of messages of a request in which nothing was due. */
export const NOTHING_DUE: Rule = {
  says: 'Nothing was shortened in this request.',
  page: 'docs/modes.md#auto',
};

/** Of what waits until it pays. */
export const WAITING_PAGE: RulePage = 'docs/modes.md#auto';

export const ALL_RULES: readonly RulePage[] = [
  ...Object.values(REMOVED).map(({ page }) => page),
  ...Object.values(LEFT_RULES).map(({ page }) => page),
  ...Object.values(KEPT_PAGES),
  STAYS.page,
  NOTHING_DUE.page,
  WAITING_PAGE,
];
