/** The view: which messages go upstream, and with what in the place of what was removed. */

import type { Removal } from '../edits/removal.ts';
import { BLOCK_TOKENS } from '../edits/summarize.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { Plan } from './plan.ts';
import { type ShownSummary, type SummaryWords, showSummary } from './shown-summary.ts';

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

/** What storage has answered to the needs of a plan. */
export interface ViewWords {
  /**
   * Whether a ref's content is known to be written. A removal whose content is not stays in full.
   */
  isWritten(ref: string): boolean;
  /** The summary of the plan's prefix. Without one its messages stay. */
  readonly summary?: Pick<SummaryWords, 'text' | 'ref'> | undefined;
  /** The line for the messages that are trimmed. Without one they stay. */
  readonly line?: ShownTrim | undefined;
}

/** The view of a plan: what can be removed is removed, everything else stays. */
export function render(plan: Plan, words: ViewWords, counter: TokenCounter): View {
  const { prefix, replay } = plan;
  const summary = plan.shown ?? shownIn(plan, words, counter);
  // Without its summary a prefix stays in place, and so does everything after it.
  const stays = prefix !== undefined && !summary;
  const trim = stays ? undefined : words.line;
  const trimmed = trim && plan.trimmed;
  const untrimmed = trimmed ? 0 : (plan.trimmed?.freed ?? 0);
  const removals = new Map<number, Removal[]>();
  const dropped = new Set(stays ? [] : (trimmed ?? plan).dropped);
  let incomplete = false;
  let missing = 0;
  let made = 0;
  for (const removal of plan.segments.flat()) {
    if (dropped.has(removal.message)) continue;
    if (removal.ref !== undefined && !words.isWritten(removal.ref)) {
      missing += removal.freed;
      incomplete = true;
      continue;
    }
    made += removal.freed;
    const same = removals.get(removal.message);
    if (same) same.push(removal);
    else removals.set(removal.message, [removal]);
  }
  if (stays) return { removals, dropped, tokens: replay.before - made, incomplete };
  const longer = summary && prefix ? summary.tokens - prefix.limit - BLOCK_TOKENS : 0;
  return {
    removals,
    dropped,
    ...(summary ? { summary } : {}),
    ...(trim ? { trim } : {}),
    tokens: replay.after + missing + longer + untrimmed + (trim?.tokens ?? 0),
    incomplete: incomplete || untrimmed > 0,
  };
}

/** The summary of a plan's prefix. Nothing is ever replaced by something longer. */
function shownIn(
  { history, trimmed, ...plan }: Plan,
  { summary, line }: ViewWords,
  counter: TokenCounter,
): ShownSummary | undefined {
  const prefix = line ? trimmed?.prefix : plan.prefix;
  if (!prefix || !summary) return undefined;
  const shown = showSummary(history, prefix, { text: summary.text, ref: summary.ref }, counter);
  return shown.tokens < prefix.covered ? shown : undefined;
}
