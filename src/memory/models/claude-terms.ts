/**
 * What Claude's models take of a request, for a body that is written for a caller of another API.
 *
 * https://platform.claude.com/docs/en/build-with-claude/effort,
 * https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5 and likewise for the
 * others (read 2026-11), and for sampling and forced calls before 5.5
 * https://github.com/ENTERPILOT/GoModel/pull/856 (2026-09-02, second hand).
 */
import { acceptsVersion, claude, type FamilyRow, type FirstOnly, rowOfModel, rows } from './families.ts';

export interface ClaudeTerms extends FirstOnly {
  /** Who decides how much the model thinks: it does, by an effort, or a budget in tokens. */
  readonly thinking: 'adaptive' | 'budget' | 'never';
  /** Whether it thinks without being asked. */
  readonly thinksUnasked: boolean;
  /** The type of `thinking` by which it thinks least; absent where none changes that. */
  readonly off?: 'disabled' | 'between_tools';
  /** The efforts over `high`. */
  readonly efforts: readonly string[];
  /** Whether it takes `temperature` and `top_p`. */
  readonly takesSampling: boolean;
  /** Whether it takes a choice that forces a call. */
  readonly takesForced: boolean;
  /** Whether it takes messages of the system after the first user message. */
  readonly takesSystem: boolean;
  /** Whether it continues an answer that the array ends with. */
  readonly takesPrefill: boolean;
}

const NEWEST: ClaudeTerms = {
  thinking: 'adaptive',
  thinksUnasked: true,
  efforts: ['xhigh', 'max'],
  takesSampling: false,
  takesForced: false,
  takesSystem: true,
  takesPrefill: false,
};
const FIRST_5: ClaudeTerms = { ...NEWEST, takesForced: true };
const QUIETED: ClaudeTerms = { ...FIRST_5, off: 'disabled' };
const OPUS_4_8: ClaudeTerms = { ...FIRST_5, thinksUnasked: false };
const OPUS_4_7: ClaudeTerms = { ...OPUS_4_8, takesSystem: false };
const OPUS_4_6: ClaudeTerms = { ...OPUS_4_7, efforts: ['max'], takesSampling: true };
const BUDGETED: ClaudeTerms = { ...OPUS_4_6, thinking: 'budget', efforts: [], takesPrefill: true };
const UNTHINKING: ClaudeTerms = { ...BUDGETED, thinking: 'never' };

/** The longest family applies: a version that is not listed yet has the newest terms. */
const ROWS: readonly (ClaudeTerms & FamilyRow)[] = [
  ...rows(claude(['mythos-preview']), { ...FIRST_5, takesSystem: false }),
  ...rows(claude(['fable-5', 'mythos-5']), { ...FIRST_5, isFirst: true }),
  ...rows(claude(['opus-5']), { ...QUIETED, isFirst: true }),
  // Sources contradict each other on its messages of the system.
  ...rows(claude(['sonnet-5']), { ...QUIETED, takesSystem: false, isFirst: true }),
  ...rows(claude(['sonnet-5']), { ...NEWEST, off: 'between_tools' }),
  ...rows(claude(['haiku-5']), QUIETED),
  ...rows(claude(['opus-4.8']), OPUS_4_8),
  ...rows(claude(['opus-4.7']), OPUS_4_7),
  ...rows(claude(['opus-4.6', 'sonnet-4.6']), OPUS_4_6),
  ...rows(claude(['opus-4', 'sonnet-4', 'haiku-4', '3.7', 'sonnet-3.7']), BUDGETED),
  ...rows(claude(['3', 'haiku-3', 'sonnet-3', 'opus-3', '2', 'instant']), UNTHINKING),
  { family: 'claude', ...NEWEST },
];

/** The terms of a model by its name; one of another vendor is asked for nothing that may fail. */
export function claudeTermsOf(model: string): ClaudeTerms {
  return rowOfModel(model, ROWS, acceptsVersion) ?? UNTHINKING;
}
