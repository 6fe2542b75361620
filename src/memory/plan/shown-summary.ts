/** A summary as it is written in a view. */
import type { History } from '../conversation/history.ts';
import { SHADOW_LINE, writeBlock } from '../conversation/session-summary.ts';
import type { SummarizedPrefix } from '../edits/summarize.ts';
import { MESSAGE_OVERHEAD, type TokenCounter } from '../tokens/tokens.ts';

/** A summary, ready to be written. */
export interface ShownSummary {
  /** The text with its tags. */
  readonly block: string;
  /** The first and the last message that it stands for. */
  readonly covers: readonly [number, number];
  /**
   * `pair`: a shadow line and an answer, in the place of the first message that is left out.
   * `request`: the opening of the user message that is being worked on. `alone`: a user message of
   * its own, where there is no other.
   */
  readonly form: 'pair' | 'request' | 'alone';
  /**
   * In the form `request`: that message, and how many characters of its opening an earlier summary
   * takes.
   */
  readonly request?: { readonly message: number; readonly opening: number };
  /** Tokens of all that is written. */
  readonly tokens: number;
}

/** The words that a summary is shown with. */
export interface SummaryWords {
  readonly text: string;
  /** The ref of the transcript, when it is known to be written. */
  readonly ref: string | undefined;
  /** The first message that the text stands for, where it is not the first of all. */
  readonly from?: number;
  /** The message before which the text ends, where that is not where the prefix ends. */
  readonly to?: number;
}

/** A summary in the form that its place in the array asks for. */
export function showSummary(
  history: History,
  { unit, end, request }: SummarizedPrefix,
  { text, ref, from = 0, to = end }: SummaryWords,
  counter: TokenCounter,
): ShownSummary {
  const first = history.messages.findIndex(({ role }, index) => role !== 'preamble' && index >= from);
  const covers = [Math.max(0, first), to - 1] as const;
  const block = writeBlock(text, ref, covers);
  if (request !== undefined) {
    const opening = history.echo?.last === request ? history.echo.length : 0;
    const tokens = counter.text(block);
    return { block, covers, form: 'request', request: { message: request, opening }, tokens };
  }
  const tokens = counter.text(block) + MESSAGE_OVERHEAD;
  if (history.units[unit]?.kind !== 'user') return { block, covers, form: 'alone', tokens };
  const line = counter.marker(SHADOW_LINE) + MESSAGE_OVERHEAD;
  return { block, covers, form: 'pair', tokens: tokens + line };
}
