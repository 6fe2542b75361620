/**
 * Whether a jump pays off. After a jump, everything after the old frontier is sent again uncached,
 * but each later request is smaller. Two rules keep a jump from costing more than it saves. Both
 * only use the array, so that a replay gives the same answer again.
 *
 * The *floor* (docs/design.md#floor): a jump must free M = √(2·(w − a)·P·g / a) tokens. P is the
 * number of tokens sent again, g the mean growth per request point; a and w are the prices of
 * cached and of written input relative to fresh. M minimizes the sum of both costs per request:
 * (w − a)·P·g/M for the jumps, and a·M/2 for the tokens carried until the next one.
 *
 * The *regret*: 5/w requests after a jump, the conversation may have cost at most (3/w) % more than
 * without any edit. The floor is right on average; the regret protects a single conversation, whose
 * end is unknown. Measured right at the jump, conversations of 50,000 tokens could hardly ever make
 * one; measured much later, too many would end before the jump has paid off. Where writes cost
 * more, a conversation that ends too soon loses more, so both limits shrink.
 */

import type { InputPrices } from '../models/schedules.ts';

/** Extra cost that a conversation may have over one without edits, as a share, times w. */
const REGRET = 0.03;

/** When the regret is measured: this many requests of mean growth after a jump, times w. */
const REQUESTS_AHEAD = 5;

/**
 * A jump continues until it has freed this multiple of the floor, since going further does not
 * raise its cost.
 */
const GENEROSITY = 4;

/** The state before a move, in tokens. */
export interface Stakes {
  /** The array and the view before the move. */
  readonly array: number;
  readonly view: number;
  /** The part of the view before the first byte that changes. */
  readonly kept: number;
  /** What the move's summarizer costs. */
  readonly spent: number;
  /** What the move loses besides. Negative where a later move would lose more. */
  readonly loss?: number;
  /** See `Due`. */
  readonly isCold?: boolean;
}

/** What both rules know of the request points so far. */
export interface FloorState {
  readonly points: number;
  readonly billed: number;
  readonly billedUnedited: number;
  readonly lastView: number;
  readonly lastArray: number;
}

/** Applies both rules along one array. */
export class Floor {
  private readonly prices: InputPrices;
  /** Tokens of the array before its first message. */
  private readonly fixed: number;
  /** Assign an earlier one to go on from there. */
  state: FloorState = { points: 0, billed: 0, billedUnedited: 0, lastView: 0, lastArray: 0 };

  constructor(prices: InputPrices, fixed: number) {
    this.prices = prices;
    this.fixed = fixed;
  }

  /** The requests of the conversation, with this one. */
  get requests(): number {
    return this.state.points + 1;
  }

  /** The least that a move must free. */
  least(stakes: Stakes): number {
    const { loss = 0 } = stakes;
    // What is read anew is read anew in either case, where a later move would lose more.
    return Math.max(1, loss < 0 ? 0 : this.freedFor(stakes, 1), this.withoutRegret(stakes));
  }

  /** Whether a move frees too little for the floor, whatever the regret. */
  isBelow(stakes: Stakes, freed: number): boolean {
    return freed < this.freedFor(stakes, 1);
  }

  /**
   * What a move saves within the requests by which the regret is measured, in tokens of fresh
   * input. Negative if it costs more until then.
   */
  gain({ array, view, kept, spent }: Stakes, freed: number): number {
    const unmoved = this.cost(view, this.state.lastView) + this.later(view, array);
    const rest = view - freed;
    return unmoved - spent - this.cost(rest, this.reused(kept)) - this.later(rest, array);
  }

  /** What a move should free, if it can. */
  goal(stakes: Stakes): number {
    return Math.max(this.least(stakes), this.freedFor(stakes, GENEROSITY));
  }

  /**
   * Accounts for a request.
   *
   * @param kept the part of the view before the first byte that changed; undefined if nothing
   *   changed
   * @param isCold see `Due`
   */
  settle(array: number, view: number, kept: number | undefined, spent: number, isCold = false): void {
    const { points, billed, billedUnedited, lastView, lastArray } = this.state;
    this.state = {
      points: points + 1,
      billed: billed + (spent + this.cost(view, isCold ? 0 : this.reused(kept ?? lastView))),
      billedUnedited: billedUnedited + this.cost(array, isCold ? 0 : lastArray),
      lastView: view,
      lastArray: array,
    };
  }

  /**
   * Solves x = times·√(2·((w − a)·(view − kept − x) + loss)/a·g) for x: freed tokens are not sent
   * again.
   */
  private freedFor({ array, view, kept, loss = 0, isCold = false }: Stakes, times: number): number {
    const { cached, written } = this.prices;
    const dearer = written - cached;
    const half = ((times ** 2 * dearer) / cached) * this.growth(array);
    const lost = loss === 0 ? 0 : loss / dearer;
    // What is read anew in any case is no cost of the move.
    const anew = isCold ? 0 : view - kept;
    return Math.sqrt(half ** 2 + 2 * half * Math.max(0, anew + lost)) - half;
  }

  /**
   * The least that a move must free if it may free everything but a tail, which is sent again:
   * x = √(2·tail·(w − a)/a·g).
   */
  leastBefore(tail: number, array: number): number {
    const { cached, written } = this.prices;
    return Math.sqrt(2 * tail * ((written - cached) / cached) * this.growth(array));
  }

  /** The least that a move must free so that the regret stays within its limit. */
  withoutRegret({ array, view, kept, spent, loss = 0, isCold = false }: Stakes): number {
    const { cached, written } = this.prices;
    const { billed, billedUnedited, lastArray } = this.state;
    const unedited = billedUnedited + this.cost(array, isCold ? 0 : lastArray) + this.later(array, array);
    const reread = this.cost(view, isCold ? 0 : this.reused(kept));
    const edited = billed + spent + loss + reread + this.later(view, array);
    // A freed token saves the price of writing it now, and the price of reading it later.
    const saved =
      this.factor(view) * written +
      this.factor(view + this.growth(array)) * (REQUESTS_AHEAD / written) * cached;
    return (edited - (1 + REGRET / written) * unedited) / saved;
  }

  /** The price of the requests by which the regret is measured, for a prompt of these tokens. */
  private later(tokens: number, array: number): number {
    return (REQUESTS_AHEAD / this.prices.written) * this.cost(tokens + this.growth(array), tokens);
  }

  /** The price of a prompt, in tokens of fresh input. @param reused cached tokens */
  private cost(tokens: number, reused: number): number {
    const { cached, written } = this.prices;
    return this.factor(tokens) * (written * tokens - (written - cached) * reused);
  }

  private factor(tokens: number): number {
    const { step } = this.prices;
    return step && tokens > step.above ? step.input : 1;
  }

  /** Mean growth of the array per request point so far. */
  private growth(array: number): number {
    return (array - this.fixed) / this.requests;
  }

  /** Only what the previous request sent is cached. */
  private reused(kept: number): number {
    return Math.min(kept, this.state.lastView);
  }
}
