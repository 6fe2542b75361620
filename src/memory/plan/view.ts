/** The view: which messages go upstream, and with what in the place of what was removed. */

import type { History } from '../conversation/history.ts';
import { SHADOW_LINE, writeBlock } from '../conversation/session-summary.ts';
import type { Removal } from '../edits/removal.ts';
import { BLOCK_TOKENS, type SummarizedPrefix } from '../edits/summarize.ts';
import { MESSAGE_OVERHEAD, type TokenCounter } from '../tokens/tokens.ts';
import type { Plan } from './plan.ts';

export interface View {
  /** By message: what is replaced in it. */
  readonly removals: ReadonlyMap<number, readonly Removal[]>;
  /** Messages that are left out. */
  readonly dropped: ReadonlySet<number>;
  /** What stands in the place of messages that a summary covers. */
  readonly summary?: ShownSummary;
  /** The line that stands for trimmed messages. */
  readonly trim?: ShownTrim;
  /** Tokens of the view. */
  readonly tokens: number;
  /** Whether something stayed in full because it is not known to be stored. */
  readonly incomplete: boolean;
}

/** A line that a user message opens with, ready to be written. */
export interface ShownTrim {
  readonly message: number;
  readonly line: string;
  /** How many characters of the message's opening an earlier line takes. */
  readonly opening: number;
  /** The transcript that the line names; undefined where nothing is kept. */
  readonly kept: { readonly ref: string; readonly tokens: number; readonly bytes: number } | undefined;
  /** Tokens of the line, less those that the plan has reckoned with. */
  readonly tokens: number;
}

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

/**
 * Fills a plan in.
 *
 * @param isStored whether a ref's content is known to be written; what is not stays in full
 * @param shown the summary of the plan's prefix; without one its messages stay
 * @param line the line for what is trimmed; without one that stays
 */
export function render(
  planned: Plan,
  isStored: (ref: string) => boolean,
  shown?: ShownSummary,
  line?: ShownTrim,
): View {
  // A summary that is not there leaves its messages in place, and so what stands behind them.
  const trim = planned.prefix && !shown ? undefined : line;
  const trimmed = trim && planned.trimmed;
  const plan = trimmed ? { ...planned, dropped: trimmed.dropped } : planned;
  const stays = trimmed ? 0 : (planned.trimmed?.freed ?? 0);
  const removals = new Map<number, Removal[]>();
  const dropped = new Set(plan.prefix && !shown ? [] : plan.dropped);
  const summary = plan.prefix && shown;
  let incomplete = false;
  let missing = 0;
  let made = 0;
  for (const removal of plan.segments.flat()) {
    if (dropped.has(removal.message)) continue;
    if (removal.ref !== undefined && !isStored(removal.ref)) {
      missing += removal.freed;
      incomplete = true;
      continue;
    }
    made += removal.freed;
    const same = removals.get(removal.message);
    if (same) same.push(removal);
    else removals.set(removal.message, [removal]);
  }
  if (plan.prefix && !shown) return { removals, dropped, tokens: plan.replay.before - made, incomplete };
  const longer = summary && plan.prefix ? summary.tokens - plan.prefix.limit - BLOCK_TOKENS : 0;
  const tokens = plan.replay.after + missing + longer + stays + (trim?.tokens ?? 0);
  return {
    removals,
    dropped,
    ...(summary ? { summary } : {}),
    ...(trim ? { trim } : {}),
    tokens,
    incomplete: incomplete || stays > 0,
  };
}

/** The summary of a plan's prefix, as it is shown. Nothing is ever replaced by something longer. */
export function shownIn(
  { history, prefix }: Pick<Plan, 'history' | 'prefix'>,
  { text, ref }: Pick<SummaryWords, 'text' | 'ref'>,
  counter: TokenCounter,
  from = 0,
): ShownSummary | undefined {
  if (!prefix) return undefined;
  const shown = showSummary(history, prefix, { text, ref, from }, counter);
  return shown.tokens < prefix.covered ? shown : undefined;
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
