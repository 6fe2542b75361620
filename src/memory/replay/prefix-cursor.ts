/** The cursor of a prefix that a summary replaces, and of the outputs after that summary. */
import type { History } from '../conversation/history.ts';
import type { Digest } from '../conversation/refs.ts';
import { type Rehydrated, Rehydrator, tokensOf } from '../edits/rehydrate.ts';
import { type Prefixes, rehydratedWith, type SummarizedPrefix } from '../edits/summarize.ts';
import { type RehydratingFields, rehydrationOf } from '../strategy/fields.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { AT_START, type Cursor, type Reach } from './mover.ts';
import { type Due, filledUpTo, type ReplayRule, turnsBefore } from './rule.ts';

/** What a cursor needs to put outputs back after a summary. */
export interface Refills {
  readonly rehydrator: Rehydrator;
  /** See `ReplayRule`. */
  readonly watermark: number;
}

/** The position of a prefix, and the outputs after its summary. */
interface PrefixPosition extends Reach {
  readonly rehydrated?: Rehydrated | undefined;
  /** Whether these outputs were chosen. They are when a move ends. */
  readonly isRefilled?: boolean;
}

/**
 * The most that comes back, as a share of what a summary frees. With more, a summary would hardly
 * be worth its loss.
 */
const MOST_REFILLED = 0.5;

/** The tokens that outputs may take after a summary of this many freed tokens. */
export function refillOf(freed: number, room: number): number {
  return Math.min(room, freed * MOST_REFILLED);
}

/**
 * The cursor of a prefix. Both cuts are the same unit; the turn cut only stops at the beginning of
 * a turn.
 */
export class PrefixCursor implements Cursor {
  position: PrefixPosition = AT_START;
  readonly rewrites = true;
  private readonly history: History;
  private readonly prefixes: Prefixes;
  private readonly refills: Refills | undefined;
  /** The request's array. */
  private messages = 0;

  /** @param refills absent if no outputs follow the summary */
  constructor(history: History, prefixes: Prefixes, refills?: Refills) {
    this.history = history;
    this.prefixes = prefixes;
    this.refills = refills;
  }

  /** The prefix of the position, with the outputs after its summary. */
  get prefix(): SummarizedPrefix {
    return rehydratedWith(this.prefixes.at(this.unit), this.position.rehydrated);
  }

  /** A turn whose request stays is still in the view. */
  get turnsBefore(): number {
    const { request } = this.prefixes.at(this.unit);
    return turnsBefore(this.history, this.unit) - (request === undefined ? 0 : 1);
  }

  arrive(messages: number): boolean {
    this.messages = messages;
    const back = this.prefixes.held.arrive(messages, this.unit);
    if (back <= 0) return false;
    const shown = this.position.rehydrated;
    const rehydrated = this.refills?.rehydrator.without(shown, this.unit, messages);
    const freed = this.position.freed - back + tokensOf(shown) - tokensOf(rehydrated);
    this.position = { ...this.position, freed, rehydrated };
    // If the summary is longer than what it still replaces, restore the messages.
    if (freed <= 0) this.position = AT_START;
    return true;
  }

  mostFreed(unit: number): number {
    const { held } = this.prefixes;
    const leaving = (end: number): number => this.prefixes.before(end) - held.before(end);
    return leaving(unit) - leaving(this.unit) + tokensOf(this.position.rehydrated);
  }

  turnTo(limit: number, enough: number): void {
    while (this.unit < limit && this.position.freed < enough) {
      let next = this.unit + 1;
      while (next < limit && this.history.units[next]?.kind !== 'user') next++;
      this.stand(next);
    }
  }

  stepTo(limit: number, enough: number): void {
    while (this.unit < limit && this.position.freed < enough) this.stand(this.unit + 1);
  }

  refill(arrayTokens: number, due: Due, least: number): void {
    const { unit, messages, refills, position } = this;
    if (!refills || unit === 0) return;
    const { freed, rehydrated, isRefilled } = position;
    const isOver = arrayTokens - freed > due.trimOver;
    if (isRefilled && (!rehydrated || !isOver)) return;
    const room = filledUpTo(due, refills.watermark) - (arrayTokens - freed);
    const space = Math.min(refillOf(freed, room), freed - least);
    const chosen = isRefilled ? undefined : refills.rehydrator.choose(unit, messages, space);
    const more = tokensOf(chosen) - tokensOf(rehydrated);
    const left = freed - more;
    this.position = { ...position, rehydrated: chosen, isRefilled: true, freed: left, leftOut: left };
  }

  private get unit(): number {
    return this.position.cuts.turn;
  }

  private stand(unit: number): void {
    const { freed } = this.prefixes.at(unit);
    this.position = { cuts: { turn: unit, step: unit }, freed };
  }
}

/**
 * What a replay needs to put outputs back after a summary. Undefined if the strategy does not ask
 * for that.
 *
 * @param largest tokens of the largest output that comes back
 */
export function refillsOf(
  strategy: RehydratingFields,
  history: History,
  { watermark }: ReplayRule,
  { counter, digest }: { readonly counter: TokenCounter; readonly digest: Digest },
  largest = Number.POSITIVE_INFINITY,
): Refills | undefined {
  const settings = rehydrationOf(strategy);
  if (!settings) return undefined;
  const limits = { items: settings.items, maxTokens: settings.max_tokens, largest };
  return { rehydrator: new Rehydrator(history, limits, counter, digest), watermark };
}
