/**
 * A view as turns of plain text, for callers that keep no `messages` array
 * (docs/design.md#4-what-the-caller-gets, `format`).
 */

import type { History } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { type Round, roundsOf } from '../conversation/sequence.ts';
import { firstRequest } from '../edits/first-request.ts';
import { digestOf } from './turn-digest.ts';
import type { Artifact, ConversationTurns } from './turns-schema.ts';
import type { View } from './view.ts';

/**
 * @param recent the maximum of recent turns, which an open question is none of yet
 * @param sentAt when a question was first sent, in seconds since the epoch
 */
export function conversationTurns(
  history: History,
  view: View | undefined,
  recent: number,
  sentAt: (question: number) => number | undefined = () => undefined,
): ConversationTurns {
  const { echo, messages } = history;
  const first = echo?.request ?? requestWithoutTurn(history, view);
  const questions = history.turns.map((unit) => history.units[unit]?.first ?? -1);
  const isShown = (question: number): boolean => question !== first && !view?.dropped.has(question);
  // Callers without an array can see the trimmed messages nowhere else.
  const lined = view?.trim?.request?.message ?? (view?.trim ? questions.find(isShown) : undefined);
  const turns = roundsOf(history).flatMap((round, index) => {
    const { answer } = round;
    const question = questions[index] ?? -1;
    if (!isShown(question)) return [];
    const ts = sentAt(question);
    return [
      {
        user: [
          ...(view?.trim && lined === question ? [view.trim.line] : []),
          plainText(messages[question], openingTaken(view, echo, question)),
        ].join('\n\n'),
        assistant: answer === undefined ? null : plainText(messages[answer]),
        ...(ts === undefined ? {} : { ts }),
        artifacts: artifactsIn(view, round),
        digest: digestOf(history, round),
      },
    ];
  });
  const answered = turns.at(-1)?.assistant === null ? turns.length - 1 : turns.length;
  const split = Math.max(0, answered - recent);
  return {
    first_user: first === undefined || view?.dropped.has(first) ? null : plainText(messages[first]),
    recent_turns: turns.slice(split),
    pending_turns: turns.slice(0, split),
    summary:
      view?.summary?.block ??
      (echo ? (messages[echo.message]?.opening().slice(0, echo.length).trimEnd() ?? null) : null),
  };
}

/** The first request, if it stays without the rest of its turn, or without an answer to it. */
function requestWithoutTurn(history: History, view: View | undefined): number | undefined {
  const { turns, units } = history;
  const request = firstRequest(history);
  if (!view || request === undefined || view.dropped.has(request)) return undefined;
  const turn = turns.findIndex((unit) => units[unit]?.first === request);
  const last = units[(turns[turn + 1] ?? units.length) - 1]?.last ?? request;
  const isOver = last === request ? view.recap !== undefined : view.dropped.has(last);
  return isOver ? request : undefined;
}

function artifactsIn(view: View | undefined, { first, end }: Round): Artifact[] {
  const removals = [...(view?.removals ?? [])].filter(([message]) => message >= first && message < end);
  return removals
    .sort(([one], [other]) => one - other)
    .flatMap(([, all]) => all)
    .flatMap(({ ref, tool, callId, tokens }) =>
      ref === undefined ? [] : [{ ref, tool_name: tool, tool_call_id: callId, tokens }],
    );
}

/**
 * Characters of a question's opening that were added: a summary, or the line for trimmed messages.
 */
function openingTaken(view: View | undefined, echo: History['echo'], question: number): number {
  const summary = echo?.message === question ? echo.length : 0;
  const { message, opening = 0 } = view?.trim?.request ?? {};
  return Math.max(summary, message === question ? opening : 0);
}

/** @param skipped characters of the opening to leave out */
function plainText(message: Message | undefined, skipped = 0): string {
  const [opening = '', ...others] = message?.content().weight.texts ?? [];
  return [opening.slice(skipped), ...others].filter(Boolean).join('\n');
}
