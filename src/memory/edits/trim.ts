/**
 * Trimming: the oldest turns leave the view. If the tail has shrunk, the oldest steps of the
 * remaining turns leave too.
 */
import type { RecapPlace } from './first-request.ts';
import type { SummarizedPrefix } from './summarize.ts';

/** Maximum of tokens of the line in place of trimmed messages. */
export const TRIM_LINE_TOKENS = 64;

/**
 * The messages that `auto` trims: those between the summarized prefix and the first unit that
 * stays.
 */
export interface TrimmedSpan {
  /** The first message, and the end of each segment. Every trimming move adds one. */
  readonly from: number;
  readonly ends: readonly number[];
  /**
   * Where the line goes: into the recap, or to the beginning of the first user message that stays.
   */
  readonly place: RecapPlace | { readonly opens: number };
  /** All messages that leave the view, including the summary's, ascending. */
  readonly dropped: readonly number[];
  /** The prefix of the summary, in the form for the first unit that stays. */
  readonly prefix: SummarizedPrefix | undefined;
  /** Tokens that the view saves, without those saved by the summary. */
  readonly freed: number;
}
