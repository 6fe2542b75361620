/**
 * One conversation's archive: its messages as they came, in packs in R2, and their index in the
 * conversation's Durable Object.
 *
 * A message is known by its key (see `ArchiveKey`). Only what the index does not have is sent
 * and written; a pack is noted in the index before it is written, and its messages are in the index
 * only afterwards. What was made from an answer gives way to the message that comes back with the
 * next array, which may have more fields.
 */
import { createHash } from 'node:crypto';
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import type { Log } from '../../log.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { type ConversationMemoryStub, callObject } from '../conversation/key.ts';
import { type Pack, packBytes, packMessages } from './packing.ts';
import { ArchivePacks } from './packs.ts';
import type { ArchivedRow, ArchiveHit, ArchiveRow, SearchPlace } from './rows.ts';
import { matchAll, readable } from './text.ts';

/** The conversation that an archive belongs to. */
export interface ArchivedConversation {
  readonly tenant: Tenant;
  /** See `conversationName`. */
  readonly name: string;
  /** Opens the Durable Object; a new stub each time, since one that has thrown may be broken. */
  memory(): ConversationMemoryStub;
}

/** A message of a caller's array. */
export interface ArchiveEntry {
  readonly key: string;
  /** See `ArchiveKey`. */
  readonly chained: boolean;
  readonly position: number;
  readonly role: string;
  /** Whether it was made from an answer, and is not of the array. */
  readonly isAnswer: boolean;
  /** The message as it came. */
  readonly json: Uint8Array;
  /** What can be searched of it (see `searchable`); null: nothing. */
  text(): string | null;
}

/** A message of the archive. */
export interface ArchivedMessage {
  readonly position: number;
  /** When it was archived, in seconds since the epoch. */
  readonly created: number;
  /** As it came; undefined when its pack is lost or damaged. */
  readonly json: Uint8Array | undefined;
  /** Of what a search has found: the words around. */
  readonly snippet: string | undefined;
}

export interface ArchivedMessages<Next> {
  readonly messages: readonly ArchivedMessage[];
  /** What the next page is asked for with; null when there is none. */
  readonly next: Next | null;
}

/**
 * A conversation goes on where the last request ended: so many of the newest messages are asked for
 * first.
 */
const NEWEST = 64;

/** What one call to the object may carry, in characters: a call takes 32 MiB at the most. */
const LARGEST_CALL = 4_000_000;

/** Of a row without its text and its role, in characters: its names and numbers. */
const ROW_LENGTH = 400;

/** Of a role in the index, in characters: a caller may write anything there. */
const LONGEST_ROLE = 64;

/**
 * Of messages on one page. A page may be shorter than it was asked for; what is read at once has to
 * fit an isolate.
 */
const LARGEST_PAGE = 8 * 1024 * 1024;

/** What the index does not have of a message: all of it, or what an answer has not told of it. */
type Lack = 'message' | 'fields';

export class Archive {
  private readonly conversation: ArchivedConversation;
  private readonly packs: ArchivePacks;
  private readonly log: Log;

  constructor(conversation: ArchivedConversation, bucket: R2Bucket, log: Log) {
    this.conversation = conversation;
    this.log = log;
    this.packs = new ArchivePacks(bucket, conversation.tenant);
  }

  /**
   * Adds the messages of an array that are not there yet.
   *
   * @param entries all messages of the array, in their order
   * @throws when R2 or the object fails; what was added before stays
   */
  async add(entries: readonly ArchiveEntry[]): Promise<void> {
    const lacking = await this.lacking(entries);
    const missing = entries.filter((entry) => lacking.has(entry));
    if (missing.length === 0) return;
    const before = entries.findLast((entry) => entry.chained && lacking.get(entry) !== 'message');
    const packs = packMessages(missing);
    const beginnings = packs.map((pack) => this.packs.nameOf(this.conversation.name, packBytes(pack)));
    const noted = await this.call((stub) => stub.notePacks(before?.key ?? null, beginnings));
    // The conversation was deleted since it was asked: its next request brings all of it.
    if (!noted) return;
    const { generation, names } = noted;
    const named = packs.map((pack, index) => ({ pack, name: names[index] ?? '' }));
    for (let start = 0; start < named.length; start += AT_ONCE) {
      const some = named.slice(start, start + AT_ONCE);
      await Promise.all(some.map(({ pack, name }) => this.packs.put(name, packBytes(pack))));
      const rows = some.flatMap(({ pack, name }) => rowsOf(pack, name));
      if (await this.index(generation, rows)) continue;
      // Deleted meanwhile: what was written since is known to nobody else.
      await this.packs.delete(names);
      return;
    }
  }

  /**
   * Messages in the order in which they were archived; null when nothing is kept of the
   * conversation.
   *
   * @throws when R2 or the object fails
   */
  async list(limit: number, after = 0): Promise<ArchivedMessages<number> | null> {
    const page = await this.call((stub) => stub.archived(after, { rows: limit, bytes: LARGEST_PAGE }));
    return page && { messages: await this.read(page.rows), next: page.next };
  }

  /**
   * Messages that hold all of these words, the best match first; null when nothing is kept of the
   * conversation.
   *
   * @param place where the page begins; null: with the best match
   * @throws when R2 or the object fails
   */
  async search(
    words: string,
    limit: number,
    place: SearchPlace | null = null,
  ): Promise<ArchivedMessages<SearchPlace> | null> {
    const limits = { rows: limit, bytes: LARGEST_PAGE };
    const page = await this.call((stub) => stub.searchArchive(matchOf(words), place, limits));
    return page && { messages: await this.read(page.rows), next: page.next };
  }

  /**
   * The same by the index alone: what stands around the words.
   *
   * @param keys of the messages that may be found; null: all
   * @throws when the object fails
   */
  hits(
    words: string,
    limit: number,
    keys: readonly string[] | null = null,
  ): Promise<readonly ArchiveHit[] | null> {
    return this.call((stub) => stub.archiveHits(matchOf(words), limit, keys));
  }

  /** What the index does not have. */
  private async lacking(entries: readonly ArchiveEntry[]): Promise<ReadonlyMap<ArchiveEntry, Lack>> {
    const chain = entries.filter(({ chained }) => chained);
    const newest = new Set(chain.slice(-NEWEST));
    const asked = entries.filter((entry) => !entry.chained || newest.has(entry));
    const lacking = await this.ask(asked);
    const older = chain.slice(0, -NEWEST);
    // If the index has one message of the chain, it has all earlier ones.
    if (older.length === 0 || [...newest].some((entry) => lacking.get(entry) !== 'message')) return lacking;
    return new Map([...lacking, ...(await this.ask(older))]);
  }

  private async ask(entries: readonly ArchiveEntry[]): Promise<ReadonlyMap<ArchiveEntry, Lack>> {
    const keys = entries.map(({ key }) => key);
    const lacking = new Map<ArchiveEntry, Lack>();
    for (const { index, answerDigest } of await this.call((stub) => stub.unarchived(keys))) {
      const entry = entries[index];
      if (!entry) continue;
      if (answerDigest === null) lacking.set(entry, 'message');
      else if (!entry.isAnswer && digestOf(entry.json) !== answerDigest) lacking.set(entry, 'fields');
    }
    return lacking;
  }

  /**
   * Adds written messages to the index, in their order.
   *
   * @returns false when the conversation was deleted
   */
  private async index(generation: string, rows: readonly ArchiveRow[]): Promise<boolean> {
    for (const some of callsOf(rows))
      if (!(await this.call((stub) => stub.addToArchive(generation, some)))) return false;
    return true;
  }

  private async read(rows: readonly ArchivedRow[]): Promise<ArchivedMessage[]> {
    const names = [...new Set(rows.map(({ pack }) => pack))];
    const read = new Map<ArchivedRow, Uint8Array>();
    await fewAtOnce(AT_ONCE, names, async (name) => {
      const plain = await this.packs.get(name);
      if (plain instanceof Error)
        this.log('error', 'a pack of an archive can not be read', {
          code: 'damaged_pack',
          error: plain.name,
        });
      else if (plain)
        // A copy: a part of the pack would keep all of it.
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

  private call<Result>(call: (stub: ConversationMemoryStub) => Promise<Result>): Promise<Result> {
    return callObject(() => this.conversation.memory(), call);
  }
}

/** Without any word nothing matches; the object still says whether it knows the conversation. */
function matchOf(words: string): string {
  return matchAll(words) ?? '""';
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

/** Rows in portions that a call can carry. */
function callsOf(rows: readonly ArchiveRow[]): ArchiveRow[][] {
  const calls: ArchiveRow[][] = [];
  let size = LARGEST_CALL;
  for (const row of rows) {
    const length = (row.text?.length ?? 0) + row.role.length + ROW_LENGTH;
    size += length;
    const last = calls.at(-1);
    if (last && size <= LARGEST_CALL) last.push(row);
    else {
      calls.push([row]);
      size = length;
    }
  }
  return calls;
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
