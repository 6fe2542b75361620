/**
 * Rounds of ours in a view, before the answers that they led to (docs/design.md#kept-rounds). They
 * are an overlay: no message of the caller's array, so no hash, edit or summary knows of them.
 * Their tokens make the view larger than the array without them.
 *
 * Rounds come with their answer, leave when the frontier passes it, and never come back, but for
 * those that left for the room of one request's answer. All of that follows from the array, that
 * room and the list of rounds, so each isolate finds the same ones.
 * Those whose messages are lost count as before: the moves of earlier requests stay as they were.
 */
import type { History } from '../conversation/history.ts';

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
   * more (`gone`), and the conversation knows that from an earlier request (`told`). Absent: they
   * are there.
   */
  readonly lost?: 'unread' | 'gone' | 'told' | undefined;
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

const NO_SIZE: Size = { rounds: 0, tokens: 0, bytes: 0 };

interface Placed extends KeptRounds {
  /** The unit of the answer. */
  readonly unit: number;
}

/** Rounds that have left. */
interface Left {
  /** The unit of the first one. */
  readonly unit: number;
  readonly tokens: number;
}

/** Which rounds have come so far, and which of them are in the view, by their messages. */
export interface RoundsState {
  readonly came: readonly Pick<KeptRounds, 'message' | keyof Size>[];
  readonly inView: readonly number[];
}

/** The rounds in the views of successive request points of one array. */
export class RoundsInView {
  /** Those of answers in the array, and how many of them have come. */
  private readonly all: readonly Placed[];
  private came = 0;
  /** The most of them that a view shows. */
  readonly most: Size;
  /** Those of the array so far that have not left, oldest first. */
  private inView: Placed[] = [];

  /**
   * @param rounds of answers in the array, in its order
   * @param budget of the view, in tokens
   */
  constructor({ units }: Pick<History, 'units'>, rounds: readonly KeptRounds[], budget: number) {
    const byMessage = new Map(rounds.map((kept) => [kept.message, kept]));
    this.all = units.flatMap(({ kind, first, last }, unit) => {
      if (kind !== 'assistant' || byMessage.size === 0) return [];
      // An answer that has paused is a unit with the one that goes on after it.
      const inside = Array.from({ length: last - first + 1 }, (_, at) => byMessage.get(first + at));
      return inside.flatMap((kept) => (kept ? [{ ...kept, unit }] : []));
    });
    this.most = { rounds: MOST_ROUNDS, tokens: Math.floor(budget * MOST_SHARE), bytes: MOST_BYTES };
  }

  /**
   * Adds those of the answers before a message, and forgets those that the frontier has passed.
   *
   * @param frontier the first unit whose rounds stay
   * @returns tokens of those that have come
   */
  arrive(messages: number, frontier: number): number {
    this.inView = this.inView.filter(({ unit }) => unit >= frontier);
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
    return {
      came: came.map(({ message, rounds, tokens, bytes }) => ({ message, rounds, tokens, bytes })),
      inView: this.inView.map(({ message }) => message),
    };
  }

  /** Goes on from an earlier state, which has had the same rounds (`isSameBefore`). */
  set state({ came, inView }: RoundsState) {
    const shown = new Set(inView);
    this.came = came.length;
    this.inView = this.all.slice(0, came.length).filter(({ message }) => shown.has(message));
  }

  /** Whether the rounds before a message are those that have come in a state. */
  isSameBefore(messages: number, { came }: RoundsState): boolean {
    const own = this.all.filter(({ message }) => message < messages);
    return (
      own.length === came.length &&
      own.every(({ message, rounds, tokens, bytes }, at) => {
        const other = came[at];
        const isAt = other?.message === message && other.rounds === rounds;
        return isAt && other.tokens === tokens && other.bytes === bytes;
      })
    );
  }

  /** Those in a view. @param frontier see `arrive` */
  shown(frontier: number): readonly KeptRounds[] {
    return this.inView.filter(({ unit }) => unit >= frontier);
  }

  /** Tokens of those in a view. @param before only those of the units before this one */
  tokens(frontier: number, before = Number.POSITIVE_INFINITY): number {
    let tokens = 0;
    for (const { unit, tokens: more } of this.inView) if (unit >= frontier && unit < before) tokens += more;
    return tokens;
  }

  /** The first unit with rounds in a view; undefined if there is none. */
  first(frontier: number): number | undefined {
    return this.inView.find(({ unit }) => unit >= frontier)?.unit;
  }

  /** Lets the oldest leave if all of them exceed a bound. */
  overflow(frontier: number): Left | undefined {
    const stays = (share: number) => (rest: readonly Size[]) =>
      !exceeds(sumOf(rest), scaled(this.most, share));
    if (stays(1)(this.shown(frontier))) return undefined;
    const fits = stays(KEPT_SHARE);
    return this.leave(frontier, (rest) => rest.length > 1 && !fits(rest));
  }

  /** Lets the oldest leave until so many tokens are free, or all have left. */
  shed(frontier: number, enough: number): Left | undefined {
    const least = this.tokens(frontier) - enough;
    return this.leave(frontier, (rest) => rest.length > 0 && sumOf(rest).tokens > least);
  }

  private leave(frontier: number, goesOn: (rest: readonly Placed[]) => boolean): Left | undefined {
    let rest = this.inView.filter(({ unit }) => unit >= frontier);
    const [first] = rest;
    let tokens = 0;
    while (goesOn(rest)) {
      tokens += rest[0]?.tokens ?? 0;
      rest = rest.slice(1);
    }
    if (!first || tokens === 0) return undefined;
    this.inView = rest;
    return { unit: first.unit, tokens };
  }
}

function sumOf(some: readonly Size[]): Size {
  return some.reduce(
    (sum, one) => ({
      rounds: sum.rounds + one.rounds,
      tokens: sum.tokens + one.tokens,
      bytes: sum.bytes + one.bytes,
    }),
    NO_SIZE,
  );
}

function scaled({ rounds, tokens, bytes }: Size, share: number): Size {
  return { rounds: rounds * share, tokens: tokens * share, bytes: bytes * share };
}

function exceeds(size: Size, most: Size): boolean {
  return size.rounds > most.rounds || size.tokens > most.tokens || size.bytes > most.bytes;
}
