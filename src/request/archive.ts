/** A request's messages, and its answer, as its conversation's archive has them. */
import { elementAt } from '../lib/elements.ts';
import { soon, within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { type ArchiveKey, archiveKeys, type Hashed } from '../memory/conversation/prefix-hash.ts';
import { asksForArchive } from '../memory/modes/strategy.ts';
import { answerIdentity } from '../protocol/message-names.ts';
import type { WireMessage } from '../protocol/model-request.ts';
import type { Searched } from '../retrieval/search-memory.ts';
import { Archive, type ArchiveEntry } from '../storage/archive/archive.ts';
import { searchable } from '../storage/archive/text.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { Call } from './call.ts';
import { groupOf, storedConversation } from './conversation.ts';

/** Whether a call is for an archive. */
export function isArchived({
  request,
  owner: asked,
  archivedFor: owner = asked,
  chosen,
  scope,
}: Call): boolean {
  const { strategy, archives } = chosen;
  const isWanted = asksForArchive(strategy) || (archives && owner.conversation !== undefined);
  if (!isWanted || owner.off.length > 0 || !scope.caller.tenant) return false;
  return !request.tooManyMessages && request.upstreamState === undefined;
}

/**
 * A request's messages as archive entries, and the archive that they belong to: `isNamed` if the
 * caller names the conversation. An archive named by a hash holds all conversations that begin with
 * the same messages.
 *
 * Undefined without a tenant, and while the conversation has no name yet (see `groupOf`).
 *
 * @param answer text of an answer that the array does not hold yet
 */
export function archiveOf(
  { request, owner: asked, archivedFor: owner = asked, scope }: Call,
  answer?: string,
) {
  const { services, caller } = scope;
  const messages = [...request.messages.map(asSent), ...answerMessage(answer)];
  const keys = archiveKeys(messages, sha256Hex);
  const session = groupOf(messages, owner, scope);
  if (!caller.tenant || !session) return undefined;
  const conversation = storedConversation(owner.user, session, caller.tenant, services);
  return {
    archive: new Archive(conversation, services.bucket, services.log),
    entries: entriesOf(messages, keys),
    isNamed: 'id' in session,
  };
}

/**
 * When the request's messages were archived, in seconds since the epoch, by their index. Unknown
 * for those that were not, if nothing is archived, and if the archive does not answer in time.
 */
export async function archivedTimes(call: Call): Promise<(message: number) => number | undefined> {
  const unknown = () => undefined;
  if (!isArchived(call)) return unknown;
  const archived = archiveOf(call);
  if (!archived) return unknown;
  try {
    const times = await within(
      TIME_LIMITS.archivedArrayMs,
      archived.archive.times(archived.entries.map(({ key }) => key)),
    );
    return (message) => times[message] ?? undefined;
  } catch (error) {
    logCaught(call.scope.services.log, 'warn', 'the times of messages could not be read', error);
    return unknown;
  }
}

/**
 * The archive of a request's conversation, for a search. The request's own messages are added
 * first; if that fails or takes too long, the search runs without them. Where nothing names the
 * conversation, only messages of this request are found. Undefined without an archive (see
 * `archiveOf`).
 */
export async function archiveWithArray(call: Call): Promise<Searched | undefined> {
  const archived = archiveOf(call);
  if (!archived) return undefined;
  const { archive, entries, isNamed } = archived;
  const { services, timings } = call.scope;
  await soon(TIME_LIMITS.archivedArrayMs, archive.add(entries, timings.startedAt)).catch((error: unknown) => {
    logCaught(services.log, 'warn', 'messages could not be archived', error);
  });
  if (isNamed) return archive;
  // The preamble is not searched.
  const keys = entries.filter(({ chained }) => chained).map(({ key }) => key);
  return { hits: (words, limit) => archive.hits(words, limit, keys) };
}

/** A message of the request, or its answer. */
interface Archivable extends Hashed, Pick<ArchiveEntry, 'isAnswer' | 'json' | 'text'> {
  readonly wireRole: string;
}

function asSent(message: WireMessage): Archivable {
  const { role, wireRole = '', json } = message;
  return {
    role,
    wireRole,
    facts: message.facts,
    identity: message.identity,
    isAnswer: false,
    json,
    // The preamble is left out: one that changes with each request would match everything first.
    text: () =>
      role === 'preamble' ? null : searchable([...message.content().weight.texts, ...message.otherTexts()]),
  };
}

/** The answer as the message that its caller will send back. */
function answerMessage(content: string | undefined): Archivable[] {
  if (content === undefined) return [];
  const message = { role: 'assistant', content } as const;
  return [
    {
      role: message.role,
      wireRole: message.role,
      identity: answerIdentity(content),
      isAnswer: true,
      json: new TextEncoder().encode(JSON.stringify(message)),
      text: () => searchable([content]),
    },
  ];
}

function entriesOf(messages: readonly Archivable[], keys: readonly ArchiveKey[]): ArchiveEntry[] {
  return messages.map(({ wireRole, isAnswer, json, text }, position) => ({
    ...elementAt(keys, position),
    position,
    role: wireRole,
    isAnswer,
    json,
    text,
  }));
}
