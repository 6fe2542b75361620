/**
 * Whether a jump pays. Every jump lets what stands behind the old frontier be sent anew, uncached,
 * so that each later request is smaller. Two rules keep that from costing more than it saves; both
 * are arithmetic on the array, so that a replay finds the same answer again.
 *
 * The *floor* (docs/design.md#3-what-the-caller-says): a jump must free M = √(2·(1 − a)·P·g / a)
 * tokens. P is what is sent anew, g the mean growth per request point, a the price of cached input
 * relative to fresh. It is the least of the sum of both costs per request: (1 − a)·P·g/M for the
 * jumps, a·M/2 for what is carried until the next one.
 *
 * The *regret*: five requests after a jump, a conversation may have cost at most 3 % more than one
 * that nothing was done to. The floor is right on the average; the regret holds for the single
 * conversation, whose end nobody knows. Asked at the jump itself, conversations of 50 000 tokens
 * could hardly ever make one; asked much later, too many would end while they are dearer.
 */

/** What a conversation may cost beyond one that nothing was done to, as a share. */
const REGRET = 0.03;

/** So many requests behind a jump, of mean growth. */
const REQUESTS_AHEAD = 5;

/**
 * A jump that is made goes on until it has freed so many times the floor: how far it goes adds
 * nothing to its price.
 */
const GENEROSITY = 4;

/** What a move has to do with: all in tokens. */
export interface Stakes {
  /** The array and the view before the move. */
  readonly array: number;
  readonly view: number;
  /** How much of the view stands before the first byte that changes. */
  readonly kept: number;
  /** What a summarizer takes for the move. */
  readonly spent: number;
}

/** The two rules, along one array. */
export class Floor {
  private readonly cached: number;
  /** Tokens of the array before its first message. */
  private readonly fixed: number;
  private points = 0;
  private billed = 0;
  private billedUnedited = 0;
  private lastView = 0;
  private lastArray = 0;

  /** @param cached the price of cached input relative to fresh, in (0, 1] */
  constructor(cached: number, fixed: number) {
    this.cached = cached;
    this.fixed = fixed;
  }

  /** The least that a move must free. */
  least(stakes: Stakes): number {
    return Math.max(1, this.freedFor(stakes, 1), this.freedWithoutRegret(stakes));
  }

  /** What a move that is made should free, if it can. */
  goal(stakes: Stakes): number {
    return Math.max(this.least(stakes), this.freedFor(stakes, GENEROSITY));
  }

  /**
   * A request was made.
   *
   * @param kept how much of the view stood before the first byte that changed; undefined when none
   *   did
   */
  settle(array: number, view: number, kept: number | undefined, spent: number): void {
    this.billed += spent + view - (1 - this.cached) * this.reused(kept ?? this.lastView);
    this.billedUnedited += array - (1 - this.cached) * this.lastArray;
    this.points++;
    this.lastView = view;
    this.lastArray = array;
  }

  /** The x with x = times·√(2·(1 − a)/a·(view − kept − x)·g): what is freed is not sent anew. */
  private freedFor({ array, view, kept }: Stakes, times: number): number {
    const growth = this.growth(array);
    const half = ((times ** 2 * (1 - this.cached)) / this.cached) * growth;
    return Math.sqrt(half ** 2 + 2 * half * Math.max(0, view - kept)) - half;
  }

  private freedWithoutRegret({ array, view, kept, spent }: Stakes): number {
    const later = (tokens: number): number => REQUESTS_AHEAD * (this.cached * tokens + this.growth(array));
    const unedited = this.billedUnedited + array - (1 - this.cached) * this.lastArray + later(array);
    const edited = this.billed + spent + view - (1 - this.cached) * this.reused(kept) + later(view);
    // What is freed is spared now in full, and later at the price of cached input.
    return (edited - (1 + REGRET) * unedited) / (1 + REQUESTS_AHEAD * this.cached);
  }

  /** Mean growth of the array per request point so far. */
  private growth(array: number): number {
    return (array - this.fixed) / (this.points + 1);
  }

  /** Only what the request before has sent is cached. */
  private reused(kept: number): number {
    return Math.min(kept, this.lastView);
  }
}
