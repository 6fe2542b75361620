/** The view: which messages are sent upstream, and what replaces removed contents. */
import { InvariantError } from '../../lib/invariant-error.ts';
import type { Message } from '../conversation/message.ts';
import { REMOVAL_REASONS } from '../edits/fates.ts';
import { firstRequest, type RecapPlace } from '../edits/first-request.ts';
import { shownWith } from '../edits/output-digest.ts';
import type { Removal } from '../edits/removal.ts';
import { type ShownSummary, type SummaryWords, showOutputs, showSummary } from '../edits/shown-summary.ts';
import { replacedTokens, reservedFor } from '../edits/summarize.ts';
import { type KeptRounds, tokensOfRounds } from '../replay/kept-rounds.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type { Plan } from './plan.ts';
import type { AppliedEdit } from './report-schema.ts';

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
  const marks = plan.marks && !stays ? marksOf(plan, { removals, dropped, summary, trim }) : [];
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

/** An item that a view has left out or replaced, and the type of the edit that it counts for. */
export interface ViewItem {
  readonly type: AppliedEdit['type'];
  /** The same for as long as the array only grows. */
  readonly name: string;
}

/** As many of each type as the report's edits have: messages that left, and contents replaced. */
export function viewItems({
  removals,
  dropped,
  summary,
}: Pick<View, 'removals' | 'dropped' | 'summary'>): ViewItem[] {
  const last = summary?.covers[1] ?? -1;
  const named = ({ reason, kind, message, call }: Removal, at: number): ViewItem => {
    const type = REMOVAL_REASONS[reason].edit;
    return { type, name: `${type}:${message}:${kind}:${kind === 'part' ? at : call}` };
  };
  return [
    ...[...removals.values()].flatMap((of) => of.map(named)),
    ...[...dropped].map((message): ViewItem => {
      const type = message > last ? 'trim' : 'summarize';
      return { type, name: `${type}:${message}` };
    }),
  ];
}

/**
 * The most marks by Precis. OpenAI writes the latest three of a request
 * (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
export const MOST_MARKS = 3;

/** What decides whether a mark can follow a message of a view. */
interface MarkedView extends Pick<View, 'removals' | 'dropped'> {
  readonly summary?: View['summary'] | undefined;
  readonly trim?: View['trim'] | undefined;
}

/** Not after one that opens with a text by Precis, or of which parts are replaced. */
export function canBear(
  message: Message | undefined,
  index: number,
  { removals, dropped, summary, trim }: MarkedView,
): boolean {
  if (message?.role !== 'user' && message?.role !== 'tool') return false;
  if (dropped.has(index) || index === summary?.request?.message || index === trim?.request?.message)
    return false;
  const edits = removals.get(index) ?? [];
  return edits.every(({ kind }) => kind === 'output') && message.bearsMark(edits.length > 0);
}

/**
 * Marks for prompt caches that are read at boundaries alone (docs/design.md#marks): messages of the
 * caller's array, ascending. A cache entry is written at each mark of a request, and read by a
 * later one that has the mark in the same place. So the places are those that a move leaves as they
 * are: after the first request, if it stays, and where the moves before have ended.
 *
 * `protocol/edits.ts` writes the marks. `answer/retries/own-fields.ts` asks again without them if
 * they are refused.
 */
function marksOf({ history, replay, prefix }: Plan, view: MarkedView): readonly number[] {
  const { messages, units } = history;
  const bears = (index: number): boolean => canBear(messages[index], index, view);
  if (replay.moves.length === 0) return [];
  const first = firstRequest(history);
  const marks = new Set(first !== undefined && bears(first) ? [first] : []);
  // A summary has changed all before its end.
  const begin = view.summary && prefix ? prefix.end : 0;
  // Settled units may be fewer after a later move, as after the first one that clears reasoning.
  const searched: { readonly end: number; readonly from: number }[] = [];
  for (const { settled } of replay.moves.toReversed()) {
    const from = units[settled]?.first ?? messages.length;
    if (marks.size >= MOST_MARKS) break;
    if (from <= begin || searched.some((range) => range.end <= from && from <= range.from)) continue;
    let end = from;
    while (end > begin && !bears(end - 1)) end--;
    searched.push({ end, from });
    if (end > begin) marks.add(end - 1);
  }
  return [...marks].sort((a, b) => a - b);
}
