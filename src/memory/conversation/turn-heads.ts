/**
 * Turns that begin with thinking. With a budget of thinking (`thinking: {type: "enabled"}`), the
 * API refuses a turn in progress whose first answer has none, while its later answers may lack it
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks).
 *
 * So where the frontier is within a turn, the answer whose thinking leads the next steps stays,
 * with its results, and whatever is between may leave. It leaves once the frontier has passed the
 * last of these steps. A bond says so (`bonds.ts`). It holds for turns that have ended too, so that
 * the end of a turn changes no earlier view.
 */
import type { Bond, History } from './history.ts';

/** The history of a request whose turns must begin with thinking. */
export function withTurnHeads(history: History): History {
  const heads = headsOf(history);
  if (heads.length === 0) return history;
  const bonds = [...history.bonds, ...heads].sort((one, other) => one.caller - other.caller);
  return { ...history, bonds };
}

function headsOf({ messages, units }: History): Bond[] {
  const bonds: Bond[] = [];
  let head: number | undefined;
  let last = 0;
  const close = (): void => {
    const step = units[last];
    if (head === undefined || last === head || !step) return;
    bonds.push({
      caller: head,
      results: [{ unit: last, message: step.first, further: false }],
      open: false,
      leads: true,
    });
  };
  for (const [index, { kind, first, step }] of units.entries()) {
    const begins = kind === 'assistant' && messages[first]?.thinking() !== undefined;
    // Words behind results begin no turn of the API's.
    const asks = kind === 'summary' || (kind === 'user' && messages[first - 1]?.role !== 'tool');
    if (begins || asks) {
      close();
      head = begins ? index : undefined;
    }
    if (begins || step) last = index;
  }
  close();
  return bonds;
}
