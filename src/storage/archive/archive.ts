/**
 * One conversation's archive: its messages unchanged, in packs in R2, and an index in the
 * conversation's Durable Object.
 *
 * Messages are identified by key (see `ArchiveKey`); only those missing in the index are written. A
 * pack is noted in the index before it is written, and its messages are indexed afterwards. A
 * message made from an answer is replaced by the one that comes back with the next array, which may
 * have more fields.
 *
 * If the index has a message's key, it has all messages before it. So a request looks up its last
 * 64 keys and the preamble's, and all others only if none of these is known. Messages and answer
 * are written together when the answer has ended, however it ended; if the model searches, the
 * messages are written before.
 *
 * New messages are packed (`packing.ts`), the packs written (`sealed-bucket.ts`), and the messages
 * added to the index (`rows.ts`). A writer that a deletion has overtaken is refused, even if
 * another one has started over, and deletes its packs. A pack's name includes its conversation, so
 * no other conversation shares it.
 *
 * The preamble is listed but not searched. An archive named by a hash holds all conversations with
 * the same opening; there the query only searches the keys of the request's own array. `search.ts`
 * ranks messages by id, and reads the texts of the best; `passage.ts` finds the words in them. A
 * search of the model or over MCP reads the index alone (`excerpt.ts`).
 */

import { createHash } from 'node:crypto';
import { elementAt } from '../../lib/elements.ts';
import type { OwnBeliefs } from '../../lib/isolate-memory.ts';
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import { errorFields, type Log } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import type { ConversationMemoryStub, ObjectCaller } from '../objects.ts';
import { SealedBucket } from '../sealed-bucket.ts';
import type { MadeNear } from './near.ts';
import { type Pack, packBytes, packMessages, portions } from './packing.ts';
import type { ArchivedRow, ArchiveRow } from './rows.ts';
import type { ArchiveHits, SearchPage, SearchPlace } from './search.ts';
import { readable } from './text.ts';

interface ArchivedConversation {
  readonly tenant: Tenant;
  /** See `conversationName`. */
  readonly name: string;
  readonly memory: ObjectCaller<ConversationMemoryStub>;
  /** See `RememberedConversation`. */
  readonly remembered: { of(kind: 'archived'): OwnBeliefs<string>; forget(kind: 'archived'): void };
}

/** A message of a caller's array, or an answer. */
export interface ArchiveEntry {
  readonly key: string;
  /** See `ArchiveKey`. */
  readonly chained: boolean;
  readonly position: number;
  readonly role: string;
  /** Whether it was made from an answer and is not part of the array yet. */
  readonly isAnswer: boolean;
  /** The message unchanged. */
  readonly json: Uint8Array;
  /** The text to search (see `searchable`); null if it is not searched. */
  text(): string | null;
}

export interface ArchivedMessage {
  readonly position: number;
  /** When it was archived, in seconds since the epoch. */
  readonly created: number;
  /** The message unchanged; undefined if its pack is lost or damaged. */
  readonly json: Uint8Array | undefined;
  /** In a search result, the text around the words. */
  readonly snippet: string | undefined;
}

interface ArchivedMessages<Next> {
  readonly messages: readonly ArchivedMessage[];
  /** Cursor of the next page; null on the last one. */
  readonly next: Next | null;
}

interface FoundMessages extends ArchivedMessages<SearchPlace> {
  readonly meaning: SearchPage['meaning'];
}

/** Messages to look up first. A conversation usually goes on where the last request ended. */
const NEWEST = 64;

/** In characters. A call to an object takes at most 32 MiB. */
const LARGEST_CALL = 4_000_000;

/** Characters of a row other than its text and role. */
const ROW_LENGTH = 400;

/** In characters. Callers can use any role. */
const LONGEST_ROLE = 64;

/**
 * Bytes of messages on a page, which must fit an isolate. A page may have fewer messages than asked
 * for.
 */
const LARGEST_PAGE = 8 * 1024 * 1024;

/** What the index lacks: the whole message, or only its fields beside the answer's text. */
type Lack = 'message' | 'fields';

export class Archive {
  private readonly conversation: ArchivedConversation;
  /** Under `{tenant}/archive_…`. */
  private readonly packs: SealedBucket;
  private readonly log: Log;

  constructor(conversation: ArchivedConversation, bucket: R2Bucket, log: Log) {
    this.conversation = conversation;
    this.log = log;
    this.packs = new SealedBucket(bucket, conversation.tenant, 'archive');
  }

  /**
   * Adds the messages of an array that are missing, unless everything was deleted after its request
   * came.
   *
   * @param entries all messages of the array, in order
   * @param since when the request came, in milliseconds
   * @throws if R2 or the object fails; messages added before that stay
   */
  async add(entries: readonly ArchiveEntry[], since: number): Promise<void> {
    const { remembered } = this.conversation;
    const relied = entries.some(({ key }) => remembered.of('archived').get(key) !== undefined);
    const isAdded = await this.addMissing(entries, since);
    if (isAdded) return;
    remembered.forget('archived');
    // Another isolate has deleted what this one knew of.
    if (relied) await this.addMissing(entries, since);
  }

  /**
   * When messages were archived, in seconds since the epoch; null for those that were not.
   *
   * @throws if the object fails
   */
  async times(keys: readonly string[]): Promise<readonly (number | null)[]> {
    return this.conversation.memory((stub) => stub.archive.archivedAt(keys));
  }

  /** @returns false if the conversation was deleted after the lookup */
  private async addMissing(entries: readonly ArchiveEntry[], since: number): Promise<boolean> {
    const lacking = await this.lacking(entries);
    const missing = entries.filter((entry) => lacking.has(entry));
    if (missing.length === 0) return true;
    const before = entries.findLast((entry) => entry.chained && lacking.get(entry) !== 'message');
    const packs = packMessages(missing);
    const beginnings = packs.map((pack) => nameOf(pack, this.conversation));
    const noted = await this.conversation.memory((stub) =>
      stub.archive.notePacks(before?.key ?? null, beginnings, since),
    );
    if (!noted) return false;
    const { generation, names } = noted;
    const named = packs.map((pack, index) => ({ pack, name: elementAt(names, index) }));
    for (let start = 0; start < named.length; start += AT_ONCE) {
      const some = named.slice(start, start + AT_ONCE);
      await Promise.all(some.map(({ pack, name }) => this.packs.put(name, packBytes(pack), this.log)));
      const rows = some.flatMap(({ pack, name }) => rowsOf(pack, name));
      const at = Date.now();
      if (await this.index(generation, rows)) {
        for (const { key, answerDigest } of rows)
          this.conversation.remembered.of('archived').keep(key, answerDigest ?? '', at);
        continue;
      }
      // Deleted meanwhile: nothing else refers to these packs. The next request adds everything.
      await this.packs.delete(names);
      this.conversation.remembered.forget('archived');
      return true;
    }
    return true;
  }

  /**
   * Messages in the order they were archived; null if nothing is stored of the conversation.
   *
   * @throws if R2 or the object fails
   */
  async list(limit: number, after = 0): Promise<ArchivedMessages<number> | null> {
    const page = await this.conversation.memory((stub) =>
      stub.archive.page(after, { rows: limit, bytes: LARGEST_PAGE }),
    );
    return page && { messages: await this.read(page.rows), next: page.next };
  }

  /**
   * Messages with all of these words, and of a similar meaning if the archive has vectors, best
   * match first; null if nothing is stored of the conversation.
   *
   * @param place where the page begins; null for the first page
   * @throws if R2 or the object fails
   */
  async search(
    words: string,
    limit: number,
    place: SearchPlace | null = null,
  ): Promise<FoundMessages | null> {
    const limits = { rows: limit, bytes: LARGEST_PAGE };
    const page = await this.conversation.memory((stub) => stub.archive.search(words, place, limits));
    return page && { messages: await this.read(page.rows), next: page.next, meaning: page.meaning };
  }

  /**
   * Like `search`, but from the index alone: excerpts instead of messages.
   *
   * @param keys of the messages to search; null for all
   * @param made the vector of the words, if it was made before; null: the object makes it
   * @throws if the object fails
   */
  hits(
    words: string,
    limit: number,
    keys: readonly string[] | null = null,
    made: MadeNear | null = null,
  ): Promise<ArchiveHits | null> {
    return this.conversation.memory((stub) => stub.archive.hits(words, limit, keys, made));
  }

  /** The messages, or fields of them, that the index lacks. */
  private async lacking(entries: readonly ArchiveEntry[]): Promise<ReadonlyMap<ArchiveEntry, Lack>> {
    const chain = entries.filter(({ chained }) => chained);
    const newest = new Set(chain.slice(-NEWEST));
    const asked = entries.filter((entry) => !entry.chained || newest.has(entry));
    const lacking = await this.ask(asked.filter((entry) => !this.isKnown(entry)));
    const older = chain.slice(0, -NEWEST);
    // If the index has one message of the chain, it has all earlier ones.
    if (older.length === 0 || [...newest].some((entry) => lacking.get(entry) !== 'message')) return lacking;
    return new Map([...lacking, ...(await this.ask(older))]);
  }

  private async ask(entries: readonly ArchiveEntry[]): Promise<ReadonlyMap<ArchiveEntry, Lack>> {
    const lacking = new Map<ArchiveEntry, Lack>();
    if (entries.length === 0) return lacking;
    const { memory, remembered } = this.conversation;
    const keys = entries.map(({ key }) => key);
    const at = Date.now();
    const answered = await memory((stub) => stub.archive.lacking(keys));
    const digests = new Map(answered.map(({ index, answerDigest }) => [index, answerDigest]));
    for (const [index, entry] of entries.entries()) {
      const digest = digests.get(index) ?? '';
      if (digests.get(index) === null) lacking.set(entry, 'message');
      else remembered.of('archived').keep(entry.key, digest, at);
      if (digest !== '' && lacksFields(entry, digest)) lacking.set(entry, 'fields');
    }
    return lacking;
  }

  /** Whether this isolate knows that the index has all of a message. */
  private isKnown(entry: ArchiveEntry): boolean {
    const digest = this.conversation.remembered.of('archived').get(entry.key)?.value;
    return digest !== undefined && (digest === '' || !lacksFields(entry, digest));
  }

  /**
   * Adds written messages to the index, in order.
   *
   * @returns false if the conversation was deleted
   */
  private async index(generation: string, rows: readonly ArchiveRow[]): Promise<boolean> {
    const lengthOf = ({ text, role }: ArchiveRow): number => (text?.length ?? 0) + role.length + ROW_LENGTH;
    for (const some of portions(rows, LARGEST_CALL, lengthOf))
      if (!(await this.conversation.memory((stub) => stub.archive.add(generation, some)))) return false;
    return true;
  }

  private async read(rows: readonly ArchivedRow[]): Promise<ArchivedMessage[]> {
    const names = [...new Set(rows.map(({ pack }) => pack))];
    const read = new Map<ArchivedRow, Uint8Array>();
    await fewAtOnce(AT_ONCE, names, async (name) => {
      const plain = await this.packs.get(name);
      if (plain instanceof Error)
        this.log('error', 'a pack of an archive cannot be read', {
          code: 'damaged_pack',
          ...errorFields(plain),
        });
      else if (plain)
        // A copy, since a slice would keep the whole pack in memory.
        for (const row of rows.filter(({ pack }) => pack === name))
          read.set(row, plain.slice(row.start, row.start + row.bytes));
    });
    return rows.map((row) => ({
      position: row.position,
      created: row.created,
      json: read.get(row),
      snippet: row.snippet === null ? undefined : readable(row.snippet),
    }));
  }
}

/**
 * The beginning of a pack's name. It includes the conversation, so that conversations share no
 * packs and each can be deleted with its own.
 */
function nameOf(pack: Pack<ArchiveEntry>, { tenant, name }: ArchivedConversation): string {
  const digest = createHash('sha256').update(packBytes(pack)).digest('hex');
  return `archive_${tenant.seal(`archive:${digest}:${name}`)}`;
}

function rowsOf(pack: Pack<ArchiveEntry>, name: string): ArchiveRow[] {
  return pack.map(({ message, start }) => ({
    key: message.key,
    position: message.position,
    role: message.role.slice(0, LONGEST_ROLE).toWellFormed(),
    pack: name,
    start,
    bytes: message.json.length,
    answerDigest: message.isAnswer ? digestOf(message.json) : null,
    text: message.text(),
  }));
}

/** Whether a message has other bytes than the answer that the index has. @param digest of those */
function lacksFields({ isAnswer, json }: ArchiveEntry, digest: string): boolean {
  return !isAnswer && digestOf(json) !== digest;
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
