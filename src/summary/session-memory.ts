/**
 * The memory of a whole session, for the user's other conversations. It covers all messages, and no
 * view shows it. The conversation's object makes and publishes it in the background.
 *
 * It is made after each answered round, or when the caller ends its conversation
 * (`view/session-memory.ts`), and builds on the one before. It has a strategy hash of its own.
 */

import { within } from '../lib/time-limit.ts';
import type { Boundaries } from '../memory/conversation/boundaries.ts';
import type { History } from '../memory/conversation/history.ts';
import type { Boundary } from '../memory/conversation/passage.ts';
import { countedEcho } from '../memory/edits/summarize.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import { type Answer, roundsOver } from '../memory/plan/due-memory.ts';
import type { TokenUsage } from '../memory/plan/report.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory, TextAnswer } from '../storage/conversation/memories.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { publish, type StoredConversation, type SummaryPorts } from './conversation.ts';
import { Material, ROOM_OF_THE_FIRST, type SummaryRange, tokensBetween } from './material.ts';
import { askText, termsOfAll } from './order.ts';
import { quickRetries } from './prefix.ts';
import { hintsOf, strategyHash } from './strategy-hash.ts';
import { NO_USAGE } from './summarizer.ts';
import { echoOf } from './text/entries.ts';

export interface SessionNeed {
  /** See `wholeSummary`. */
  readonly strategy: SummarizeStrategy;
  readonly history: History;
  readonly boundaries: Boundaries;
  /** The answer to the last message, if the array does not have it yet. */
  readonly answer?: Answer;
}

/** The result of waiting for a session's memory. */
interface SessionMemory {
  /** Absent if it could not be made, or is not ready yet. */
  readonly memory?: Memory;
  readonly status: 'completed' | 'degraded' | 'pending';
  /** The summarizer's usage. */
  readonly usage: TokenUsage;
}

/**
 * Has the object make the memory of a session in the background, unless it exists or is being made.
 *
 * @throws if the object does not answer
 */
export async function rememberSession(need: SessionNeed, ports: SummaryPorts): Promise<void> {
  const { conversation } = ports;
  if (conversation) await askSession(need, ports, conversation, 0);
}

/**
 * The memory of a session, made now if there is none, and published.
 *
 * @param limitMs how long to wait for the summarizer. The object goes on afterwards
 * @throws if an object does not answer
 */
export async function finalMemory(
  need: SessionNeed,
  ports: SummaryPorts,
  conversation: StoredConversation,
  limitMs: number,
): Promise<SessionMemory> {
  const answer = await askSession(need, ports, conversation, limitMs);
  const usage = ('usage' in answer ? answer.usage : null) ?? NO_USAGE;
  if (answer.state !== 'ready') return { status: answer.state === 'resting' ? 'degraded' : 'pending', usage };
  const { memory } = answer;
  const publishTo = await ports.publication();
  if (publishTo)
    await within(TIME_LIMITS.publishMs, publish(ports.openUser, publishTo, memory.memory_text ?? ''));
  return { memory, status: 'completed', usage };
}

/** @param waitMs how long to wait for one in the making */
function askSession(
  need: SessionNeed,
  ports: SummaryPorts,
  conversation: StoredConversation,
  waitMs: number,
): Promise<TextAnswer> {
  const { strategy, history, boundaries, answer } = need;
  const over = roundsOver(history, boundaries, answer, sha256Hex);
  const last = over.at(-1);
  const here = boundaries.at(history.messages.length);
  const boundary = last && last.end > here.end ? last : here;
  // A view's summary has another size, so neither may be taken for the other.
  const hash = sha256Hex(`session ${strategyHash(strategy, ports.target.model)}`);
  // The boundaries at which earlier memories of the session have ended.
  const bases = over.filter(({ end }) => end < boundary.end);
  const terms = termsOfAll(hash, boundary, bases);
  return askText(terms, conversation, ports, Date.now() + waitMs, async () => {
    const { counter } = await ports.counting();
    return { material: new Material(rangeOf(need, boundary, counter), ports, counter, false) };
  });
}

function rangeOf(
  { strategy, history, boundaries, answer }: SessionNeed,
  boundary: Boundary,
  counter: TokenCounter,
): SummaryRange {
  const { length } = history.messages;
  const closing = boundary.end > length ? answer : undefined;
  const prior = echoOf(history);
  // The most tokens: half of the messages, and all of a summary that came back among them.
  const known = countedEcho(history, counter)?.tokens ?? 0;
  const all = tokensBetween(history, 0, length, counter);
  const half = known + Math.floor((all - known + counter.text(closing?.text ?? '')) / 2);
  return {
    history,
    boundaries,
    boundary,
    pieceEnds: () => [...boundaries.upTo(length), ...(closing ? [boundary] : [])],
    closing: closing && { index: length, role: 'assistant', text: closing.text, calls: [] },
    ...(prior ? { prior } : {}),
    limit: Math.min(strategy.summary_max_tokens, Math.max(half, ROOM_OF_THE_FIRST)),
    hints: hintsOf(strategy),
    includeTrajectory: true,
    retries: quickRetries(),
  };
}
