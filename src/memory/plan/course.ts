/**
 * The course of a conversation under a strategy: the tokens of each of its requests, and what all
 * of them cost (docs/refs-and-retrieval.md#the-whole-conversation). Pure, and from one explanation:
 * between two moves a view grows by what has come.
 */
import { PrefixSums } from '../../lib/prefix-sums.ts';
import type { History } from '../conversation/history.ts';
import type { Schedule } from '../models/schedule.ts';
import { amountOf } from '../money/amounts.ts';
import { hitsOf } from '../money/cache-hits.ts';
import type { Course, CourseRequest, Explanation } from './explanation-schema.ts';

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
