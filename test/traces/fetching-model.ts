/** A stand-in for a model that fetches what it needs for its next answer and does not see. */
import { contentOf } from '../../src/memory/edits/removed-content.ts';
import { violations } from '../../tools/upstream/strict-chat.ts';
import { roundOf } from '../support/laws/kept-rounds.ts';
import type { RoundsOfTest, Viewed } from '../support/laws/view-of.ts';

/** In characters: about the 4000 tokens that a result has by default. */
const LONGEST_RESULT = 16_000;

/** Values as agents write them again: long, with a digit or a mark in them. */
const VALUES = /[\w./:@-]*[\d/_.:@-][\w./:@-]*/g;
const SHORTEST_VALUE = 8;

/**
 * The round of a model that answers a view: it fetches the first removed output that holds a value
 * of its answer which nothing in the view shows. Undefined if it misses nothing.
 *
 * @param answer the message that it has given
 */
export function fetchedFor({ request, view, bytes }: Viewed, answer: unknown): RoundsOfTest | undefined {
  if ((answer as { role?: unknown } | undefined)?.role !== 'assistant') return undefined;
  const sent = new TextDecoder().decode(bytes);
  const values = JSON.stringify(answer).match(VALUES) ?? [];
  const missed = values.filter((value) => value.length >= SHORTEST_VALUE && !sent.includes(value));
  for (const removal of [...view.removals.values()].flat()) {
    if (removal.kind !== 'output' || removal.ref === undefined) continue;
    const { text } = contentOf(removal, request.messages);
    if (!missed.some((value) => text.includes(value))) continue;
    return roundOf(request.messages.length, text.slice(0, LONGEST_RESULT), removal.ref);
  }
  return undefined;
}

/** What an upstream refuses in a view with rounds, and not in the caller's own array. */
export function invalidWith({ request, view, bytes }: Viewed): string[] {
  if (!view.rounds) return [];
  const options = { lenientFields: true };
  const decode = (body: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(body));
  return violations(decode(request.bytes), options).length > 0 ? [] : violations(decode(bytes), options);
}
