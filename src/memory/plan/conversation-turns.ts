/**
 * A view as turns of plain text, for callers that keep no `messages` array
 * (docs/refs-and-retrieval.md#post-v1compact, `format`).
 */

import { firstLine, shortened } from '../../lib/characters.ts';
import type { History, Output } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { type Round, roundsOf } from '../conversation/sequence.ts';
import { firstRequest } from '../edits/first-request.ts';
import type { Artifact, ConversationTurns, TurnDigest } from './turns-schema.ts';
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

/** In characters. */
const LONGEST_SUMMARY = 600;
const LONGEST_LINE = 120;

/**
 * The steps of a turn, listed by code: its tools, their results, and the model's thoughts. Linear
 * in the length of the turn.
 */
function digestOf({ messages, units }: History, round: Round): TurnDigest {
  const isIn = (index: number): boolean => index >= round.first && index < round.end;
  const steps = units.filter(({ step, first }) => step && isIn(first));
  const calls = steps.flatMap(({ first }) => messages[first]?.calls ?? []);
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  const outputs = units.filter(({ first }) => isIn(first)).flatMap((unit) => unit.outputs);
  return {
    tools: [...counts].map(([name, count]) => ({ name, calls: count })),
    observations_summary: joined(outputs.map((output) => observation(messages, output))),
    reasoning_summary: joined(steps.flatMap(({ first }) => thoughts(messages[first]))),
  };
}

function observation(messages: readonly Message[], { message, call }: Output): string {
  const line = firstLine(messages[message]?.content().text ?? '', LONGEST_LINE);
  return call ? `${call.name}: ${line}` : line;
}

/** Texts of a message, without names and arguments of its calls. */
function thoughts(message: Message | undefined): string[] {
  if (!message) return [];
  const ofCalls = new Set(message.calls.flatMap(({ id, name, input }) => [id, name, input]));
  const texts = [...message.otherTexts(), ...message.content().weight.texts];
  return texts.filter((text) => !ofCalls.has(text)).map((text) => firstLine(text, LONGEST_LINE));
}

function joined(texts: readonly string[]): string | null {
  const some = texts.filter((text) => text !== '');
  return some.length === 0 ? null : shortened(some.join('\n'), LONGEST_SUMMARY);
}
