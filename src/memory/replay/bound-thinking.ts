/**
 * Thinking whose API binds it to everything before it (docs/design.md#bound-thinking). A move
 * changes what is before all thinking that was made until then, so that leaves with it. What was
 * made later was made after the changed prefix, and stays until the next move.
 */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import type { KeptReasoning } from '../conversation/kept-reasoning.ts';
import type { TokenSums } from '../tokens/sums.ts';
import type { TokenCounter } from '../tokens/tokens.ts';

/** The thinking of an array, by message. */
export interface ThinkingSums {
  /** The tokens that leave with it. */
  readonly tokens: PrefixSums;
  readonly blocks: PrefixSums;
}

/** The thinking of an array, and what is kept of it; undefined if there is none. */
export function thinkingIn(
  { messages }: History,
  counter: TokenCounter,
  kept: ReadonlyMap<number, KeptReasoning> = new Map(),
): ThinkingSums | undefined {
  const found = messages.map((message, index) => {
    if (message.role !== 'assistant') return undefined;
    // What is kept is sent instead of the message.
    const beside = kept.get(index);
    if (beside && beside.blocks > 0) return beside;
    const thinking = message.thinking();
    if (!thinking) return undefined;
    const { blocks, isAll, stays = false } = thinking;
    if (stays) return { tokens: 0, blocks };
    const tokens = isAll
      ? counter.message(message)
      : counter.weight(`thinking:${message.digest}`, () => thinking.weight);
    return { tokens, blocks };
  });
  if (found.every((thinking) => thinking === undefined)) return undefined;
  return {
    tokens: new PrefixSums(found.map((thinking) => thinking?.tokens ?? 0)),
    blocks: new PrefixSums(found.map((thinking) => thinking?.blocks ?? 0)),
  };
}

/** What a rule says about bound thinking. */
export interface ThinkingRule extends ThinkingSums {
  /**
   * Tokens of a view over which a move does not wait for the end of a turn. Absent: no move waits.
   */
  readonly late?: number | undefined;
  /**
   * What a lost token of it costs, in tokens of fresh input: the model writes it again. Absent
   * where a move is not weighed against it.
   */
  readonly price?: number | undefined;
  /** Tokens of a view. No move before a longer turn keeps that from being interrupted by one. */
  readonly budget: number;
}

/** The thinking in the view at successive request points. */
export class ThinkingInView {
  /** The messages before this one are without their thinking. */
  from = 0;
  private readonly history: History;
  private readonly rule: ThinkingRule;

  constructor(history: History, rule: ThinkingRule) {
    this.history = history;
    this.rule = rule;
  }

  /** Its tokens at a request point. */
  tokens({ messages }: Pick<RequestPoint, 'messages'>): number {
    return this.rule.tokens.between(this.from, messages);
  }

  /** Whether there is any at a request point. */
  isIn({ messages }: Pick<RequestPoint, 'messages'>): boolean {
    return this.rule.blocks.between(this.from, messages) > 0;
  }

  /**
   * How a move at a request point is weighed, in tokens.
   *
   * `loss`: what it loses, as fresh input. Nothing is weighed where no move may wait any longer. At
   * the end of a turn before which it would have to be made in the middle of the next one, what was
   * thought until then is lost in either case, and the thinking of that turn in the other. There
   * `ahead` counts as if it were in the view: as much as makes a move due.
   *
   * @param sums of the array without thinking
   */
  weigh(
    point: RequestPoint,
    view: number,
    sums: TokenSums,
  ): { readonly loss: number; readonly ahead: number } {
    const { price = 0, late = 0, tokens } = this.rule;
    if (this.isLastChance(point, view, sums))
      return { loss: -price * this.lastTurn(point, tokens), ahead: Math.max(0, Math.ceil(late) - view) };
    return { loss: view > late ? 0 : price * this.tokens(point), ahead: 0 };
  }

  /**
   * Whether a further turn like the last one would have to be interrupted by a move, unless there
   * is one now.
   */
  private isLastChance(point: RequestPoint, view: number, sums: TokenSums): boolean {
    const { price, late, tokens, budget } = this.rule;
    if (price === undefined || late === undefined || !this.isAtTurnsEnd(point)) return false;
    const turn = this.lastTurn(point, sums) + this.lastTurn(point, tokens);
    return view + turn > late && turn <= budget;
  }

  /** A sum over the last turn that has ended. */
  private lastTurn({ turns, messages }: RequestPoint, sums: PrefixSums): number {
    const { units } = this.history;
    return sums.between(units[this.history.turns[turns - 2] ?? 0]?.first ?? 0, messages);
  }

  /** All of it leaves at a request point. */
  leave({ messages }: Pick<RequestPoint, 'messages'>): void {
    this.from = messages;
  }

  /**
   * Whether a move is put off. In the middle of a turn thinking is worth the most, and at its end
   * the least.
   *
   * @param view its tokens, with the thinking
   */
  waits(point: RequestPoint, view: number): boolean {
    const { late } = this.rule;
    return late !== undefined && view <= late && this.isOpen(point);
  }

  /** Whether a request point is in the middle of a turn, with thinking in the view. */
  isOpen(point: RequestPoint): boolean {
    return !this.isAtTurnsEnd(point) && this.isIn(point);
  }

  /** Whether a request point is between two turns. */
  private isAtTurnsEnd({ units }: RequestPoint): boolean {
    return this.history.units[units - 1]?.kind === 'user';
  }
}
