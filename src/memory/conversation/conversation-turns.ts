/**
 * A view as turns of plain text, for callers who keep no `messages` array of their own
 * (docs/design.md#4-what-the-caller-gets, `format`).
 */

import type { View } from '../plan/view.ts';
import type { History } from './history.ts';
import type { Message } from './message.ts';
import { roundsOf } from './sequence.ts';

export interface PlainTurn {
  readonly user: string;
  /** Null while the turn is not answered. */
  readonly assistant: string | null;
}

export interface ConversationTurns {
  /** The newest turns, in full. */
  readonly recent_turns: readonly PlainTurn[];
  /** Turns before these that no summary covers yet. */
  readonly pending_turns: readonly PlainTurn[];
  /** The summary in its tags, as it stands in the view; null when there is none. */
  readonly summary: string | null;
}

/** @param recent how many turns are recent at the most */
export function conversationTurns(
  history: History,
  view: View | undefined,
  recent: number,
): ConversationTurns {
  const { echo, messages } = history;
  const turns = roundsOf(history).flatMap(({ answer }, index) => {
    const question = history.units[history.turns[index] ?? -1]?.first ?? -1;
    if (view?.dropped.has(question)) return [];
    return [
      {
        user: [
          // What is trimmed is nowhere else to be seen for a caller who keeps no array.
          ...(view?.trim?.message === question ? [view.trim.line] : []),
          textOf(messages[question], openingTaken(view, echo, question)),
        ].join('\n\n'),
        assistant: answer === undefined ? null : textOf(messages[answer]),
      },
    ];
  });
  const split = Math.max(0, turns.length - recent);
  return {
    recent_turns: turns.slice(split),
    pending_turns: turns.slice(0, split),
    summary:
      view?.summary?.block ??
      (echo ? (messages[echo.last]?.opening().slice(0, echo.length).trimEnd() ?? null) : null),
  };
}

/**
 * Characters of a question's opening that are not its own: a summary, or the line for what was
 * trimmed before.
 */
function openingTaken(view: View | undefined, echo: History['echo'], question: number): number {
  const summary = echo?.last === question ? echo.length : 0;
  return Math.max(summary, view?.trim?.message === question ? view.trim.opening : 0);
}

/** @param skipped characters of the opening that are a summary */
function textOf(message: Message | undefined, skipped = 0): string {
  const [opening = '', ...others] = message?.content().weight.texts ?? [];
  return [opening.slice(skipped), ...others].filter(Boolean).join('\n');
}
