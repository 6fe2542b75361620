/**
 * The tables of a tenant's object: its conversations, when each was last used, and the refs that it
 * refers to. See `storage-schema.md`.
 */

import type { ConversationSums } from '../conversation/sum-reports.ts';
import { AMONG, type LazyTables, type Tables } from '../tables.ts';
import { type ListPart, type ListPlace, type ListQuery, listConversations } from './listing.ts';
import { UsageRows } from './usage.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversations (
    conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    last_used INTEGER,
    notes INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX IF NOT EXISTS conversations_by_use ON conversations (last_used);
  CREATE TABLE IF NOT EXISTS uses (
    ref TEXT NOT NULL,
    conversation_id INTEGER NOT NULL,
    PRIMARY KEY (ref, conversation_id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS uses_by_conversation ON uses (conversation_id);
  CREATE TABLE IF NOT EXISTS erasure (
    erasure_id INTEGER PRIMARY KEY AUTOINCREMENT,
    last_conversation INTEGER NOT NULL,
    before INTEGER NOT NULL,
    after TEXT NOT NULL
  );
`;

/** The refs of a conversation that no other one refers to. */
const SOLE = `
  SELECT u.ref FROM uses u WHERE u.conversation_id = ? AND NOT EXISTS
    (SELECT 1 FROM uses v WHERE v.ref = u.ref AND v.conversation_id <> u.conversation_id)`;

/** A conversation, and its state when it was read. */
export interface NotedConversation {
  readonly name: string;
  /** How often it was noted. A later note may mean that deleted data was written again. */
  readonly notes: number;
}

/** A conversation, with the refs that no other one refers to. */
export interface KnownConversation extends NotedConversation {
  readonly sole: readonly string[];
}

/** The progress of erasing a tenant's data. */
export interface Erasure {
  readonly id: number;
  /** Later uploads are not part of it, in milliseconds since the epoch. */
  readonly before: number;
  /** The name of the last object in R2 that was processed; empty before the first one. */
  readonly after: string;
}

export class TenantRows {
  readonly tables: LazyTables;
  readonly usage: UsageRows;

  constructor(tables: Tables) {
    this.tables = tables.lazy(SCHEMA);
    this.usage = new UsageRows(tables);
  }

  /**
   * Notes that a conversation is in use, and its refs.
   *
   * @param at when, in milliseconds
   * @returns the refs among these that are new to it, and that another conversation refers to
   */
  note(conversation: string, refs: readonly string[], at = this.tables.now()): string[] {
    this.tables.make();
    const { id } = this.tables.one<{ id: number }>(
      `INSERT INTO conversations (name, last_used) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET last_used = max(coalesce(last_used, 0), excluded.last_used), notes = notes + 1
       RETURNING conversation_id AS id`,
      conversation,
      at,
    );
    const added = this.tables.column<string>(
      'INSERT OR IGNORE INTO uses (ref, conversation_id) SELECT value, ? FROM json_each(?) RETURNING ref',
      id,
      refs,
    );
    if (added.length === 0) return [];
    const shared = `SELECT DISTINCT ref FROM uses WHERE ref ${AMONG} AND conversation_id <> ?`;
    return this.tables.column(shared, added, id);
  }

  /** Notes that a conversation refers to a content. @returns false if it is not known */
  noteUse(conversation: string, ref: string): boolean {
    const id = this.idOf(conversation);
    if (id === undefined) return false;
    this.tables.write('INSERT OR IGNORE INTO uses (ref, conversation_id) VALUES (?, ?)', ref, id);
    return true;
  }

  /** Notes that a content was read. All conversations that refer to it are in use. */
  noteRead(ref: string): void {
    this.tables.change(
      `UPDATE conversations SET last_used = max(coalesce(last_used, 0), ?)
       WHERE conversation_id IN (SELECT conversation_id FROM uses WHERE ref = ?)`,
      this.tables.now(),
      ref,
    );
  }

  list(query: ListQuery, after: ListPlace | null, most: number): ListPart {
    return listConversations(this.tables, this.usage.source, query, after, most);
  }

  /** Sets what a conversation has sent and cost, if it is known. */
  setSums(conversation: string, sums: ConversationSums): void {
    const id = this.idOf(conversation);
    if (id !== undefined) this.usage.set(id, sums);
  }

  /** Null if the conversation is not known. */
  find(conversation: string): KnownConversation | null {
    const id = this.idOf(conversation);
    if (id === undefined) return null;
    const noted = this.tables.first<NotedConversation>(
      'SELECT name, notes FROM conversations WHERE conversation_id = ?',
      id,
    );
    return noted ? { ...noted, sole: this.tables.column(SOLE, id) } : null;
  }

  /** The refs that a conversation refers to, in key order; null if it is not known. */
  refsOf(conversation: string, most: number, after = ''): readonly string[] | null {
    const id = this.idOf(conversation);
    if (id === undefined) return null;
    const query = 'SELECT ref FROM uses WHERE conversation_id = ? AND ref > ? ORDER BY ref LIMIT ?';
    return this.tables.column(query, id, after, most);
  }

  /** The names of conversations that begin with it, the last used first. */
  namesWith(prefix: string, most: number): string[] {
    return this.tables.column<string>(
      'SELECT name FROM conversations WHERE name >= ? AND name < ? AND last_used IS NOT NULL ORDER BY last_used DESC, name LIMIT ?',
      prefix,
      `${prefix}\u{10ffff}`,
      most,
    );
  }

  /**
   * The names of conversations of a session, whoever its user is. Looks at all conversations.
   *
   * @param session as it is in a name (`sessionIn`)
   */
  namesOfSession(session: string, most: number): string[] {
    const end = `:${session}`;
    return this.tables.column<string>(
      'SELECT name FROM conversations WHERE substr(name, ?) = ? AND last_used IS NOT NULL LIMIT ?',
      -end.length,
      end,
      most,
    );
  }

  /** When any conversation was last used, in milliseconds since 1970; null without one. */
  lastUsed(): number | null {
    return this.tables.value<number | null>('SELECT max(last_used) FROM conversations') ?? null;
  }

  /** The refs among these that no conversation refers to. */
  unreferenced(refs: readonly string[]): string[] {
    if (!this.tables.exists()) return [...refs];
    return this.tables.column(
      'SELECT value AS ref FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM uses u WHERE u.ref = value)',
      refs,
    );
  }

  /**
   * Forgets a deleted conversation, unless it was noted again meanwhile. Its sums go in any case:
   * those that come afterwards are reported again.
   */
  release(conversation: NotedConversation): void {
    this.leave(conversation, 'DELETE FROM conversations');
  }

  /**
   * Conversations last used before a time, oldest first.
   *
   * @param before in milliseconds
   */
  unused(before: number, most: number): NotedConversation[] {
    return this.tables.all(
      'SELECT name, notes FROM conversations WHERE last_used < ? ORDER BY last_used LIMIT ?',
      before,
      most,
    );
  }

  /**
   * Like `release`, for a conversation that keeps its settings: it has no refs, and does not count
   * as unused before its next use.
   */
  retire(conversation: NotedConversation): void {
    this.leave(conversation, 'UPDATE conversations SET last_used = NULL');
  }

  /** The erasure in progress. */
  erasure(): Erasure | undefined {
    return this.tables.first('SELECT erasure_id AS id, before, after FROM erasure');
  }

  /**
   * Marks all present data for erasure, together with the rest of an earlier one.
   *
   * @param before see `Erasure`
   */
  beginErasure(before: number): void {
    this.endErasure();
    this.tables.write(
      `INSERT INTO erasure (last_conversation, before, after)
       SELECT coalesce(max(conversation_id), 0), ?, '' FROM conversations`,
      before,
    );
  }

  /** The next conversation to erase. */
  toErase(): NotedConversation | undefined {
    return this.tables.first(
      `SELECT name, notes FROM conversations WHERE conversation_id <= (SELECT last_conversation FROM erasure)
       ORDER BY conversation_id LIMIT 1`,
    );
  }

  /** Notes the progress of an erasure in R2, unless another one has begun. */
  erasedUpTo(after: string, { id }: Erasure): void {
    this.tables.change('UPDATE erasure SET after = ? WHERE erasure_id = ?', after, id);
  }

  /** Ends an erasure, unless another one has begun; without an argument, any erasure. */
  endErasure(erasure?: Erasure): void {
    this.tables.change('DELETE FROM erasure WHERE erasure_id = coalesce(?, erasure_id)', erasure?.id ?? null);
  }

  /** Whether there is nothing worth keeping. */
  isEmpty(): boolean {
    return !this.tables.has('SELECT 1 FROM conversations LIMIT 1');
  }

  /** Forgets sums and refs. @param change of the row, unless it was noted again */
  private leave({ name, notes }: NotedConversation, change: string): void {
    const any = this.idOf(name);
    if (any !== undefined) this.usage.delete(any);
    const id = this.idOf(name, notes);
    if (id === undefined) return;
    this.tables.change('DELETE FROM uses WHERE conversation_id = ?', id);
    this.tables.change(`${change} WHERE conversation_id = ?`, id);
  }

  /** @param notes if given, the conversation must not have been noted more often */
  idOf(conversation: string, notes?: number): number | undefined {
    return this.tables.value(
      'SELECT conversation_id FROM conversations WHERE name = ? AND notes = coalesce(?, notes)',
      conversation,
      notes ?? null,
    );
  }
}
