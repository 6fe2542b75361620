/**
 * `archive: true`: the messages of a request that the upstream has accepted, and its answer, kept
 * as they came (docs/design.md#7-storage).
 */

import { soon } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { type ArchiveKey, archiveKeys } from '../memory/conversation/archive-keys.ts';
import type { Hashed } from '../memory/conversation/prefix-hash.ts';
import { edits } from '../memory/strategy/strategy.ts';
import { answerIdentity } from '../protocol/message-names.ts';
import type { WireMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { groupOf, storedConversation } from '../request/conversation.ts';
import type { Searched } from '../retrieval/search-memory.ts';
import { Archive, type ArchiveEntry } from '../storage/archive/archive.ts';
import { searchable } from '../storage/archive/text.ts';
import { sha256Hex } from '../tenant/identity.ts';

/** How long a search waits for its request's array to be archived, in milliseconds. */
const ARRAY_LIMIT_MS = 3_000;

/**
 * Archives a request: its array, and the text of its answer when that is whole and calls no tool.
 * Never throws.
 */
export type ArchiveRequest = (answer: string | undefined) => Promise<void>;

/** Undefined where nothing is to be archived. */
export function archiverOf(call: Call): ArchiveRequest | undefined {
  const { request, owner, scope } = call;
  const { strategy } = call.chosen;
  if (!edits(strategy) || !strategy.archive || owner.off.length > 0) return undefined;
  if (!scope.caller.tenant || request.tooManyMessages || request.upstreamState !== undefined)
    return undefined;
  return async (answer) => {
    // The answer's last bytes go out first: what follows takes time.
    await new Promise((resolve) => setTimeout(resolve, 0));
    try {
      const archived = archiveOf(call, answer);
      await archived?.archive.add(archived.entries);
    } catch (error) {
      logCaught(scope.services.log, 'warn', 'messages could not be archived', error);
    }
  };
}

/** The archive that a request's messages belong to, and they as its entries. */
interface RequestArchive {
  readonly archive: Archive;
  readonly entries: readonly ArchiveEntry[];
  /**
   * Whether the caller has named it. An archive named by a hash holds all conversations that open
   * alike.
   */
  readonly isNamed: boolean;
}

/**
 * Undefined without a tenant, and as long as nothing names the conversation (see `groupOf`).
 *
 * @param answer the text of an answer that the array does not hold yet
 */
function archiveOf({ request, owner, scope }: Call, answer?: string): RequestArchive | undefined {
  const { services, caller } = scope;
  const said = [...request.messages.map(asSent), ...answered(answer)];
  const keys = archiveKeys(said, sha256Hex);
  const session = groupOf(said, owner, scope, (end) => keys[end - 1]?.key ?? '');
  if (!caller.tenant || !session) return undefined;
  const conversation = storedConversation(owner.user, session, caller.tenant, services);
  return {
    archive: new Archive(conversation, services.bucket, services.log),
    entries: entriesOf(said, keys),
    isNamed: 'id' in session,
  };
}

/**
 * The archive of a request's conversation, with the request's array in it as far as that is done in
 * time: an archive that is slow or fails can still be searched for what it has. Of a conversation
 * that nothing names, only the messages of this array are found. Undefined where there is none (see
 * `archiveOf`).
 */
export async function archiveWithArray(call: Call): Promise<Searched | undefined> {
  const archived = archiveOf(call);
  if (!archived) return undefined;
  const { archive, entries, isNamed } = archived;
  await soon(ARRAY_LIMIT_MS, archive.add(entries)).catch((error: unknown) => {
    logCaught(call.scope.services.log, 'warn', 'messages could not be archived', error);
  });
  if (isNamed) return archive;
  // The preamble is not searched.
  const keys = entries.filter(({ chained }) => chained).map(({ key }) => key);
  return { hits: (words, limit) => archive.hits(words, limit, keys) };
}

/** A message that was sent, or answered. */
interface Said extends Hashed, Pick<ArchiveEntry, 'isAnswer' | 'json' | 'text'> {
  readonly wireRole: string;
}

function asSent(message: WireMessage): Said {
  const { role, wireRole = '', json } = message;
  return {
    role,
    wireRole,
    identity: message.identity,
    isAnswer: false,
    json,
    // A preamble that changes with each request would be found before all else.
    text: () =>
      role === 'preamble' ? null : searchable([...message.content().weight.texts, ...message.beside()]),
  };
}

/** An answer as the message that comes back with the next request. */
function answered(content: string | undefined): Said[] {
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

function entriesOf(said: readonly Said[], keys: readonly ArchiveKey[]): ArchiveEntry[] {
  return said.map(({ wireRole, isAnswer, json, text }, position) => {
    const { key = '', chained = false } = keys[position] ?? {};
    return { key, chained, position, role: wireRole, isAnswer, json, text };
  });
}
