/** The view: which messages are sent upstream, and what replaces removed contents. */

import { InvariantError } from '../../lib/invariant-error.ts';
import type { RecapPlace } from '../edits/first-request.ts';
import { shownWith } from '../edits/output-digest.ts';
import type { Removal } from '../edits/removal.ts';
import { showOutputs } from '../edits/shown-outputs.ts';
import { type ShownSummary, type SummaryWords, showSummary } from '../edits/shown-summary.ts';
import { replacedTokens, reservedFor } from '../edits/summarize.ts';
import { type KeptRounds, tokensOfRounds } from '../replay/kept-rounds.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { marksOf } from './marks.ts';
import type { Plan } from './plan.ts';

export interface View {
  /** The replacements in each message. */
  readonly removals: ReadonlyMap<number, readonly Removal[]>;
  /** Messages that are dropped. */
  readonly dropped: ReadonlySet<number>;
  /** Replaces the messages that a summary covers. */
  readonly summary?: ShownSummary;
  /** Replaces trimmed messages. */
  readonly trim?: ShownTrim;
  /** The answer to the first request, with the summary or the line for trimmed messages or both. */
  readonly recap?: Recap;
  /** Tokens of the view. */
  readonly tokens: number;
  /** Whether contents stay in full because they are not known to be stored. */
  readonly incomplete: boolean;
  /** The messages after which the upstream's prompt cache gets a mark, ascending. Absent: none. */
  readonly marks?: readonly number[];
  /** Precis's rounds, by the message that they are before. Absent: none. */
  readonly rounds?: ReadonlyMap<number, ShownRounds>;
  /** The messages before this one, and rounds before them, are without thinking. Absent: none. */
  readonly thinkingFrom?: number;
}

/** Precis's rounds, ready to be written. */
interface ShownRounds extends Pick<KeptRounds, 'rounds' | 'tokens'> {
  /** Their messages or items: JSON, separated by commas. */
  readonly json: string;
}

/** An answer by Precis to the first request, ready to be written. */
export interface Recap extends RecapPlace {
  readonly text: string;
}

/** The line for trimmed messages, ready to be written. */
export interface ShownTrim {
  readonly line: string;
  /** Where it is, if that is the recap. */
  readonly recap?: RecapPlace;
  /**
   * The user message that it opens otherwise, and how many characters of that message's opening are
   * an earlier line.
   */
  readonly request?: { readonly message: number; readonly opening: number };
  /** The transcript that the line names. Undefined if nothing is stored. */
  readonly kept: { readonly ref: string; readonly tokens: number; readonly bytes: number } | undefined;
  /** Tokens of what is written, minus those that the plan has reserved. */
  readonly tokens: number;
}

/** What storage has provided for a plan. */
export interface ViewWords {
  /**
   * Whether a ref's content is known to be written. A removal whose content is not stays in full.
   */
  isWritten(ref: string): boolean;
  /** The digest instead of a removed output. Absent, or without one, its preview is shown. */
  digestOf?(removal: Removal): string | undefined;
  /** The summary of the plan's prefix. Without one its messages stay. */
  readonly summary?: Pick<SummaryWords, 'text' | 'ref' | 'signed'> | undefined;
  /** The messages of Precis's rounds, by their key. The messages of the plan must be known. */
  readonly rounds?: ReadonlyMap<string, string> | undefined;
  /** The line for the messages that are trimmed. Without one they stay. */
  readonly line?: ShownTrim | undefined;
}

/** The messages that leave the view of a plan. */
export function droppedBy(plan: Plan, words: ViewWords, counter: TokenCounter): ReadonlySet<number> {
  return leftOut(plan, words, counter).dropped;
}

/** The view of a plan. Whatever storage has not provided for stays in full. */
export function render(plan: Plan, words: ViewWords, counter: TokenCounter): View {
  const { prefix, replay } = plan;
  const { summary, stays, trim, dropped } = leftOut(plan, words, counter);
  const untrimmed = trim && plan.trimmed ? 0 : (plan.trimmed?.freed ?? 0);
  const removals = new Map<number, Removal[]>();
  let incomplete = false;
  let missing = 0;
  let made = 0;
  /** Tokens that the plan has counted for digests, and that the view does not have. */
  let unused = 0;
  for (const removal of [...plan.segments.flat(), ...(plan.thinking?.removals ?? [])]) {
    if (dropped.has(removal.message)) continue;
    if (removal.ref !== undefined && !words.isWritten(removal.ref)) {
      missing += removal.freed;
      incomplete = true;
      continue;
    }
    const shown = shownWith(removal, words.digestOf?.(removal), counter);
    made += shown.freed;
    unused += shown.freed - removal.freed;
    const same = removals.get(removal.message);
    if (same) same.push(shown);
    else removals.set(removal.message, [shown]);
  }
  const rounds = shownRounds(plan, words);
  const beside = {
    ...(rounds.size > 0 ? { rounds } : {}),
    ...(plan.thinking ? { thinkingFrom: plan.thinking.from } : {}),
  };
  const marks = plan.marks && !stays ? marksOf(plan, removals, dropped, { summary, trim }) : [];
  const longer = summary && prefix ? summary.tokens - reservedFor(prefix) : 0;
  const recap = recapOf(summary, trim);
  return {
    removals,
    dropped,
    ...(summary ? { summary } : {}),
    ...(trim ? { trim } : {}),
    ...(recap ? { recap } : {}),
    ...beside,
    ...(marks.length > 0 ? { marks } : {}),
    tokens: stays
      ? replay.before - made + tokensOfRounds(plan.rounds)
      : replay.after + missing + longer + untrimmed + (trim?.tokens ?? 0) - unused,
    incomplete: incomplete || (!stays && untrimmed > 0) || isUnnamed(summary, plan),
  };
}

/** Which messages leave the view, and what replaces them. */
function leftOut(plan: Plan, words: ViewWords, counter: TokenCounter) {
  const summary = plan.shown ?? shownIn(plan, words, counter);
  // Without its summary a prefix stays in place, and so does everything after it.
  const stays = plan.prefix !== undefined && !summary;
  const trim = stays ? undefined : words.line;
  const dropped = new Set(stays ? [] : ((trim && plan.trimmed) ?? plan).dropped);
  return { summary, stays, trim, dropped };
}

function shownRounds({ rounds }: Plan, words: ViewWords): ReadonlyMap<number, ShownRounds> {
  return new Map(
    rounds.map(({ key, message, rounds, tokens }) => {
      const json = words.rounds?.get(key);
      if (json === undefined) throw new InvariantError('rounds of a plan were not read');
      return [message, { json, rounds, tokens }];
    }),
  );
}

/** Whether an output after the summary lacks its ref, since it is not known to be written. */
function isUnnamed(summary: ShownSummary | undefined, { segments }: Plan): boolean {
  const unnamed = summary?.rehydrated?.filter(({ removal }) => !removal) ?? [];
  if (unnamed.length === 0) return false;
  const removed = segments.flat().filter(({ kind, ref }) => kind === 'output' && ref !== undefined);
  return unnamed.some(({ message }) => removed.some((removal) => removal.message === message));
}

function recapOf(summary: ShownSummary | undefined, trim: ShownTrim | undefined): Recap | undefined {
  const place = summary?.recap ?? trim?.recap;
  if (!place) return undefined;
  const texts = [summary?.recap && summary.block, trim?.recap && trim.line];
  return { ...place, text: texts.filter((text) => text !== undefined).join('\n\n') };
}

/**
 * The summary of a plan's prefix. A replacement is never longer than what it replaces, so a text
 * that is longer than planned may have no room for outputs after it.
 */
function shownIn(plan: Plan, words: ViewWords, counter: TokenCounter): ShownSummary | undefined {
  const { history, trimmed, segments } = plan;
  const { summary, line } = words;
  const prefix = line ? trimmed?.prefix : plan.prefix;
  if (!prefix || !summary) return undefined;
  const text = { text: summary.text, ref: summary.ref, signed: summary.signed };
  const { rehydrated } = prefix;
  const most = replacedTokens(prefix);
  const outputs =
    rehydrated &&
    text.signed === undefined &&
    showOutputs(history, rehydrated, segments.flat(), words.isWritten);
  const whole = outputs && showSummary(history, prefix, text, counter, outputs);
  if (whole && whole.tokens < most) return whole;
  const shown = showSummary(history, prefix, text, counter);
  return shown.tokens < most ? shown : undefined;
}
