/**
 * Summarizing: a summary replaces everything before one cut.
 *
 * In the replay a summary weighs as much as it may: `summary_max_tokens`, or half of what it
 * covers.
 *
 * Trimming: the oldest turns leave the view. If the tail has shrunk, the oldest steps of the
 * remaining turns leave too.
 */
import type { PrefixSums } from '../../lib/prefix-sums.ts';
import { HeldTokens, heldMessages } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import type { CountedEcho } from '../conversation/session-summary.ts';
import { type TokenSums, unitSums } from '../tokens/sums.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { type FirstRequest, type RecapPlace, type RunningRequests, recapPlace } from './first-request.ts';
import { type Rehydrated, tokensOf } from './rehydrate.ts';

/**
 * Tokens around a summary's text: the block's tags, the line before or after it, and the overhead
 * of both messages.
 */
export const BLOCK_TOKENS = 80;

/** A prefix that a summary can replace. */
export interface SummarizedPrefix {
  /** The first unit that stays. */
  readonly unit: number;
  /** The messages before this index are covered, except the preamble. */
  readonly end: number;
  /**
   * The first request that showed its summary had the messages before this index. Absent: that is
   * not known.
   */
  readonly since?: number | undefined;
  /** The covered user message that stays, because its turn is still in progress. */
  readonly request: number | undefined;
  /** The first request, if it is covered and stays all the same. */
  readonly first: number | undefined;
  /** The request of a run that is in progress, if other words have begun its turn. */
  readonly running?: number | undefined;
  /** Tokens of the covered messages as the caller sends them, without those held by bonds. */
  readonly covered: number;
  /** Maximum of tokens of the summary. It must not exceed half of what it replaces. */
  readonly limit: number;
  /** The outputs that follow the summary. */
  readonly rehydrated?: Rehydrated | undefined;
  /** Tokens that the view saves if the summary is as long as allowed, with those outputs. */
  readonly freed: number;
  /** The part of `freed` that the view may lack: tokens counted for digests that do not come. */
  readonly unsure?: number;
}

/** Tokens that are reserved in place of a prefix. */
export function reservedFor({ limit, rehydrated }: Pick<SummarizedPrefix, 'limit' | 'rehydrated'>): number {
  return limit + BLOCK_TOKENS + tokensOf(rehydrated);
}

/** A prefix with other outputs after its summary. */
export function rehydratedWith(
  prefix: SummarizedPrefix,
  rehydrated: Rehydrated | undefined,
): SummarizedPrefix {
  const more = tokensOf(rehydrated) - tokensOf(prefix.rehydrated);
  return { ...prefix, rehydrated, freed: prefix.freed - more };
}

/**
 * The least tokens that leave the view in exchange for the summary and the outputs after it. It
 * does not depend on the texts of digests: the digests of messages that have left the view may be
 * forgotten, and a summary must not come and go with them.
 */
export function replacedTokens(prefix: SummarizedPrefix): number {
  return prefix.freed - (prefix.unsure ?? 0) + reservedFor(prefix);
}

/** The messages that the summary replaces, ascending. */
export function coveredMessages(
  history: History,
  prefix: Pick<SummarizedPrefix, 'unit' | 'end' | 'request' | 'first' | 'running'>,
): number[] {
  const { unit, end, request, first, running } = prefix;
  const covered: number[] = [];
  const stays = new Set([request, first, running, ...heldMessages(history, unit)]);
  for (let index = 0; index < end; index++)
    if (history.messages[index]?.role !== 'preamble' && !stays.has(index)) covered.push(index);
  return covered;
}

/** The user unit of each unit's turn. */
function askedBy(history: History): readonly (number | undefined)[] {
  const asked: (number | undefined)[] = [];
  for (const [index, unit] of history.units.entries())
    asked.push(unit.kind === 'user' ? index : asked[index - 1]);
  return asked;
}

/** What decides how large a summary may be, and what stays beside it. */
export interface PrefixSettings {
  /** Maximum of tokens of a summary. */
  readonly summaryTokens: number;
  /** A summary that came back. It is condensed already, so its tokens count in full. */
  readonly echo: CountedEcho | undefined;
  /** The first request, if it stays. */
  readonly first?: FirstRequest | undefined;
  /** Absent: none stays. */
  readonly running?: RunningRequests;
}

/**
 * The prefixes of an array: what stays of each, and their tokens. A summary among them that came
 * back counts as it is.
 */
export class Prefixes {
  /** Units held by bonds. */
  readonly held: HeldTokens;
  private readonly history: History;
  private readonly settings: PrefixSettings;
  private readonly units: PrefixSums;
  private readonly freedBefore: (unit: number) => number;
  /** For each unit, the user unit of its turn. */
  private readonly asked: readonly (number | undefined)[];

  /** @param freedBefore tokens that removals free in the units before one */
  constructor(
    history: History,
    sums: TokenSums,
    settings: PrefixSettings,
    freedBefore: (unit: number) => number = () => 0,
  ) {
    this.history = history;
    this.settings = settings;
    this.freedBefore = freedBefore;
    const units = unitSums(history, sums);
    this.units = units;
    this.asked = askedBy(history);
    this.held = new HeldTokens(history, (unit) => units.at(unit));
  }

  /** Tokens of the units before one, as they are in the view without a summary. */
  before(unit: number): number {
    return this.units.before(unit) - this.freedBefore(unit);
  }

  /** Of a unit, likewise. */
  of(unit: number): number {
    return this.before(unit + 1) - this.before(unit);
  }

  /** The first request, if it is before a unit and stays. */
  firstBefore(unit: number): FirstRequest | undefined {
    const { first } = this.settings;
    return first && first.message < this.endOf(unit) ? first : undefined;
  }

  /** The user unit before this one that stays, since its turn continues. */
  requestAt(unit: number): number | undefined {
    return this.history.units[unit]?.kind === 'user' ? undefined : this.asked[unit - 1];
  }

  /** Tokens of what stays when the units before one leave: held units and requests. */
  stayingBefore(unit: number): number {
    const request = this.requestAt(unit);
    const first = this.firstBefore(unit);
    const isOther = request !== undefined && this.history.units[request]?.first !== first?.message;
    const running = this.settings.running?.[unit];
    const asked = (isOther ? this.of(request) : 0) + (running ? this.of(running.unit) : 0);
    return this.held.before(unit) + asked + (first?.tokens ?? 0);
  }

  /** The prefix before a unit. */
  at(unit: number): SummarizedPrefix {
    const { summaryTokens, echo, running } = this.settings;
    const end = this.endOf(unit);
    const request = this.history.units[this.requestAt(unit) ?? -1]?.first;
    const first = this.firstBefore(unit);
    const { tokens: known, after } = echo && echo.last < end ? echo : { tokens: 0, after: 0 };
    const covered = this.before(unit);
    const read = covered - (first?.tokens ?? 0) - known - after;
    const limit = Math.min(summaryTokens, known + Math.floor(read / 2));
    // A request that opens with an earlier summary stays without it.
    const opening = request !== undefined && request === echo?.message ? known + after : 0;
    const freed = covered - this.stayingBefore(unit) + opening - limit - BLOCK_TOKENS;
    const staying = { request, first: first?.message, running: running?.[unit]?.message };
    return { unit, end, ...staying, covered: covered - this.held.before(unit), limit, freed };
  }

  /**
   * The place of the line for trimmed messages: the recap, or the first user message that stays.
   */
  linePlace(unit: number): RecapPlace | { readonly opens: number } | undefined {
    const { history } = this;
    const request = this.requestAt(unit);
    const asked = history.units[request ?? -1]?.first;
    const recap = recapPlace(history, unit, asked, this.firstBefore(unit)?.message);
    const user = request ?? history.turns.find((turn) => turn >= unit);
    const opens = history.units[user ?? -1]?.first;
    return recap ?? (opens === undefined ? undefined : { opens });
  }

  /** The message before which the units before one end. */
  private endOf(unit: number): number {
    return this.history.units[unit]?.first ?? this.history.messages.length;
  }
}

/** The summary that came back, with its token count. */
export function countedEcho({ echo, messages }: History, counter: TokenCounter): CountedEcho | undefined {
  if (!echo) return undefined;
  const { text, rehydrated } = echo;
  const weight = () => ({ texts: [rehydrated ?? ''], flat: 0 });
  const after = rehydrated ? counter.weight(`rehydrated:${messages[echo.message]?.digest}`, weight) : 0;
  return { ...echo, tokens: counter.text(text), after };
}

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
