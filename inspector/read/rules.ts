/** Why a message stays or goes, in one sentence, and the page with the rule. */
import { isReason, type RemovalReason } from '../../src/memory/edits/fates.ts';
import type { KeptBecause } from '../api/answers.ts';
import { KEPT_LABELS } from './codes.ts';

/** A page of the documentation, as this Worker serves it, and the heading of a section in it. */
export interface RulePage {
  /** The name of its file without `.md`. */
  readonly page: string;
  readonly section: string;
}

export interface Rule {
  readonly says: string;
  readonly rule: RulePage;
}

function at(page: 'modes' | 'design', section: string): RulePage {
  return { page, section };
}

const REMOVED: Readonly<Record<RemovalReason, Rule>> = {
  context_compaction: {
    says: 'It is old: the model has used it, and newer outputs stay.',
    rule: at('modes', 'compact'),
  },
  offloaded: {
    says: 'It is large: its beginning and its end stay.',
    rule: at('modes', 'Large outputs that the model has seen'),
  },
  duplicate: { says: 'A later message has the same content.', rule: at('modes', 'auto') },
  superseded: { says: 'A later call of the same kind has a newer result.', rule: at('modes', 'auto') },
  old_reasoning: {
    says: 'The reasoning is from an old turn, and the model no longer needs it.',
    rule: at('modes', 'Old reasoning'),
  },
  bound_thinking: {
    says: 'The thinking is bound to messages that have changed.',
    rule: at('modes', 'Bound thinking'),
  },
};

/** Why a content was removed. A reason of another version is old. */
export function removalRule(reason: string): Rule {
  return REMOVED[isReason(reason) ? reason : 'context_compaction'];
}

export const LEFT_RULES: Readonly<Record<'summarized' | 'trimmed', Rule>> = {
  summarized: {
    says: 'They are the oldest; the summary covers them.',
    rule: at('modes', 'summarize'),
  },
  trimmed: { says: 'They are older than what the strategy keeps.', rule: at('modes', 'trim') },
};

const WORDS: RulePage = at('design', '2. Words (use these in code, docs and tests)');

const KEPT_PAGES: Readonly<Record<KeptBecause, RulePage>> = {
  preamble: WORDS,
  fresh: at('modes', 'Fresh outputs'),
  tail: at('design', 'Tail'),
  request: at('design', 'Tail'),
  first_request: at('modes', 'summarize'),
  held: WORDS,
  unedited: at('modes', 'auto'),
};

export function keptRule(because: KeptBecause): Rule {
  return { says: KEPT_LABELS[because], rule: KEPT_PAGES[because] };
}

/** Of a message among changed ones. An event does not say which of both it is. */
export const STAYS: Rule = {
  says: 'It always stays, or no edit of the strategy makes it shorter.',
  rule: at('modes', 'auto'),
};

/** Of messages of a request in which nothing was due. */
export const NOTHING_DUE: Rule = {
  says: 'Nothing was shortened in this request.',
  rule: at('modes', 'auto'),
};

/** Of what waits until it pays. */
export const WAITING_PAGE: RulePage = at('modes', 'auto');

export const ALL_RULES: readonly RulePage[] = [
  ...Object.values(REMOVED).map(({ rule }) => rule),
  ...Object.values(LEFT_RULES).map(({ rule }) => rule),
  ...Object.values(KEPT_PAGES),
  STAYS.rule,
  NOTHING_DUE.rule,
  WAITING_PAGE,
];
