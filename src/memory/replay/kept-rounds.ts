/**
 * Precis's rounds in a view, before the answers that they led to (docs/design.md#kept-rounds). They
 * are an overlay: no message of the caller's array, so no hash, edit or summary knows of them.
 * Their tokens make the view larger than the array without them.
 *
 * Rounds come with their answer, leave when the frontier passes it, and never come back, but for
 * those that left for the room of one request's answer. All of that follows from the array, that
 * room and the list of rounds, so each isolate finds the same ones.
 * Those whose messages are lost count as before: the moves of earlier requests stay as they were.
 */
import { elementAt } from '../../lib/elements.ts';
import { endOf } from '../conversation/answer-keys.ts';
import type { History } from '../conversation/history.ts';
import { mostFitting } from '../tokens/fitting.ts';

/** The rounds that led to one answer. */
export interface KeptRounds {
  /** Names them in storage. */
  readonly key: string;
  /** Index of the first message of the answer. */
  readonly message: number;
  /** The number of requests to the upstream before the last one. */
  readonly rounds: number;
  /** Tokens of their messages. */
  readonly tokens: number;
  /** Bytes of their JSON. */
  readonly bytes: number;
  /**
   * Why a view is without their messages: they can't be read now (`unread`), or they are kept no
   * more (`gone`), which an earlier request may have reported (`reported`). Absent: they are there.
   */
  readonly lost?: 'unread' | 'gone' | 'reported' | undefined;
}

type Size = Pick<KeptRounds, 'rounds' | 'tokens' | 'bytes'>;

/** Rounds and bytes of one view, and of what a conversation keeps. */
export const MOST_ROUNDS = 50;
export const MOST_BYTES = 8 * 1024 * 1024;

/** The largest share of the budget. */
const MOST_SHARE = 0.25;

/**
 * What stays of each bound where one is exceeded: with more, each further answer would be a move.
 */
const KEPT_SHARE = 0.5;

interface Placed extends KeptRounds {
  /** The unit of the answer. */
  readonly unit: number;
}

/** The rounds that have come so far. */
export interface RoundsState {
  /** Equal ones mean the same rounds of the same messages. */
  readonly came: string;
  /** The messages of those in the view. */
  readonly inView: readonly number[];
}

/** The rounds in the views of successive request points of one array. */
export class RoundsInView {
  /** The rounds of answers in the array, and how many of them have come. */
  private readonly all: readonly Placed[];
  private readonly messages: History['messages'];
  private came = 0;
  /** The most of them that a view shows. */
  readonly most: Size;
  /** The rounds of the array so far that have not left, oldest first. */
  private inView: Placed[] = [];

  /**
   * @param rounds of answers in the array, in its order
   * @param budget of the view, in tokens
   */
  constructor(
    { units, messages }: Pick<History, 'units' | 'messages'>,
    rounds: readonly KeptRounds[],
    budget: number,
  ) {
    this.messages = messages;
    this.all = rounds.flatMap((kept) => {
      // An answer that has paused is a unit with the one that goes on after it.
      const unit =
        mostFitting(units.length, (count) => elementAt(units, count - 1).first <= kept.message) - 1;
      const { kind, last = -1 } = units[unit] ?? {};
      return kind === 'assistant' && kept.message <= last ? [{ ...kept, unit }] : [];
    });
    this.most = { rounds: MOST_ROUNDS, tokens: Math.floor(budget * MOST_SHARE), bytes: MOST_BYTES };
  }

  /**
   * Adds the rounds of the answers before a message.
   *
   * @param frontier the first unit whose rounds stay
   * @returns tokens of those that have come
   */
  arrive(messages: number, frontier: number): number {
    let tokens = 0;
    for (let next = this.all[this.came]; next && next.message < messages; next = this.all[this.came]) {
      this.came++;
      if (next.unit < frontier || exceeds(next, this.most)) continue;
      this.inView.push(next);
      tokens += next.tokens;
    }
    return tokens;
  }

  get state(): RoundsState {
    const came = this.all.slice(0, this.came);
    return { came: namesOf(came), inView: this.inView.map(({ message }) => message) };
  }

  /** Goes on from an earlier state, whose rounds have arrived (`isSameBefore`). */
  set state({ inView }: RoundsState) {
    const shown = new Set(inView);
    this.inView = this.all.slice(0, this.came).filter(({ message }) => shown.has(message));
  }

  /** Whether the rounds before a message are those that have come in a state. */
  isSameBefore(messages: number, { came }: RoundsState): boolean {
    return namesOf(this.all.filter(({ message }) => message < messages)) === came;
  }

  /** Ends a request point. @param frontier the first unit whose rounds stay */
  settle(frontier: number): void {
    this.inView = this.inView.filter(({ unit }) => unit >= frontier);
  }

  /**
   * The message before which thinking may be bound to rounds that no view shows, since they are
   * over a bound alone; 0 without any.
   */
  get unshownBefore(): number {
    const large = this.all.findLast((one) => exceeds(one, this.most));
    return large ? endOf(this.messages, large.message) : 0;
  }

  /** Those in the view of the last request point. */
  get shown(): readonly KeptRounds[] {
    return this.inView;
  }

  /** Tokens of the rounds in a view. @param before only the rounds of the units before this one */
  tokens(frontier: number, before = Number.POSITIVE_INFINITY): number {
    let tokens = 0;
    for (const { unit, tokens: more } of this.inView) if (unit >= frontier && unit < before) tokens += more;
    return tokens;
  }

  /**
   * Lets the oldest leave.
   *
   * @param frontier the first unit whose rounds stay
   * @param enough leave until this many tokens are free, or all have left; 0: if they exceed a
   *   bound
   * @returns the unit of the first one, and their tokens; undefined if none has left
   */
  shed(frontier: number, enough: number): Pick<Placed, 'unit' | 'tokens'> | undefined {
    let rest = this.inView.filter(({ unit }) => unit >= frontier);
    const [first] = rest;
    if (!first) return undefined;
    const all = sumOf(rest);
    if (enough === 0 && !exceeds(all, this.most)) return undefined;
    const goesOn = () =>
      enough > 0
        ? rest.length > 0 && sumOf(rest).tokens > all.tokens - enough
        : rest.length > 1 && exceeds(sumOf(rest), this.most, KEPT_SHARE);
    while (goesOn()) rest = rest.slice(1);
    const tokens = all.tokens - sumOf(rest).tokens;
    if (tokens === 0) return undefined;
    this.inView = rest;
    return { unit: first.unit, tokens };
  }
}

export function tokensOfRounds(some: readonly Pick<KeptRounds, 'tokens'>[]): number {
  return some.reduce((sum, { tokens }) => sum + tokens, 0);
}

function namesOf(some: readonly KeptRounds[]): string {
  return some.map(({ message, rounds, tokens, bytes }) => [message, rounds, tokens, bytes].join(' ')).join();
}

function sumOf(some: readonly Size[]): Size {
  const sum = (of: keyof Size) => some.reduce((total, one) => total + one[of], 0);
  return { rounds: sum('rounds'), tokens: sum('tokens'), bytes: sum('bytes') };
}

function exceeds({ rounds, tokens, bytes }: Size, most: Size, share = 1): boolean {
  return rounds > most.rounds * share || tokens > most.tokens * share || bytes > most.bytes * share;
}
