/**
 * When the questions of an array were first sent, as far as the archive or the events of its
 * conversation know it.
 *
 * An event knows a question that was the end of its array. It names that array by a hash, so a
 * question that was edited, or that another fork has asked in the same place, lends its time to no
 * other.
 */
import { elementAt } from '../lib/elements.ts';
import { within } from '../lib/time-limit.ts';
import { secondsOf } from '../lib/utc-time.ts';
import { logged } from '../log.ts';
import type { History } from '../memory/conversation/history.ts';
import { arrayName, prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { archivedTimes } from '../request/archive.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { hasEvent } from './run-event.ts';

/** In seconds since the epoch, by the question's index; the earlier one where both are known. */
type Times = (question: number) => number | undefined;

export async function questionTimes(call: Call, history: History): Promise<Times> {
  const all = await Promise.all([archivedTimes(call), askedTimes(call, history)]);
  return (question) => {
    const known = all.flatMap((times) => times(question) ?? []);
    return known.length > 0 ? Math.min(...known) : undefined;
  };
}

/** Unknown without events, and if the conversation's object does not answer in time. */
async function askedTimes(call: Call, { units, turns, requestPoints }: History): Promise<Times> {
  const conversation = hasEvent(call) ? conversationOfCall(call) : undefined;
  if (!conversation) return () => undefined;
  const hashes = prefixHashes(call.request.messages, sha256Hex);
  // The first request after a question had it at its end.
  const first = requestPoints.filter((point, at) => point.turns > (requestPoints[at - 1]?.turns ?? 0));
  const asked = first.map(({ messages, turns: begun }) => ({
    question: elementAt(units, elementAt(turns, begun - 1)).first,
    array: arrayName(elementAt(hashes, messages)),
  }));
  const { runOutboxes, log } = call.scope.services;
  await runOutboxes.settled(conversation.name);
  const asking = conversation.memory((stub) => stub.events.askedAt(asked.map(({ array }) => array)));
  const failed = logged(log, 'warn', 'the times of questions could not be read', []);
  const found = await within(TIME_LIMITS.archivedArrayMs, asking).catch(failed);
  const times = new Map(asked.map(({ question }, at) => [question, found[at] ?? undefined]));
  return (question) => {
    const at = times.get(question);
    return at === undefined ? undefined : secondsOf(at);
  };
}
