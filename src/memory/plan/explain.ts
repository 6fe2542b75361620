/**
 * Explains a plan: what becomes of each message and why, how the frontier has moved, and what the
 * next move would remove.
 */

import { PrefixSums } from '../../lib/prefix-sums.ts';
import { heldMessages } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import { fateOf } from '../edits/fates.ts';
import { freedBy, type Removal } from '../edits/removal.ts';
import { hitsOf, type Schedule } from '../models/schedule.ts';
import { amountOf } from '../money/amounts.ts';
import type { Move } from '../replay/frontier.ts';
import { frontierUnit } from '../replay/rule.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import type {
  Course,
  CourseRequest,
  ExplainedEdit,
  ExplainedMessage,
  ExplainedMove,
  Explanation,
  KeptBecause,
  ShownEdit,
} from './explanation-schema.ts';
import type { Plan } from './plan.ts';
import type { View } from './view.ts';

/** @param view as rendered from the plan */
export function explain(plan: Plan, view: View, counter: TokenCounter): Explanation {
  const { history, replay } = plan;
  const next = nextOf(plan);
  return {
    messages: explainMessages(plan, view, counter),
    ...(view.summary ? { summary: { covers: view.summary.covers, tokens: view.summary.tokens } } : {}),
    moves: replay.moves.map((move) => moveOf(move, history)),
    ...(next ? { next } : {}),
  };
}

/** Of a request that no plan edits. */
export function explainUnedited(messages: readonly Message[], counter: TokenCounter): Explanation {
  const kept = messages.map((message, index): ExplainedMessage => {
    const { role } = message;
    const tokens = counter.message(message);
    const because = role === 'preamble' ? 'preamble' : 'unedited';
    return { index, role, before: tokens, after: tokens, fate: 'kept', because };
  });
  return { messages: kept, moves: [] };
}

function explainMessages(plan: Plan, view: View, counter: TokenCounter): readonly ExplainedMessage[] {
  const { history, replay } = plan;
  const { messages, units } = history;
  const frontier = frontierUnit(replay.cuts);
  const tail = units[frontier]?.first ?? messages.length;
  const fresh = 1 + messages.findLastIndex(({ role }) => role === 'assistant');
  const held = heldMessages(history, frontier);
  const first = view.recap?.after;
  const prefix = plan.trimmed?.prefix ?? plan.prefix;
  const running = prefix?.running;
  const request = view.trim?.request?.message ?? view.summary?.request?.message ?? prefix?.request;
  // User messages between the two cuts stay with the steps after the frontier.
  const { turn, step } = replay.cuts;
  const asked = new Set(
    units.slice(turn, step).flatMap((unit) => (unit.kind === 'user' ? [unit.first] : [])),
  );
  const because = (index: number, role: Message['role']): KeptBecause => {
    if (role === 'preamble') return 'preamble';
    if (index === first) return 'first_request';
    if (index === request || index === running || asked.has(index)) return 'request';
    if (index >= fresh && role === 'tool') return 'fresh';
    if (index >= tail) return 'tail';
    return held.has(index) ? 'held' : 'unedited';
  };
  return messages.map((message, index): ExplainedMessage => {
    const { role } = message;
    const before = counter.message(message);
    if (view.dropped.has(index)) {
      const isCovered = index <= (view.summary?.covers[1] ?? -1);
      return { index, role, before, after: 0, fate: isCovered ? 'summarized' : 'trimmed' };
    }
    const removals = view.removals.get(index) ?? [];
    const shown = view.rounds?.get(index);
    const more = shown ? { kept_rounds: { rounds: shown.rounds, tokens: shown.tokens } } : {};
    if (removals.length === 0)
      return { index, role, before, after: before, fate: 'kept', because: because(index, role), ...more };
    const fate = fateOf(removals);
    const edits = removals.map(shownEditOf);
    return { index, role, before, after: before - freedBy(removals), fate, edits, ...more };
  });
}

function shownEditOf(removal: Removal): ShownEdit {
  const { message: _, ...edit } = editOf(removal);
  return removal.kind === 'reasoning' ? edit : { ...edit, text: removal.replacement };
}

function editOf({ message, kind, reason, tool, callId, ref, tokens, freed }: Removal): ExplainedEdit {
  return {
    message,
    kind,
    reason,
    tool_name: tool,
    tool_call_id: callId,
    ...(ref === undefined ? {} : { ref }),
    tokens,
    freed,
  };
}

function moveOf({ cuts, settled: _, ...move }: Move, { messages, units }: History): ExplainedMove {
  return { ...move, frontier: units[frontierUnit(cuts)]?.first ?? messages.length };
}

function nextOf({ ahead, history }: Plan): Explanation['next'] {
  const needs = ahead?.();
  if (!needs || (needs.upcoming.length === 0 && !needs.next)) return undefined;
  const first = history.messages.findIndex(({ role }) => role !== 'preamble');
  return {
    edits: needs.upcoming.map(editOf),
    ...(needs.next ? { summarizes: [first, needs.next.end - 1] } : {}),
  };
}

/** A conversation that is explained as a whole. */
interface Explained extends Pick<Explanation, 'messages' | 'moves'> {
  readonly history: Pick<History, 'messages' | 'requestPoints'>;
  /** Of the last request, with all tools that are sent. Undefined if nothing was planned. */
  readonly tokens: { readonly before: number; readonly after: number } | undefined;
  /** Tokens of the caller's tools, and of the answer's overhead. */
  readonly tools: number;
  /** Null if the price of the model is not known. */
  readonly schedule: Schedule | null;
}

/**
 * The course of a conversation under a strategy: the tokens of each of its requests, and what all
 * of them cost (docs/refs-and-retrieval.md#the-whole-conversation). Pure, and from one explanation:
 * between two moves a view grows by what has come.
 */
export function courseOf(explained: Explained): Course {
  const { schedule } = explained;
  const counted = countedOf(explained);
  if (!schedule) return counted.map((request) => ({ ...request, price_before: null, price_after: null }));
  return pricedOf(explained, counted, schedule);
}

type Counted = Omit<CourseRequest, 'price_before' | 'price_after'>;

/** Tokens beside the messages of each view, which may have Precis's tools. */
function besideView({ messages, tokens, tools }: Explained): number {
  return tokens ? tokens.before - sumOf(messages, 'before') : tools;
}

function sumOf(messages: Explained['messages'], of: 'before' | 'after'): number {
  return messages.reduce((sum, message) => sum + message[of], 0);
}

/**
 * The requests with their tokens. What was shortened before the model saw it counts in full until
 * the next move, and in its view's size after it.
 */
function countedOf(explained: Explained): Counted[] {
  const { messages, moves, history, tokens, tools } = explained;
  const beside = besideView(explained);
  const came = new PrefixSums(messages.map(({ before }) => before));
  const newest = moves.at(-1);
  // After the last move the view has messages as the explanation says.
  const stays = new PrefixSums(messages.map(({ after }) => after));
  const from = newest?.messages ?? 0;
  const grown = (to: number): number => (newest?.after ?? beside) + stays.between(from, to);
  // The rendered view has the words of the summary, which a move only estimates.
  const words = tokens ? tokens.after - grown(messages.length) : 0;
  let next = 0;
  return history.requestPoints.map(({ messages: point }) => {
    const moved = moves[next]?.messages === point;
    if (moved) next++;
    const move = moves[next - 1];
    const since = move ? move.after - came.before(move.messages) : beside;
    const after = move === newest ? grown(point) + words : since + came.before(point);
    return { messages: point, before: tools + came.before(point), after: Math.max(0, after), moved };
  });
}

/**
 * The prices of both sides. A request reads from the cache what the one before it had, by the
 * vendor's rule, as if it came within the cache's life; after a move only what no move can change.
 */
function pricedOf(explained: Explained, counted: readonly Counted[], schedule: Schedule): CourseRequest[] {
  const { messages, history } = explained;
  const end = history.messages.findIndex(({ role }) => role !== 'preamble');
  const preamble = messages.slice(0, end < 0 ? messages.length : end);
  const fixed = besideView(explained) + sumOf(preamble, 'after');
  return counted.map((request, index) => {
    const earlier = counted[index - 1];
    const output = messages[request.messages]?.before ?? 0;
    const prefix = earlier ? (request.moved ? fixed : earlier.after) : 0;
    return {
      ...request,
      price_before: callOf(request.before, earlier?.before ?? 0, output, schedule),
      price_after: callOf(request.after, prefix, output, schedule),
    };
  });
}

/** @param prefix tokens that an earlier request had as well */
function callOf(input: number, prefix: number, output: number, schedule: Schedule): number {
  const cached = hitsOf(schedule.hits, Math.min(input, prefix));
  const rest = input - cached;
  const written = schedule.written === schedule.fresh ? 0 : rest;
  return amountOf({ fresh: rest - written, cached, written, output }, schedule);
}
