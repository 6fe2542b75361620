/**
 * Thinking whose API binds it to everything before it (docs/design.md#bound-thinking). A move
 * changes what stands before all thinking that was made until then, so that leaves with it. What
 * was made later was made behind the changed prefix, and stays until the next move.
 */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History, RequestPoint } from '../conversation/history.ts';
import type { TokenCounter } from '../tokens/tokens.ts';

/** The thinking of an array, by message. */
export interface ThinkingSums {
  /** The tokens that leave with it. */
  readonly tokens: PrefixSums;
  readonly blocks: PrefixSums;
}

/** The thinking of an array; undefined if it has none. */
export function thinkingIn({ messages }: History, counter: TokenCounter): ThinkingSums | undefined {
  const found = messages.map((message) => {
    if (message.role !== 'assistant') return undefined;
    const thinking = message.thinking();
    if (!thinking) return undefined;
    const { blocks, isAll } = thinking;
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
    if (late === undefined || view > late) return false;
    return this.history.units[point.units - 1]?.kind !== 'user' && this.isIn(point);
  }
}
